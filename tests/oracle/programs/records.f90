! Fortran files: formatted, unformatted with direct access, stream.
program records
  implicit none
  integer :: i, unit_number, value, total
  real(8) :: row(64)
  open(newunit=unit_number, file='formatted', status='replace')
  do i = 1, 2000
    write(unit_number, '(a, i8)') 'record', i
  end do
  close(unit_number)
  open(newunit=unit_number, file='direct', access='direct', recl=512, form='unformatted', status='replace')
  do i = 20, 1, -1
    row = i
    write(unit_number, rec=i) row
  end do
  read(unit_number, rec=7) row
  close(unit_number)
  open(newunit=unit_number, file='stream', access='stream', form='unformatted', status='replace')
  write(unit_number) (i, i = 1, 10000)
  read(unit_number, pos=401) value
  close(unit_number)
  total = int(row(1)) + value
  print *, total
end program records
