#!/usr/bin/env python3
"""MPI jobs that do not end well, or are not one job: status and output stay, the log is there. Speaks TAP."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness

LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}


def example(name, mpi):
    return os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')


class Ends(harness.CommandLineTest):
    def launcher(self, mpi):
        if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(example('madbench', mpi)):
            self.skipTest(f'{mpi} is not here')
        return LAUNCHERS[mpi]

    def both(self, command, log='log.ioseer'):
        """Runs a command bare and recorded, in the same place; gives the two."""
        bare = harness.run(*command, cwd=self.folder)
        recorded = harness.ioseer('record', '-q', '-o', self.path(log), '--', *command, cwd=self.folder)
        self.assertEqual((recorded.returncode, recorded.stdout), (bare.returncode, bare.stdout))
        return bare, recorded

    def ranks(self, log='log.ioseer'):
        info = self.json('info', '--json', self.path(log))
        return sorted(process['rank'] for process in info['processes'] if process['rank'] is not None)

    def refused(self, mpi):
        bare, recorded = self.both([*self.launcher(mpi), '-n', '2', example('btio', mpi)])
        self.assertEqual(bare.returncode, 2)
        self.assertIn(b'runs on 1, 4, 9', recorded.stderr)
        self.assertEqual(self.ranks(), [0, 1])

    def aborted(self, mpi):
        """A file that cannot be opened: MPI_Abort, after calls that are kept."""
        os.mkdir(self.path('madbench.dat'))
        command = [*self.launcher(mpi), '-n', '2', example('madbench', mpi)]
        try:
            bare, _ = self.both(command)
        except AssertionError:
            # Seen once in about four hundred recorded runs under Open MPI: a crash while the job is being aborted, cause
            # not known. Twice in a row is a failure.
            os.unlink(self.path('log.ioseer'))
            bare, _ = self.both(command)
        self.assertEqual(bare.returncode, 1)
        self.assertEqual(self.ranks(), [0, 1])
        opens = [event for event in self.json('dump', '--json', self.path('log.ioseer'))
                 if event['op'] == 'MPI_File_open']
        self.assertTrue(opens)
        for event in opens:
            self.assertEqual(event['file'], self.path('madbench.dat'))
            self.assertNotEqual(event['errno'], 0)
            self.assertLess(event['result'], 0)

    def two_jobs(self, mpi):
        """A script with two MPI jobs is one log; each job has its ranks."""
        job = ' '.join([*self.launcher(mpi), '-n', '2', example('ior', mpi), '--block', '4k', '--transfer', '4k'])
        bare, _ = self.both(['sh', '-c', f'{job} && {job}'])
        self.assertEqual(bare.returncode, 0)
        self.assertEqual(self.ranks(), [0, 0, 1, 1])

    def each_rank_recorded(self, mpi):
        """record below mpiexec: every rank has its own, and they make one log."""
        log = self.path('log.ioseer')
        done = harness.run(*self.launcher(mpi), '-n', '2', harness.IOSEER, 'record', '-q', '-o', log, '--',
                           example('ior', mpi), '--block', '4k', '--transfer', '4k', cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ranks(), [0, 1])
        events = self.json('dump', '--json', '--layer', 'mpiio', log)
        for rank in (0, 1):
            ops = [event['op'] for event in events if event['rank'] == rank]
            self.assertEqual(ops.count('MPI_File_write_at'), 2, json.dumps(events)[:500])

    def test_refused_mpich(self):
        self.refused('mpich')

    def test_refused_openmpi(self):
        self.refused('openmpi')

    def test_aborted_mpich(self):
        self.aborted('mpich')

    def test_aborted_openmpi(self):
        self.aborted('openmpi')

    def test_two_jobs_mpich(self):
        self.two_jobs('mpich')

    def test_two_jobs_openmpi(self):
        self.two_jobs('openmpi')

    def test_each_rank_recorded_mpich(self):
        self.each_rank_recorded('mpich')

    def test_each_rank_recorded_openmpi(self):
        self.each_rank_recorded('openmpi')


harness.main()
