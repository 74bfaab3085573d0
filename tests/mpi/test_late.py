#!/usr/bin/env python3
"""Programs that load MPI at run time, in every way, under each MPI: the log has all their calls, with the POSIX
calls below them. Speaks TAP; takes the name of a class."""
import os
import shutil
import sys

import job_case
from job_case import LAUNCHERS, harness, program


class LateTest(job_case.JobTest):
    library = None  # of MPI
    ranks = 2

    def late(self, how):
        """The program looks up MPI's functions by name."""
        self.both([*LAUNCHERS[self.mpi], '-n', str(self.ranks), program('late', self.mpi), how, self.library,
                   self.folder])
        self.assertEqual(self.worlds(), [self.ranks])
        self.check_files('late', range(self.ranks))

    def plugin(self, how):
        """A library that is linked to MPI."""
        self.both([*LAUNCHERS[self.mpi], '-n', str(self.ranks), program('late', self.mpi), how,
                   program('libjobs', self.mpi) + '.so', '--directory', self.folder])
        self.assertEqual(self.worlds(), [self.ranks])
        self.check_files('jobs', range(self.ranks))

    def test_local(self):
        self.late('local')

    def test_global(self):
        self.late('global')

    def test_deep(self):
        self.late('deep')

    def test_global_and_deep(self):
        self.late('global,deep')

    def test_local_plugin(self):
        self.plugin('local')

    def test_global_plugin(self):
        self.plugin('global')

    def test_deep_plugin(self):
        self.plugin('deep')

    def test_global_and_deep_plugin(self):
        self.plugin('global,deep')

    def test_ctypes(self):
        """Python calls MPI and libc by name."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'late.py')
        self.both([*LAUNCHERS[self.mpi], '-n', str(self.ranks), sys.executable, '-S', script, self.library,
                   self.folder])
        self.assertEqual(self.worlds(), [self.ranks])
        self.check_files('late', range(self.ranks))
        for rank in range(self.ranks):
            events = self.json('dump', '--json', '--file', self.path(f'libc.{rank}.txt'), self.log)
            self.assertEqual([(event['rank'], event['op'], event['size']) for event in events],
                             [(rank, 'open', None), (rank, 'write', 5), (rank, 'close', None)])


class Mpich(LateTest):
    mpi = 'mpich'
    library = 'libmpich.so.12'


class OpenMpi(LateTest):
    mpi = 'openmpi'
    library = 'libmpi.so.40'


del LateTest
harness.main()
