! Writes the rows of a dataset with HDF5's Fortran interface, one by one, and reads all of it.
program rows
  use hdf5
  implicit none
  integer(hid_t) :: file, space, memory, data
  integer(hsize_t) :: dims(2) = (/8, 6/), count(2) = (/8, 1/), start(2)
  real(8) :: row(8, 1), all(8, 6)
  character(len=256) :: path
  integer :: code, i
  call get_command_argument(1, path)
  call h5open_f(code)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, code)
  call h5screate_simple_f(2, dims, space, code)
  call h5screate_simple_f(2, count, memory, code)
  call h5dcreate_f(file, 'data', H5T_NATIVE_DOUBLE, space, data, code)
  do i = 1, 6
    row = i - 1
    start = (/0, i - 1/)
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, code)
    call h5dwrite_f(data, H5T_NATIVE_DOUBLE, row, count, code, memory, space)
    if (code /= 0) error stop 1
  end do
  call h5dread_f(data, H5T_NATIVE_DOUBLE, all, dims, code)
  print *, sum(all)
  call h5dclose_f(data, code)
  call h5fclose_f(file, code)
  call h5close_f(code)
end program
