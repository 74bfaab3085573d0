"""Logs that the tests of `query` ask, each recorded once: of a program without MPI, and of one under each MPI."""
import atexit
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
import gluster  # noqa: E402
import harness  # noqa: E402
import tree  # noqa: E402

if not harness.ioseer('query', '--tables').stdout:
    print('1..0 # SKIP ioseer was built without SQLite (libsqlite3-dev)')
    sys.exit(0)

ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe']}

# Several processes and threads, failures, files that are opened and never read, a rename, odd names.
PROGRAM = r'''
import os, sys, threading
def work(number):
    with open(f'own.{number}', 'wb', buffering=0) as out:
        for i in range(50):
            out.write(b'x' * (number * 100 + i))
    with open(f'own.{number}', 'rb', buffering=0) as data:
        while data.read(700 + number): pass
for i in range(40):
    os.close(os.open('never read', os.O_RDONLY | os.O_CREAT))
for name in ('missing', 'nowhere/missing'):
    try: os.open(name, os.O_RDONLY)
    except OSError: pass
for name in (b'line\nbreak', b'quote\'"', b'=cmd()', b'\x1b[31mred', b'caf\xc3\xa9', b'\xff\xfe', b'a[b]*?', b'a,b'):
    with open(name, 'wb', buffering=0) as out: out.write(name)
os.rename('own.1', 'moved') if os.path.exists('own.1') else None
threads = [threading.Thread(target=work, args=[i]) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
for number in (10, 11):
    if os.fork() == 0:
        work(number)
        os._exit(number)
    os.wait()
big = os.open('own.0', os.O_RDWR)
os.pwrite(big, b'y', 1 << 40)
os.fsync(big)
'''

ON_STACK = r'''
import os, sys
fd = os.open(sys.argv[1] + '/data', os.O_CREAT | os.O_RDWR)
for i in range(20): os.pwrite(fd, bytes(100000), i * 100000)
os.pread(fd, 500000, 0)
with open('elsewhere', 'w') as out: out.write('x' * 5000)
'''


class Logs:
    """Made on first use, removed at the end."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix='ioseer-test-query-'))
    made = {}
    trees = {}

    @classmethod
    def find(cls, name):
        if name not in cls.made:
            cls.made[name] = getattr(cls, name)()
        return cls.made[name]

    @classmethod
    def record(cls, name, *command, options=()):
        log = os.path.join(cls.folder, name + '.ioseer')
        work = os.path.join(cls.folder, name)
        os.mkdir(work)
        done = harness.ioseer('record', '-q', *options, '-o', log, '--', *command, cwd=work)
        assert done.returncode == 0, done
        return log

    @classmethod
    def plain(cls):
        return cls.record('plain', sys.executable, '-I', '-S', '-c', PROGRAM)

    @classmethod
    def example(cls, name, mpi):
        program = os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')
        if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(program):
            raise harness.unittest.SkipTest(f'{name} for {mpi} is not here')
        return cls.record(f'{name}-{mpi}', *LAUNCHERS[mpi], '-n', '4', program)

    @classmethod
    def on_stack(cls, name, mpi, *arguments):
        """On a file system of three servers, which ends with the recording."""
        if gluster.why_not():
            raise harness.unittest.SkipTest(gluster.why_not())
        stack, mount = f'query-{name}-{mpi}-{os.getpid()}', os.path.join(cls.folder, f'mount-{name}-{mpi}')
        up = harness.ioseer('stack', 'up', stack, '--servers', '3', '--layout', 'shard', '--mount', mount)
        try:
            assert up.returncode == 0, up
            program = os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')
            if mpi not in LAUNCHERS:
                return cls.record(f'{name}-stack-{mpi}', *arguments, mount, options=('--stack', stack))
            if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(program):
                raise harness.unittest.SkipTest(f'{name} for {mpi} is not here')
            return cls.record(f'{name}-stack-{mpi}', *LAUNCHERS[mpi], '-n', '4', program, '--directory', mount, *arguments,
                              options=('--stack', stack))
        finally:
            harness.ioseer('stack', 'down', '--force', stack)

    @classmethod
    def mpich(cls):
        return cls.example('madbench', 'mpich')

    @classmethod
    def openmpi(cls):
        return cls.example('madbench', 'openmpi')

    @classmethod
    def hdf5(cls):
        return cls.example('hdf5', 'mpich')

    @classmethod
    def pnetcdf(cls):
        program = os.path.join(harness.BUILD, 'examples', 's3d-pnetcdf')
        if not shutil.which(LAUNCHERS['openmpi'][0]) or not os.path.exists(program):
            raise harness.unittest.SkipTest('s3d-pnetcdf is not here')
        return cls.record('pnetcdf', *LAUNCHERS['openmpi'], '-n', '4', program)

    @classmethod
    def stack_mpich(cls):
        return cls.on_stack('s3d', 'mpich', '--edge', '6', '--mode', 'collective')

    @classmethod
    def stack_openmpi(cls):
        return cls.on_stack('madbench', 'openmpi', '--size', '65536', '--work', '0')

    @classmethod
    def stack_hdf5(cls):
        return cls.on_stack('hdf5', 'mpich')

    @classmethod
    def stack_plain(cls):
        return cls.on_stack('python', 'none', sys.executable, '-I', '-S', '-c', ON_STACK)


atexit.register(shutil.rmtree, Logs.folder, ignore_errors=True)
NAMES = ('plain', 'mpich', 'openmpi', 'stack_plain')
TREES = (*NAMES, 'hdf5', 'pnetcdf', 'stack_mpich', 'stack_openmpi', 'stack_hdf5')


class QueryTest(harness.CommandLineTest):
    def sql(self, log, statement):
        """The rows of the answer, as lists."""
        return self.json('query', log, '--json', '--sql', statement)['rows']

    def table(self, log, statement):
        """The same as dictionaries."""
        answer = self.json('query', log, '--json', '--sql', statement)
        return [dict(zip(answer['columns'], row)) for row in answer['rows']]

    def each_log(self):
        for name in NAMES:
            try:
                yield Logs.find(name)
            except harness.unittest.SkipTest:
                pass

    def each_tree(self):
        """(name, log, its tree) of each log that can be had."""
        for name in TREES:
            try:
                log = Logs.find(name)
            except harness.unittest.SkipTest:
                continue
            if log not in Logs.trees:
                mount = (self.json('info', '--json', log).get('stack') or {}).get('mount')
                Logs.trees[log] = tree.Tree(tree.load(self.expect(0, 'dump', '--json', log).stdout), mount)
            yield name, log, Logs.trees[log]
