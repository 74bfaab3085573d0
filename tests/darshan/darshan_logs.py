"""Logs that the tests export: of all examples under both MPIs, and of other programs. Recorded on first use."""
import atexit
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

PYTHON = '/usr/bin/python3'  # Debian's, which has Debian's modules
RANKS = '4'
ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe']}

BTIO = '--grid 10 --steps 4 --interval 2'
EXAMPLES = [('madbench', '--bins 3 --size 10000'), ('madbench', '--bins 3 --size 10000 --api async --unique'),
            ('madbench', '--bins 2 --size 10000 --api posix'), ('madbench', '--bins 2 --size 10000 --api stdio'),
            ('btio', BTIO), ('btio-f90', BTIO), ('btio-f08', BTIO), ('btio-mpif', BTIO),
            ('s3d', '--edge 4 --checkpoints 1'), ('s3d', '--edge 4 --checkpoints 2 --mode sieving'),
            ('ior', '--block 16384 --transfer 4096 --collective'), ('ior', '--block 16384 --transfer 4096 --unique --shift 1'),
            ('small', '--files 10'), ('metadata', '--files 20'), ('first', ''), ('groups', ''), ('turns', ''),
            ('variables', ''), ('hdf5', ''), ('flash', '')]

H5PY = '''
import h5py, numpy
with h5py.File('a.h5', 'w') as f:
    rows = f.create_dataset('rows', (100, 1000), chunks=(10, 100), compression='gzip')
    for i in range(100): rows[i] = numpy.arange(1000) * i
    f.create_group('group').create_dataset('cube', data=numpy.zeros((4, 5, 6)))
with h5py.File('a.h5', 'r') as f: print(f['rows'][::2, 10:20].sum(), f['group/cube'][1:3, ::2].sum())
'''

PLAIN = r'''
import os, threading
def work(number):
    with open(f'own.{number}', 'wb', buffering=0) as out:
        for i in range(50): out.write(b'x' * (number * 100 + i))
    with open(f'own.{number}', 'rb', buffering=0) as data:
        while data.read(700 + number): pass
for name in (b'line\nbreak', b'tab\tstop', b'caf\xc3\xa9', b'\xff\xfe', b'a:b'):
    with open(name, 'wb', buffering=0) as out: out.write(name)
threads = [threading.Thread(target=work, args=[i]) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
os.rename('own.1', 'moved')
if os.fork() == 0:
    work(10)
    os._exit(0)
os.wait()
with open('both', 'r+b' if os.path.exists('both') else 'w+b', buffering=0) as both:
    both.write(b'0123456789')
    both.seek(2)
    both.read(3)
    both.write(b'ab')
'''


class Logs:
    folder = os.path.realpath(tempfile.mkdtemp(prefix='ioseer-test-darshan-'))
    made = {}

    @classmethod
    def record(cls, name, *command, options=()):
        if name not in cls.made:
            work = os.path.join(cls.folder, name)
            os.mkdir(work)
            log = work + '.ioseer'
            done = harness.ioseer('record', '-q', *options, '-o', log, '--', *command, cwd=work)
            assert done.returncode == 0, done
            cls.made[name] = log
        return cls.made[name]

    @classmethod
    def example(cls, program, mpi, words='', options=()):
        path = os.path.join(harness.BUILD, 'examples', program if mpi == 'pnetcdf' else f'{program}-{mpi}')
        launcher = LAUNCHERS['openmpi' if mpi == 'pnetcdf' else mpi]
        if not shutil.which(launcher[0]) or not os.path.exists(path):
            raise harness.unittest.SkipTest(f'{program} for {mpi} is not here')
        name = ' '.join((program, mpi, words, *options)).strip().replace('/', ' ')
        return cls.record(name, *launcher, '-n', RANKS, path, *words.split(), options=options)

    @classmethod
    def plain(cls, *options):
        return cls.record(' '.join(('plain', *options)), PYTHON, '-I', '-S', '-c', PLAIN, options=options)

    @classmethod
    def h5py(cls):
        if harness.run(PYTHON, '-c', 'import h5py').returncode:
            raise harness.unittest.SkipTest('python3-h5py is not here')
        return cls.record('h5py', PYTHON, '-c', H5PY)

    @classmethod
    def tar(cls):
        data = os.path.join(cls.folder, 'data')
        if not os.path.exists(data):
            os.mkdir(data)
            for i in range(20):
                with open(os.path.join(data, f'part {i}'), 'wb') as out:
                    out.write(bytes(i * 10000))
        return cls.record('tar', 'tar', '-cf', 'data.tar', '-C', cls.folder, 'data')

    @classmethod
    def checkpoint(cls):
        return cls.record('checkpoint', os.path.join(harness.BUILD, 'examples', 'checkpoint'), '-s', '4', '-n', '8', '-b', '1000')


atexit.register(shutil.rmtree, Logs.folder, ignore_errors=True)
