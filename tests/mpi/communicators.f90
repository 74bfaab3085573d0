! Two ranks or more make communicators from Fortran, open a file with each, and send a message round the ring.
program communicators
  use mpi_f08
  implicit none
  type(MPI_Comm) :: half, again
  type(MPI_File) :: file
  type(MPI_Status) :: status
  character(len=4096) :: directory, path
  integer :: rank, ranks, value

  call get_command_argument(1, directory)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  call MPI_Comm_dup(half, again)
  write (path, '(a,a,i0)') trim(directory), '/half.', mod(rank, 2)
  call MPI_File_open(again, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  call MPI_File_close(file)
  call MPI_Comm_free(again)
  call MPI_Comm_free(half)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, &
                    MPI_COMM_WORLD, status)
  if (status%MPI_SOURCE /= mod(rank + ranks - 1, ranks) .or. value /= status%MPI_SOURCE) call MPI_Abort(MPI_COMM_WORLD, 1)
  if (mod(rank, 2) == 0) then
    call MPI_Send(rank, 1, MPI_INTEGER, rank + 1, 2, MPI_COMM_WORLD)
  else
    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end if
  write (path, '(a,a,i0)') trim(directory), '/own.', rank
  call MPI_File_open(MPI_COMM_SELF, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  call MPI_File_close(file)
  call MPI_Finalize()
end program communicators
