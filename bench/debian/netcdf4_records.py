"""Records appended to a compressed and to a classic NetCDF file."""
import netCDF4
import numpy

for name, form, options in (('new.nc', 'NETCDF4', {'zlib': True}), ('classic.nc', 'NETCDF3_64BIT_OFFSET', {})):
    with netCDF4.Dataset(name, 'w', format=form) as file:
        file.createDimension('time', None)
        file.createDimension('x', 500)
        variable = file.createVariable('v', 'f4', ('time', 'x'), **options)
        for step in range(50):
            variable[step] = numpy.arange(500) * step
