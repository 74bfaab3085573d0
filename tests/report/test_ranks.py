#!/usr/bin/env python3
"""Findings about ranks and MPI-IO, of a program that has one fault or none (ranks.c)."""
import os
import shutil
import subprocess
import tempfile

import rules
from rules import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ranks.c')
LATENCY = ('--latency', '5ms', '--write-bw', '1G', '--read-bw', '1G')
START = {'mpich': ('mpiexec.mpich',), 'openmpi': ('mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe')}
CPUS = len(os.sched_getaffinity(0))


class RanksTest(rules.FindingsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scratch = tempfile.TemporaryDirectory(prefix='ioseer-test-')
        cls.addClassCleanup(scratch.cleanup)
        cls.programs = {}
        for mpi, start in START.items():
            if shutil.which(f'mpicc.{mpi}') and shutil.which(start[0]):
                cls.programs[mpi] = os.path.join(scratch.name, mpi)
                subprocess.run([f'mpicc.{mpi}', '-O1', '-o', cls.programs[mpi], SOURCE], check=True)

    def run_ranks(self, fault, *folders, ranks=4, mpi='mpich'):
        if mpi not in self.programs:
            self.skipTest(f'no {mpi}')
        return self.record(*START[mpi], '-n', str(ranks), self.programs[mpi], fault, *folders, options=('--force',))

    def run_undisturbed(self, *words, **more):
        """Other programs on the processors make ranks late: then it runs again, a few times at most."""
        for _ in range(5):
            log = self.run_ranks(*words, **more)
            if 'processors' not in [finding['id'] for finding in self.findings(log)]:
                break
        return log

    def fast(self):
        folder = tempfile.TemporaryDirectory(prefix='ioseer-test-', dir='/dev/shm')
        self.addCleanup(folder.cleanup)
        return folder.name

    def slow(self, *options):
        self.emulate(*(options or LATENCY))
        return self.above

    def test_one_rank_writes_all(self):
        slow = self.slow()
        first = self.assert_first('one-rank', self.run_ranks('one', slow))
        self.assertIn('Rank 0 does the I/O of all 4 ranks', first['title'])
        self.assertEqual(first['evidence'][0]['ranks'], [0])
        self.assertIn('--rank 0', first['check'])
        self.assert_absent('one-rank', self.run_ranks('slow', slow))
        self.assert_absent('one-rank', self.run_ranks('uneven', slow))

    def test_slow_rank(self):
        slow, fast = self.slow(), self.path('fast')
        os.mkdir(fast)
        first = self.assert_first('slow-rank', self.run_ranks('slow', fast, slow))
        self.assertEqual(first['evidence'][0]['ranks'], [3])
        self.assert_absent('slow-rank', self.run_ranks('slow', slow))
        self.assert_absent('slow-rank', self.run_ranks('uneven', slow))

    def test_ranks_that_wait_for_one_with_more_to_do(self):
        slow = self.slow()
        first = self.assert_first('waiting', self.run_ranks('uneven', slow))
        self.assertIn('while rank 0 does more I/O', first['title'])
        self.assertNotEqual(first['evidence'][1]['ranks'], [0])
        self.assert_absent('waiting', self.run_ranks('even', slow))
        self.assert_absent('waiting', self.run_ranks('before', slow, ranks=2))

    def test_collective_calls_on_fast_storage(self):
        first = self.assert_first('collective', self.run_undisturbed('pieces', self.fast(), ranks=min(2, CPUS)))
        self.assertIn('romio_cb_write=disable', first['advice'])
        for fault in ('large', 'late'):
            log = self.run_ranks(fault, self.folder, ranks=min(2, CPUS))
            self.assertNotIn(('collective', 'high'), [(f['id'], f['severity']) for f in self.findings(log)])

    def test_ranks_that_come_late(self):
        for mpi in self.programs:
            log = self.run_ranks('late', self.fast(), ranks=min(2, CPUS), mpi=mpi)
            with self.subTest(mpi=mpi):
                self.assertIn('collective-wait', [finding['id'] for finding in self.findings(log)])

    def test_data_sieving(self):
        slow = self.slow()
        by_id = {finding['id']: finding for finding in self.findings(self.run_ranks('sieve', slow, ranks=2))}
        self.assertIn('romio_ds_write=disable', by_id['data-sieving']['advice'])
        self.assertGreater(by_id['data-sieving']['seconds'], 0.005 * 40 * 0.9)
        for fault in ('large', 'one'):
            self.assert_absent('data-sieving', self.run_ranks(fault, self.folder, ranks=2))

    def test_hints_are_for_the_library_that_ran(self):
        log = self.run_ranks('pieces', self.fast(), ranks=min(2, CPUS), mpi='openmpi')
        self.assertNotIn('romio_', str(self.findings(log)))

    def test_more_ranks_than_processors(self):
        if CPUS > 4:
            self.skipTest('too many processors')
        first = self.assert_first('processors', self.run_ranks('late', self.fast(), ranks=2 * CPUS))
        self.assertEqual(first['title'], f'{2 * CPUS} ranks share {CPUS} processors')
        self.assertIn('runnable but not running', first['evidence'][0]['text'])
        for fault in ('large', 'late'):
            log = self.run_ranks(fault, self.folder, ranks=min(2, CPUS))
            self.assertNotIn('ranks share', str(self.findings(log)))


harness.main()
