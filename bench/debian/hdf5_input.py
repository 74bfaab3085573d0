"""Makes in.h5: each layout, filters, strings, references, links, attributes."""
import h5py
import numpy

numbers = numpy.random.default_rng(1).integers(0, 50, (400, 500))
with h5py.File('in.h5', 'w') as file:
    file['contiguous'] = numpy.arange(200000.).reshape(400, 500)
    file.create_dataset('chunked', data=numbers, chunks=(37, 41))
    file.create_dataset('packed', data=numbers, chunks=(50, 50), compression='gzip', shuffle=True, fletcher32=True)
    file.create_dataset('grows', (10, 10), maxshape=(None, 10), chunks=(3, 10), data=numpy.ones((10, 10)))
    file['strings'] = numpy.array(['a', 'bb', 'ccc'], dtype=h5py.string_dtype())
    file['records'] = numpy.zeros(100, numpy.dtype([('a', 'i4'), ('b', 'f8'), ('c', 'S5')]))
    group = file.create_group('a/b/c')
    group['x'] = numpy.arange(10)
    group.attrs['numbers'] = numpy.arange(20)
    group.attrs['text'] = 'text'
    file['link'] = h5py.SoftLink('/a/b/c/x')
    file['reference'] = numpy.array([group.ref], dtype=h5py.ref_dtype)
