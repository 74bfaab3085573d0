"""MPI-IO from Python: a strided view, files of two halves, nonblocking writes, a shared file pointer."""
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
data = numpy.full(1024, float(comm.rank))
file = MPI.File.Open(comm, 'all', MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(comm.rank * 16 * 8, MPI.DOUBLE, MPI.DOUBLE.Create_vector(64, 16, 16 * comm.size).Commit())
for _ in range(5):
    file.Write_all(data)
file.Seek(0)
for _ in range(5):
    file.Read_all(data)
assert (data == comm.rank).all()
file.Close()
half = comm.Split(comm.rank % 2, comm.rank)
file = MPI.File.Open(half, f'half{comm.rank % 2}', MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Iwrite_at(half.rank * data.nbytes, data).Wait()
file.Write_shared(data)
file.Close()
