#!/usr/bin/env python3
"""What `measure` finds out about MPI-IO, under each MPI: every cost is there and possible, and nothing stays in memory, not
even after kill -9. No times are compared. Takes the name of a class."""
import json
import math
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'mpi'))

import job_case  # noqa: E402
from job_case import LAUNCHERS, harness  # noqa: E402

MEMORY = '/dev/shm'
LIBRARY = {'mpich': ('MPICH', 'romio'), 'openmpi': ('Open MPI', 'ompio')}


def folders():
    """Of replays in memory; others may run at the same time."""
    return {name for name in os.listdir(MEMORY) if name.startswith('ioseer-replay.')}


class MpiIoTest(job_case.JobTest):
    def setUp(self):
        super().setUp()
        if not os.access(MEMORY, os.W_OK):
            self.skipTest(f'{MEMORY} cannot be written to')
        self.target = self.path('target')
        os.mkdir(self.target)
        launcher = ' '.join([*LAUNCHERS[self.mpi], '-n', '{np}'])
        self.words = ('measure', '--json', '-q', '--quick', '--time', '1s', '--sizes', '64k', '--np', '2', '--stall', '120s',
                      '--launcher', launcher, self.target)

    def check_cost(self, value, positive=False):
        self.assertIsInstance(value, (int, float))
        self.assertTrue(math.isfinite(value) and (value > 0 if positive else value >= 0), value)

    def check(self, mpiio):
        self.assertEqual((mpiio['name'], mpiio['library'], mpiio['np'], mpiio['nodes']), (*LIBRARY[self.mpi], 2, 1))
        self.check_cost(mpiio['within']['start'])
        self.check_cost(mpiio['within']['per_byte'], positive=True)
        self.assertIsNone(mpiio['between'])
        for op in 'read', 'write':
            self.check_cost(mpiio['sequential'][op], positive=True)
            self.check_cost(mpiio['random'][op], positive=True)
            self.check_cost(mpiio['per_piece'][op])
            self.check_cost(mpiio['per_call'][op])
            costs = mpiio['collective'][op]
            self.assertEqual(set(costs), {'per_call', 'per_round', 'per_byte', 'per_piece', 'error'})
            for cost in costs.values():
                self.check_cost(cost)
            self.assertGreater(sum(cost for name, cost in costs.items() if name != 'error'), 0)

    def test_profile(self):
        """The profile has the costs and can be read again."""
        done = self.expect(0, *self.words, '-o', self.path('system'), timeout=900)
        with open(self.path('system'), encoding='utf-8') as file:
            mpiio, = json.load(file)['mpiio']
        self.check(mpiio)
        self.assertEqual(done.stdout, b'')  # -q with -o
        self.assertEqual(os.listdir(self.target), [])
        # A profile is read before the directory is looked at.
        self.assertIn('No such file', self.expect_error(1, 'measure', '--node', self.path('system'), self.path('missing')))

    def test_killed(self):
        """A guard removes the files in memory when ioseer is killed."""
        before = folders()
        with subprocess.Popen([harness.IOSEER, *self.words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            mine, end = set(), time.monotonic() + 600
            while not mine and time.monotonic() < end and process.poll() is None:
                mine = {name for name in folders() - before if self.is_of(process.pid, name)}
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        self.assertTrue(mine, 'no folder in memory was seen')
        while mine & folders() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(mine & folders(), set())

    def is_of(self, pid, name):
        """Whether the process has the lock of the folder."""
        for fd in os.listdir(f'/proc/{pid}/fd'):
            try:
                if f'{MEMORY}/{name}/' in os.readlink(f'/proc/{pid}/fd/{fd}'):
                    return True
            except OSError:
                continue
        return False


class Mpich(MpiIoTest):
    mpi = 'mpich'


class OpenMpi(MpiIoTest):
    mpi = 'openmpi'


del MpiIoTest
harness.main()
