"""What the tests of `export` share: the logs, also of HDF5 and of calls that overlap, and what `dump` says about them."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'query'))
import logs  # noqa: E402
from logs import harness  # noqa: E402

PYTHON = '/usr/bin/python3'  # Debian's, which has Debian's modules
BIG_EVENTS = 200000

# Asynchronous writes of libc that end after the calls that began them, while other calls come and go.
OVERLAPPING = r'''
import ctypes, os, time
libc = ctypes.CDLL(None)
def block(fd, number):
    data = ctypes.create_string_buffer(b'x' * 1000)
    fields = [('fd', ctypes.c_int), ('op', ctypes.c_int), ('priority', ctypes.c_long), ('data', ctypes.c_void_p),
              ('size', ctypes.c_size_t), ('value', ctypes.c_long), ('signal', ctypes.c_int), ('notify', ctypes.c_int),
              ('inside', ctypes.c_long * 10), ('offset', ctypes.c_long), ('reserved', ctypes.c_long * 8)]
    made = type('aiocb', (ctypes.Structure,), {'_fields_': fields})(
        fd=fd, data=ctypes.addressof(data), size=1000, notify=1, offset=number * 1000)
    made.keep = data
    return made
fd = os.open('data', os.O_RDWR | os.O_CREAT)
for turn in range(5):
    blocks = [block(fd, turn * 8 + i) for i in range(8)]
    for one in blocks:
        assert libc.aio_write(ctypes.byref(one)) == 0
        os.pwrite(fd, b'y', 100000)
    for one in blocks:
        while libc.aio_error(ctypes.byref(one)): time.sleep(0.001)
        assert libc.aio_return(ctypes.byref(one)) == 1000
'''


class Logs(logs.Logs):
    @classmethod
    def hdf5(cls):
        if harness.run(PYTHON, '-c', 'import h5py').returncode:
            raise harness.unittest.SkipTest('python3-h5py is not here')
        return cls.record('hdf5', PYTHON, '-c', 'import h5py, numpy\n'
                          'with h5py.File("a.h5", "w") as f:\n'
                          '    d = f.create_dataset("rows", (100, 1000), chunks=(10, 100), compression="gzip")\n'
                          '    for i in range(100): d[i] = numpy.arange(1000) * i\n')

    @classmethod
    def overlapping(cls):
        return cls.record('overlapping', sys.executable, '-I', '-c', OVERLAPPING)

    @classmethod
    def big(cls):
        return cls.record('big', sys.executable, '-I', '-S', '-c', 'import os\n'
                          'f = os.open("data", os.O_RDWR | os.O_CREAT)\n'
                          f'for i in range({BIG_EVENTS}): os.pwrite(f, b"x" * (i % 7), i * 8)\n')


NAMES = (*logs.NAMES, 'hdf5')


class ExportTest(harness.CommandLineTest):
    def each_log(self):
        for name in NAMES:
            try:
                yield Logs.find(name)
            except harness.unittest.SkipTest:
                pass

    def events(self, log):
        return json.loads(self.expect(0, 'dump', '--json', '-q', log).stdout.decode('utf-8', 'surrogateescape'))

    def export(self, log, form, name, *options, **more):
        path = self.path(name)
        self.expect(0, 'export', log, '--format', form, '-o', path, *options, **more)
        return path

    def damaged(self, log):
        """A copy without its last third."""
        path = self.path('damaged.ioseer')
        with open(log, 'rb') as whole, open(path, 'wb') as part:
            data = whole.read()
            part.write(data[:len(data) * 2 // 3])
        return path
