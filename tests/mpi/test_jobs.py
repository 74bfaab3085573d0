#!/usr/bin/env python3
"""MPI jobs of every kind that users start, under each MPI: all their ranks are in the log, with all their calls. Speaks
TAP; takes the name of a class."""
import os

import job_case
from job_case import LAUNCHERS, harness, program


class JobsTest(job_case.JobTest):
    def job(self, name, *more, ranks=2, mpi=None, path=None):
        mpi = mpi or self.mpi
        return [*LAUNCHERS[mpi], '-n', str(ranks), path or program('jobs', mpi), '--directory', self.folder,
                '--name', name, *more]

    def script(self, text):
        path = self.path('script')
        with open(path, 'w', encoding='utf-8') as out:
            out.write(f'#!/bin/sh\n{text}\n')
        os.chmod(path, 0o700)
        return path

    # --- started in other ways

    def test_ranks_started_by_a_script(self):
        script = self.script(f'echo before; "{program("jobs", self.mpi)}" "$@"; echo after')
        self.both(self.job('jobs', path=script))
        self.assertEqual(self.worlds(), [2])
        self.check_files('jobs', range(2))

    def test_script_around_the_launcher(self):
        job = ' '.join(self.job('jobs', ranks=3))
        self.both([self.script(f'cd / && {job}')])
        self.assertEqual(self.worlds(), [3])
        self.check_files('jobs', range(3))

    def test_relative_names_elsewhere(self):
        """From another directory, with a relative program, log and file names."""
        os.mkdir(self.path('elsewhere'))
        os.symlink(program('jobs', self.mpi), self.path('jobs'))
        command = [*LAUNCHERS[self.mpi], '-n', '2', '../jobs', '--directory', '..']
        self.both(command, log='../log.ioseer', cwd=self.path('elsewhere'))
        self.assertEqual(self.worlds(), [2])
        self.check_files('jobs', range(2))

    def test_without_a_launcher(self):
        """MPI's singleton: a world of one."""
        self.both([program('jobs', self.mpi), '--directory', self.folder])
        self.assertEqual(self.worlds(), [1])
        self.check_files('jobs', [0])

    def test_scripts_that_record(self):
        """record below the launcher, with a shell between."""
        script = self.script(f'"{harness.IOSEER}" record -q -o "{self.log}" -- "{program("jobs", self.mpi)}" "$@"; :')
        done = harness.run(*self.job('jobs', ranks=3, path=script))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.worlds(), [3])
        self.check_files('jobs', range(3))

    # --- several jobs

    def test_one_after_the_other(self):
        jobs = ' && '.join(' '.join(self.job(name, ranks=ranks)) for name, ranks in (('first', 2), ('second', 3)))
        self.both(['sh', '-c', jobs])
        self.assertEqual(self.worlds(), [2, 3])
        self.check_files('first', range(2))
        self.check_files('second', range(3))

    def test_at_the_same_time(self):
        jobs = ' & '.join(' '.join(self.job(name, ranks=ranks)) for name, ranks in (('first', 2), ('second', 3)))
        self.both(['sh', '-c', f'{jobs} & wait'])
        self.assertEqual(self.worlds(), [2, 3])
        self.check_files('first', range(2))
        self.check_files('second', range(3))

    def test_both_mpis_at_the_same_time(self):
        other = 'openmpi' if self.mpi == 'mpich' else 'mpich'
        if not job_case.is_here(other):
            self.skipTest(f'{other} is not here')
        jobs = ' & '.join([' '.join(self.job('first')), ' '.join(self.job('second', ranks=3, mpi=other))])
        self.both(['sh', '-c', f'{jobs} & wait'])
        self.assertEqual(self.worlds(), [2, 3])
        self.check_files('first', range(2))
        self.check_files('second', range(3))

    # --- jobs that are not one program

    def test_two_programs_in_one_job(self):
        """One of them in C++."""
        plain = program('plain', self.mpi)
        if not os.path.exists(plain):
            self.skipTest('no C++ compiler')
        # The ranks go on in the second program: 2 and 3.
        self.both([*self.job('first'), ':', '-n', '2', plain, self.folder, 'second'])
        self.assertEqual(self.worlds(), [4])
        self.check_files('first', range(2))
        self.check_files('second', range(2, 4), reads=False)
        events = self.json('dump', '--json', self.log)
        failed = [event['rank'] for event in events if event['op'] == 'MPI_File_open' and event['errno']]
        self.assertEqual(sorted(failed), [2, 3])
        texts = self.json('dump', '--json', '--class', 'write', '--file', self.path('*.txt'), self.log)
        self.assertEqual(sorted(event['file'] for event in texts),
                         [self.path(f'second.{rank}.txt') for rank in (2, 3)])

    def test_spawned_ranks(self):
        command = self.job('jobs', '--spawn', '3')
        if harness.run(*command).returncode:
            self.skipTest('this MPI cannot spawn')  # MPICH 4.0 over UCX has no dynamic processes
        self.both(command)
        self.assertEqual(self.worlds(), [2, 3])
        self.check_files('jobs', range(2))
        self.check_files('spawned', range(3))
        pairs = {(comm['members'], comm['remote_members']): comm['processes']
                 for comm in self.json('info', '--json', self.log)['communicators'] if comm['origin'] == 'spawn'}
        self.assertEqual(pairs, {('0-1', '?*3'): 2, ('0-2', '?*2'): 3})  # each side has ranks of its own world only

    def test_threads(self):
        self.both(self.job('jobs', '--threads', '4'))
        self.assertEqual(self.worlds(), [2])
        for thread in range(4):
            self.check_files(f'jobs-{thread}', range(2))
        tids = {event['tid'] for event in self.json('dump', '--json', '--layer', 'mpiio', '--rank', '0', self.log)}
        self.assertEqual(len(tids), 4)

    def test_children_of_ranks(self):
        self.both(self.job('jobs', '--fork'))
        self.assertEqual(self.worlds(), [2])
        self.check_files('jobs', range(2))
        events = self.json('dump', '--json', '--file', self.path('*.txt'), self.log)
        self.assertEqual({(event['file'], event['rank']) for event in events},
                         {(self.path(f'jobs.{rank}.txt'), None) for rank in range(2)})

    def test_more_ranks_than_cores(self):
        self.both(self.job('jobs', '--threads', '2', ranks=16))
        self.assertEqual(self.worlds(), [16])
        for thread in range(2):
            self.check_files(f'jobs-{thread}', range(16))


class Mpich(JobsTest):
    mpi = 'mpich'

    def test_proxies_on_several_hosts(self):
        """record below the launcher, whose ranks have different parents."""
        own = [harness.IOSEER, 'record', '-q', '-o', self.log, '--']
        done = harness.run('mpiexec.mpich', '-launcher', 'fork', '-hosts', 'a,b', '-n', '4', *own,
                           program('jobs', self.mpi), '--directory', self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.worlds(), [4])
        self.check_files('jobs', range(4))


class OpenMpi(JobsTest):
    mpi = 'openmpi'


del JobsTest
harness.main()
