! btio.c in Fortran: the same options, the same calls, the same file. One source for the three interfaces of MPI:
! mpi_f08 with BTIO_F08, mpif.h with BTIO_MPIF, the module mpi without either.
#ifdef BTIO_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

program btio
#ifdef BTIO_F08
    use mpi_f08
#elif !defined(BTIO_MPIF)
    use mpi
#endif
    use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
    implicit none
#ifdef BTIO_MPIF
    include 'mpif.h'
#endif
    integer, parameter :: values_each = 5, neighbours = 4

    integer :: grid = 24, steps = 40, interval = 5, exchanges = 1
    character(len=4096) :: directory = '.'
    integer :: rank, ranks, side, column, row, ierror, own_values
    integer, allocatable :: starts(:, :), sizes(:, :) ! x, y, z of each cell
    real(real64), allocatable :: solution(:)
    integer :: wrong = 0, wrong_anywhere
    HANDLE(MPI_Datatype) :: grid_type

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call read_options()
    side = nint(sqrt(real(ranks)))
    if (side * side /= ranks) call refuse('runs on 1, 4, 9, 16 ... processes')
    if (grid < side .or. grid > 512 .or. interval < 1) then
        call refuse('a grid of 512 points or less, one or more for each row of processes, and an interval')
    end if
    call divide()
    call make_grid_type()
    call solve()
    call read_back()
    call MPI_Type_free(grid_type, ierror)
    call MPI_Allreduce(wrong, wrong_anywhere, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    if (rank == 0 .and. wrong_anywhere == 0) print '(a, i0, a)', 'btio: ', ranks, ' ranks, all data as written'
    if (rank == 0 .and. wrong_anywhere /= 0) write (error_unit, '(a)') 'btio: the data is not what was written'
    call MPI_Finalize(ierror)
    if (wrong_anywhere /= 0) stop 1, quiet=.true.

contains

    subroutine read_options()
        character(len=4096) :: name, text
        integer :: i
        i = 1
        do while (i <= command_argument_count())
            call get_command_argument(i, name)
            if (name == '--help') call help()
            text = ''
            if (i < command_argument_count()) call get_command_argument(i + 1, text)
            select case (name)
            case ('--directory')
                directory = text
            case ('--grid')
                grid = number(name, text)
            case ('--steps')
                steps = number(name, text)
            case ('--interval')
                interval = number(name, text)
            case ('--exchanges')
                exchanges = number(name, text)
            case default
                call refuse(trim(name) // ' is no option; see --help')
            end select
            i = i + 2
        end do
    end subroutine

    integer function number(name, text)
        character(len=*), intent(in) :: name, text
        integer :: failed
        read (text, *, iostat=failed) number
        if (verify(trim(text), '0123456789') /= 0) failed = 1
        if (failed /= 0) call refuse(trim(name) // ' needs another value; see --help')
    end function

    subroutine help()
        if (rank == 0) then
            print '(a)', 'usage: btio [OPTION]...'
            print '(a)', 'Writes the solution of a flow solver every few steps, then reads it.'
            print '(a)', ''
            print '(a)', '  --directory DIRECTORY    where its file is made and left (.)'
            print '(a)', '  --grid COUNT             points along an edge of the grid (24)'
            print '(a)', '  --steps COUNT            time steps (40)'
            print '(a)', '  --interval COUNT         time steps from one write to the next (5)'
            print '(a)', '  --exchanges COUNT        of faces in a time step (1)'
        end if
        call MPI_Finalize(ierror)
        stop
    end subroutine

    subroutine refuse(why)
        character(len=*), intent(in) :: why
        if (rank == 0) write (error_unit, '(2a)') 'btio: ', why
        call MPI_Finalize(ierror)
        stop 2, quiet=.true.
    end subroutine

    subroutine must(code, what)
        integer, intent(in) :: code
        character(len=*), intent(in) :: what
        integer :: ignored
        if (code == MPI_SUCCESS) return
        write (error_unit, '(3a, i0)') 'btio: ', what, ': error ', code
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine

    subroutine span(part, axis, layer)
        integer, intent(in) :: part, axis, layer
        starts(axis, layer) = part * grid / side
        sizes(axis, layer) = (part + 1) * grid / side - starts(axis, layer)
    end subroutine

    subroutine divide()
        integer :: layer
        column = mod(rank, side)
        row = rank / side
        allocate (starts(3, 0:side - 1), sizes(3, 0:side - 1))
        do layer = 0, side - 1
            call span(mod(column + layer, side), 1, layer)
            call span(mod(row + side - layer, side), 2, layer)
            call span(layer, 3, layer)
        end do
        own_values = values_each * sum(product(sizes, dim=1))
        allocate (solution(own_values))
    end subroutine

    ! What a value must be: its place in the grid, and the dump it belongs to. Sets the values, or compares them.
    subroutine visit(dump, compare)
        integer, intent(in) :: dump
        logical, intent(in) :: compare
        integer :: layer, x, y, z, at
        integer(int64) :: first
        real(real64) :: expected
        at = 0
        do layer = 0, side - 1
            do z = starts(3, layer), starts(3, layer) + sizes(3, layer) - 1
                do y = starts(2, layer), starts(2, layer) + sizes(2, layer) - 1
                    first = ((int(z, int64) * grid + y) * grid + starts(1, layer)) * values_each
                    do x = 0, sizes(1, layer) * values_each - 1
                        expected = real(first + x, real64) + real(dump, real64) / 1024
                        at = at + 1
                        if (compare) then
                            if (solution(at) /= expected) wrong = 1
                        else
                            solution(at) = expected
                        end if
                    end do
                end do
            end do
        end do
    end subroutine

    ! The filetype is one dump of the whole grid with this process's cells in it.
    subroutine make_grid_type()
        HANDLE(MPI_Datatype) :: subarrays(0:side - 1)
        integer(MPI_ADDRESS_KIND) :: displacements(0:side - 1)
        integer :: ones(0:side - 1), layer
        do layer = 0, side - 1
            call MPI_Type_create_subarray(4, [values_each, grid, grid, grid], [values_each, sizes(:, layer)], &
                                          [0, starts(:, layer)], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
                                          subarrays(layer), ierror)
        end do
        displacements = 0
        ones = 1
        call MPI_Type_create_struct(side, ones, displacements, subarrays, grid_type, ierror)
        call MPI_Type_commit(grid_type, ierror)
        do layer = 0, side - 1
            call MPI_Type_free(subarrays(layer), ierror)
        end do
    end subroutine

    subroutine open_file(mode, file)
        integer, intent(in) :: mode
        HANDLE(MPI_File), intent(out) :: file
        call MPI_File_open(MPI_COMM_WORLD, trim(directory) // '/btio.dat', mode, MPI_INFO_NULL, file, ierror)
        call must(ierror, 'open')
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, grid_type, 'native', MPI_INFO_NULL, &
                               ierror)
        call must(ierror, 'set_view')
    end subroutine

    ! Sends a face to the four neighbours of the square and checks those that come back.
    subroutine exchange_faces(step)
        integer, intent(in) :: step
        integer :: peers(neighbours), i, count
        real(real64), asynchronous :: out(grid * values_each, neighbours), in(grid * values_each, neighbours)
        HANDLE(MPI_Request) :: requests(2 * neighbours)
        peers = [row * side + mod(column + 1, side), row * side + mod(column + side - 1, side), &
                 mod(row + 1, side) * side + column, mod(row + side - 1, side) * side + column]
        count = grid * values_each
        out = rank + step
        do i = 1, neighbours
            ! What goes one way is received by the neighbour from the other way: 0 and 1, 2 and 3.
            call MPI_Irecv(in(1, i), count, MPI_DOUBLE_PRECISION, peers(i), ieor(i - 1, 1), MPI_COMM_WORLD, &
                           requests(i), ierror)
            call MPI_Isend(out(1, i), count, MPI_DOUBLE_PRECISION, peers(i), i - 1, MPI_COMM_WORLD, &
                           requests(neighbours + i), ierror)
        end do
        call MPI_Waitall(2 * neighbours, requests, MPI_STATUSES_IGNORE, ierror)
        do i = 1, neighbours
            if (any(in(:, i) /= peers(i) + step)) wrong = 1
        end do
    end subroutine

    subroutine solve()
        HANDLE(MPI_File) :: file
        integer :: step, dump, i
        call open_file(ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), file)
        do step = 1, steps
            do i = 1, exchanges
                call exchange_faces(step)
            end do
            if (mod(step, interval) /= 0) cycle
            dump = step / interval - 1
            call visit(dump, .false.)
            call MPI_File_write_at_all(file, int(dump, MPI_OFFSET_KIND) * own_values, solution, own_values, &
                                       MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierror)
            call must(ierror, 'write_at_all')
        end do
        call MPI_File_close(file, ierror)
    end subroutine

    subroutine read_back()
        HANDLE(MPI_File) :: file
        integer :: dump
        call open_file(MPI_MODE_RDONLY, file)
        do dump = 0, steps / interval - 1
            call MPI_File_read_at_all(file, int(dump, MPI_OFFSET_KIND) * own_values, solution, own_values, &
                                      MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierror)
            call must(ierror, 'read_at_all')
            call visit(dump, .true.)
        end do
        call MPI_File_close(file, ierror)
    end subroutine
end program
