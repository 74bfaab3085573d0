#!/usr/bin/env python3
"""The reports of matching examples show the problems in the case studies of the Darshan paper.

Slow storage is emulated: each request takes at least its latency, even on a busy machine, so it is known what is slow.
Fast storage is memory.
"""
import os
import shutil
import subprocess
import tempfile

import place
from place import harness
import importlib.util

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'target', 'place.py')
spec = importlib.util.spec_from_file_location('target_place', TARGET)
target = importlib.util.module_from_spec(spec)
spec.loader.exec_module(target)

EXAMPLES = os.path.join(harness.BUILD, 'examples')
MPIEXEC = 'mpiexec.mpich'
RANKS = 4
LATENCY_SECONDS = 0.002


class CasesTest(target.StorageTest):
    @staticmethod
    def why_not():
        if not shutil.which(MPIEXEC) or not os.path.exists(os.path.join(EXAMPLES, 's3d-mpich')):
            return 'no MPICH'
        return target.why_no_mount()

    def slow(self):
        self.emulate('--latency', f'{LATENCY_SECONDS * 1e3:.0f}ms', '--write-bw', '1G', '--read-bw', '1G')
        return self.above

    def fast(self):
        folder = tempfile.TemporaryDirectory(prefix='ioseer-test-', dir='/dev/shm')
        self.addCleanup(folder.cleanup)
        return folder.name

    def report(self, program, *words, ranks=RANKS):
        path = program if os.path.isabs(program) else os.path.join(EXAMPLES, f'{program}-mpich')
        log = self.record(MPIEXEC, '-n', str(ranks), path, *words, stdout=subprocess.DEVNULL)
        page = self.json('report', '--format', 'json', log)
        page['by_id'] = {finding['id']: finding for finding in page['findings']}
        for finding in page['findings']:
            if finding['id'] != 'processors':  # a note about the machine
                self.assertGreater(finding['seconds'], 0)
            self.assertTrue(finding['evidence'] and finding['reason'] and finding['advice'])
        return page

    def test_s3d_independent_on_slow_storage(self):
        page = self.report('s3d', '--directory', self.slow(), '--mode', 'independent', '--edge', '6', '--checkpoints', '1')
        finding = page['by_id']['independent']
        self.assertIn('tiny write', finding['title'])
        writes = 16 * 6 * 6  # rows of a process's block: components x edge x edge
        self.assertIn(f'{RANKS * writes:,} tiny writes of 48 B', finding['title'])
        self.assertIn(f'MPI-IO turns each call into {writes // 4:,} writes', finding['title'])
        self.assertGreater(finding['seconds'], 0.9 * LATENCY_SECONDS * writes)
        self.assertEqual(finding['severity'], 'high')
        self.assertEqual(os.path.basename([item['file'] for item in finding['evidence'] if item['file']][-1]), 's3d.0.dat')
        self.assertIn('collective', finding['advice'])
        self.assertNotIn('small-requests', page['by_id'])  # the same requests

    def test_s3d_on_fast_storage(self):
        for mode in ('independent', 'collective'):
            page = self.report('s3d', '--directory', self.fast(), '--mode', mode)
            for finding in page['findings']:
                self.assertNotIn('Use collective calls', finding['advice'])
                self.assertNotEqual(finding['id'], 'independent')
            os.remove(self.path('test.ioseer'))

    def test_madbench(self):
        text = ' '.join(self.report('madbench', '--directory', self.fast(), '--size', '1M')['summary']['sentences'])
        self.assertIn('all of them aligned', text)
        # Each process: write to read once, then 14 changes in the middle, and write to read again.
        self.assertIn(f'reads and writes alternate {RANKS * 15} times', text)
        self.assertIn('32.0 MiB were written over what had been written before', text)
        os.remove(self.path('test.ioseer'))
        text = ' '.join(self.report('madbench', '--directory', self.fast(), '--size', '1000001')['summary']['sentences'])
        self.assertRegex(text, r'9\d\.\d % of them unaligned|none of them aligned')

    def test_one_rank_writes_everything(self):
        made = self.path('ranks')
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ranks.c')
        subprocess.run(['mpicc.mpich', '-o', made, source], check=True)
        finding = self.report(made, 'one', self.slow())['by_id']['one-rank']
        self.assertIn(f'Rank 0 does the I/O of all {RANKS} ranks', finding['title'])
        self.assertEqual(finding['evidence'][0]['ranks'], [0])
        self.assertGreater(finding['seconds'], 40 * LATENCY_SECONDS * (1 - 1 / RANKS))

    def test_independent_small_records(self):
        page = self.report('ior', '--directory', self.slow(), '--block', '512k', '--transfer', '16k', '--segments', '1')
        finding = page['by_id']['small-requests']
        self.assertIn('of 16.0 KiB', finding['title'])
        self.assertGreater(finding['seconds'], 0.9 * LATENCY_SECONDS * 32)

    def test_metadata(self):
        page = self.report('metadata', '--directory', self.slow(), '--files', '20')
        self.assertIn('metadata', page['by_id'])


harness.main()
