! A view and a memory type with gaps made in Fortran; test_views.py knows what the log must say.
program views
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    type(MPI_Datatype) :: block, strided
    type(MPI_File) :: file
    type(MPI_Info) :: info
    real(real64) :: numbers(24)
    integer :: rank, i

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    numbers = [(real(i + 100 * rank, real64), i = 1, size(numbers))]
    call MPI_Type_create_subarray(2, [6, 8], [3, 4], [2, 4 * rank], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, block)
    call MPI_Type_commit(block)
    call MPI_Type_vector(12, 1, 2, MPI_DOUBLE_PRECISION, strided)
    call MPI_Type_commit(strided)
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'cb_nodes', '1')
    call MPI_File_open(MPI_COMM_WORLD, 'fortran.dat', MPI_MODE_CREATE + MPI_MODE_WRONLY, info, file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, block, 'native', MPI_INFO_NULL)
    call MPI_File_write_all(file, numbers, 1, strided, MPI_STATUS_IGNORE)
    call MPI_File_close(file)
    call MPI_Info_free(info)
    call MPI_Type_free(block)
    call MPI_Type_free(strided)
    call MPI_Finalize()
end program views
