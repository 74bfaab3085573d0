! The same as mpi.c in Fortran.
program main
    use mpi
    implicit none
    integer, parameter :: bytes = 4096, blocks = 4
    integer :: rank, np, file, i, ierror
    integer(kind=mpi_offset_kind) :: offset
    character(len=bytes) :: block
    block = ''
    call mpi_init(ierror)
    call mpi_comm_rank(mpi_comm_world, rank, ierror)
    call mpi_comm_size(mpi_comm_world, np, ierror)
    call mpi_file_open(mpi_comm_world, 'shared', mpi_mode_create + mpi_mode_rdwr, mpi_info_null, file, ierror)
    do i = 0, blocks
        offset = int(i * np + rank, mpi_offset_kind) * bytes
        if (i < blocks) call mpi_file_write_at(file, offset, block, bytes, mpi_byte, mpi_status_ignore, ierror)
        if (i == blocks) call mpi_file_write_at_all(file, offset, block, bytes, mpi_byte, mpi_status_ignore, ierror)
    end do
    call mpi_file_close(file, ierror)
    call mpi_finalize(ierror)
end program
