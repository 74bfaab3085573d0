"""Steps of a simulation through parallel h5py: collective and chunked datasets, attributes, read back by others."""
import h5py
import numpy
from mpi4py import MPI

STEPS, ROWS = 4, 1000
comm = MPI.COMM_WORLD
with h5py.File('steps.h5', 'w', driver='mpio', comm=comm) as file:
    for step in range(STEPS):
        group = file.create_group(f'step{step}')
        data = group.create_dataset('x', (comm.size * ROWS, 8), dtype='f8')
        with data.collective:
            data[comm.rank * ROWS:(comm.rank + 1) * ROWS] = numpy.full((ROWS, 8), comm.rank + step)
        group.create_dataset('y', (comm.size, 4096), dtype='i4', chunks=(1, 4096))[comm.rank] = numpy.arange(4096)
        group.attrs['time'] = step * 0.5
with h5py.File('steps.h5', 'r', driver='mpio', comm=comm) as file:
    other = (comm.rank + 1) % comm.size
    for step in range(STEPS):
        assert (file[f'step{step}/x'][other * ROWS:(other + 1) * ROWS] == other + step).all()
