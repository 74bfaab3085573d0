"""late.py LIBRARY DIRECTORY: does what late.c does, in Python, with ctypes; and writes one file with libc's functions.

The handles that mpi.h defines are numbers under MPICH and addresses of variables under Open MPI.
"""
import ctypes
import os
import sys

WRITES, BYTES = 10, 100
CREATE, READ_WRITE = 1, 8
MPICH_HANDLES = {'comm_world': 0x44000000, 'comm_self': 0x44000001, 'info_null': 0x1c000000, 'byte': 0x4c00010d}


def main(library, directory):
    mpi = ctypes.CDLL(library)
    is_openmpi = hasattr(mpi, 'ompi_mpi_comm_world')

    def handle(name):
        if not is_openmpi:
            return ctypes.c_int(MPICH_HANDLES[name])
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, f'ompi_mpi_{name}')))

    rank, data = ctypes.c_int(), ctypes.create_string_buffer(b'late', BYTES)
    file = ctypes.c_void_p()
    status = ctypes.create_string_buffer(64)
    mpi.MPI_Init(None, None)
    mpi.MPI_Comm_rank(handle('comm_world'), ctypes.byref(rank))
    path = os.path.join(directory, f'late.{rank.value}.dat').encode()
    wrong = mpi.MPI_File_open(handle('comm_self'), path, CREATE | READ_WRITE, handle('info_null'), ctypes.byref(file))
    for call in mpi.MPI_File_write_at, mpi.MPI_File_read_at:
        for i in range(WRITES + rank.value):
            wrong |= call(file, ctypes.c_longlong(i * BYTES), data, BYTES, handle('byte'), status)
    wrong |= mpi.MPI_File_close(ctypes.byref(file))
    mpi.MPI_Barrier(handle('comm_world'))
    libc = ctypes.CDLL('libc.so.6')
    fd = libc.open(os.path.join(directory, f'libc.{rank.value}.txt').encode(), os.O_CREAT | os.O_WRONLY, 0o600)
    wrong |= libc.write(fd, b'libc\n', 5) != 5
    libc.close(fd)
    mpi.MPI_Finalize()
    return 1 if wrong or data.value != b'late' else 0


sys.exit(main(*sys.argv[1:]))
