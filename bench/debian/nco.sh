# The operators of NCO on two formats. -h: no history, which has times.
cdl=$(dirname "$0")/netcdf.cdl
ncgen -k nc4 -o new.nc "$cdl"
ncgen -k classic -o old.nc "$cdl"
ncap2 -h -s 'v=v*0+array(1.0f,0.5f,v); w=v*2; u=v.avg($t)' new.nc values.nc
ncks -h -v v,t -d x,3,20,4 values.nc part.nc
ncks -h -A -v m -d x,3,20,4 old.nc part.nc
ncks -h -3 part.nc part3.nc
ncks -h -4 -L 5 --cnk_dmn x,7 values.nc packed.nc
ncra -h old.nc old.nc mean.nc
ncrcat -h values.nc values.nc long.nc
ncpdq -h -a x,y values.nc turned.nc
