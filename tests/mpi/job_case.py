"""What the tests of MPI jobs share: the launchers, programs that write as jobs.c does, and looking for their calls."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
WRITES = 10  # writes of rank 0 in jobs.c and similar programs; every rank writes once more than the one below it
BYTES = 100


def program(name, mpi):
    return os.path.join(harness.BUILD, 'tests', 'mpi', f'{name}-{mpi}')


def is_here(mpi):
    return shutil.which(LAUNCHERS[mpi][0]) and os.path.exists(program('jobs', mpi))


def bare_run(*command, **where):
    """Runs a command without ioseer. MPICH 4.0 hangs now and then by itself with several threads: tries once more."""
    try:
        return harness.run(*command, **{'timeout': 60, **where})
    except subprocess.TimeoutExpired:
        return harness.run(*command, **where)


class JobTest(harness.CommandLineTest):
    """Holds what each MPI must do; classes derived from it name one."""
    mpi = None

    def setUp(self):
        if not is_here(self.mpi):
            self.skipTest(f'{self.mpi} is not here')
        super().setUp()
        self.log = self.path('log.ioseer')

    def both(self, command, options=(), log=None, **where):
        """Runs a command bare and recorded; status and output are the same."""
        bare = bare_run(*command, **where)
        self.assertEqual(bare.returncode, 0, bare.stderr)
        recorded = harness.ioseer('record', '-q', '-o', log or self.log, *options, '--', *command, **where)
        self.assertEqual((recorded.returncode, sorted(recorded.stdout.split(b'\n')), recorded.stderr),
                         (bare.returncode, sorted(bare.stdout.split(b'\n')), bare.stderr))
        return recorded

    def worlds(self):
        """How many ranks each MPI job in the log has, smallest first."""
        info = self.json('info', '--json', self.log)
        for world in info['worlds']:
            self.assertEqual(world['ranks'], world['size'])
        for process in info['processes']:
            if process['rank'] is not None:
                self.assertEqual(process['exit'], 'clean')
        self.assertEqual(info['lost_events'], 0)
        return sorted(world['size'] for world in info['worlds'])

    def check_files(self, name, ranks, reads=True):
        """Every rank's calls on its file: open, writes, reads, close; each with one POSIX call below it."""
        events = self.json('dump', '--json', '--file', self.path(f'{name}.*.dat'), self.log)
        for rank in ranks:
            mine = [event for event in events if event['file'] == self.path(f'{name}.{rank}.dat')]
            self.assertEqual({event['rank'] for event in mine}, {rank})
            top = [event for event in mine if event['layer'] == 'mpiio']
            writes = WRITES + rank
            self.assertEqual([event['op'] for event in top],
                             ['MPI_File_open', *['MPI_File_write_at'] * writes,
                              *['MPI_File_read_at'] * (writes if reads else 0), 'MPI_File_close'])
            for number, event in enumerate(event for event in top if event['class'] in ('read', 'write')):
                offset = number % writes * BYTES
                self.assertEqual((event['offset'], event['result']), (offset, BYTES))
                below = [(child['class'], child['offset'], child['result']) for child in mine
                         if child['parent'] == event['id'] and child['class'] in ('read', 'write')]
                self.assertEqual(below, [(event['class'], offset, BYTES)])
