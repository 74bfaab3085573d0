! Writes the rows of a variable with NetCDF's Fortran interface, one by one, and reads the whole variable.
program rows
  use netcdf
  implicit none
  integer, parameter :: columns = 512
  integer :: file, dims(2), variable, i
  real(8) :: values(columns), all(columns, 6)
  character(len=256) :: path
  call get_command_argument(1, path)
  call check(nf90_create(path, nf90_netcdf4, file))
  call check(nf90_def_dim(file, 'columns', columns, dims(1)))
  call check(nf90_def_dim(file, 'rows', 6, dims(2)))
  call check(nf90_def_var(file, 'fixed', nf90_double, dims, variable))
  call check(nf90_enddef(file))
  do i = 1, 6
    values = i
    call check(nf90_put_var(file, variable, values, start=(/1, i/), count=(/columns, 1/)))
  end do
  call check(nf90_get_var(file, variable, all))
  print *, sum(all)
  call check(nf90_close(file))
contains
  subroutine check(code)
    integer, intent(in) :: code
    if (code /= nf90_noerr) error stop 1
  end subroutine
end program
