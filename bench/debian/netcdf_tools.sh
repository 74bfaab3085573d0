# The tools of NetCDF on each format.
cdl=$(dirname "$0")/netcdf.cdl
for kind in classic 64-bit-offset cdf5 nc4 nc7; do ncgen -k $kind -o $kind.nc "$cdl" && ncdump $kind.nc > $kind.text; done
nccopy -d 5 -s nc4.nc packed.nc
nccopy -c t/1,y/10,x/10 nc4.nc chunked.nc
nccopy -k cdf5 chunked.nc again.nc
