#!/usr/bin/env python3
"""Findings about HDF5, of programs that have one fault or none (tests/hdf5/planted.c), on storage of a known speed."""
import os
import shutil
import subprocess

import rules
from faults import LIBRARY_FAULTS, LIBRARY_RANK_FAULTS
from rules import harness

PROGRAM = os.path.join(harness.BUILD, 'tests', 'hdf5', 'planted')
STORAGE = ('--latency', '2ms', '--write-bw', '200M', '--read-bw', '200M')
CACHED = ('--latency', '2ms', '--cache', 'kernel')


class LibrariesTest(rules.FindingsTest):
    def program(self, build):
        if not os.path.exists(f'{PROGRAM}-{build}'):
            self.skipTest(f'no HDF5 for {build}')
        return f'{PROGRAM}-{build}'

    def run_planted(self, what, options=STORAGE, before=None):
        command = [self.program('serial')]
        if what in [name for row in LIBRARY_RANK_FAULTS for name in row[1:]]:
            command = ['mpiexec.mpich', '-n', '4', self.program('mpich')]
            if not shutil.which(command[0]):
                self.skipTest('no MPICH')
        if before:
            subprocess.run([self.program('serial'), before, self.below], check=True)
        self.emulate(*options)
        log = self.record(*command, what, self.above, options=('--force',))
        self.unmount()
        return log

    def check_rows(self, rows):
        for wanted, fault, *others in rows:
            with self.subTest(finding=wanted):
                by_id = {finding['id']: finding for finding in self.findings(self.run_planted(fault))}
                self.assertIn(wanted, by_id, list(by_id))
                getattr(self, 'check_' + wanted.replace('-', '_'))(by_id[wanted])
            for other in others:
                with self.subTest(finding=wanted, without=other):
                    self.assert_absent(wanted, self.run_planted(other))

    def test_serial(self):
        self.check_rows(LIBRARY_FAULTS)

    def test_ranks(self):
        self.check_rows(LIBRARY_RANK_FAULTS)

    def test_chunks_that_were_written_whole(self):
        """The direction that loses counts, not the one that moves more."""
        findings = {f['id']: f for f in self.findings(self.run_planted('chunks-replaced'))}
        self.assertIn('use 1.6 % of the chunks that they touch: to read 64.0 KiB HDF5 moved 4.0 MiB',
                      findings['chunks']['title'])

    def test_fill_values_of_one_file(self):
        """They explain nothing in another one, which is written eight times."""
        findings = {f['id']: f for f in self.findings(self.run_planted('fill-again'))}
        self.assertTrue(findings['fill-values']['evidence'][0]['file'].endswith('/planted.h5'))
        self.assertIn('2.0 MiB of a file were written 8.0 times', findings['written-again']['title'])

    def test_calls_on_several_datasets(self):
        """Bytes and time of H5Dwrite_multi are those of the transfers in it."""
        log = self.run_planted('objects-multi')
        info = self.json('info', '--json', log)
        parts = {part['part']: part for part in info['libraries'][0]['parts']}
        moved = 2 * 64 * 64 * 8
        self.assertEqual((parts['transfers']['calls'], parts['transfers']['bytes_written']), (64, moved))
        self.assertGreaterEqual(parts['transfers']['file_bytes_written'], moved)
        self.assertNotIn('others', parts)
        objects = {item['object']: item for item in info['objects']}
        self.assertEqual([objects[name]['bytes_written'] for name in ('/one', '/two')], [moved // 2] * 2)
        self.assertEqual(objects['/one']['file_bytes_written'], objects['/two']['file_bytes_written'])
        self.assertEqual(sum(item['file_bytes_written'] for item in objects.values()),
                         parts['transfers']['file_bytes_written'])
        times = [objects[name]['time_written'] for name in ('/one', '/two')]
        self.assertAlmostEqual(sum(times), parts['transfers']['time'], delta=1e-6 * 64)
        self.assertLess(parts['transfers']['below'], parts['transfers']['time'])

    def test_alignment(self):
        """Rows of 4 KiB in files that are there, one of which has aligned datasets."""
        findings = {f['id']: f for f in self.findings(self.run_planted('align', CACHED, 'align-make'))}
        self.assertIn('unaligned', findings)
        self.assertIn('H5Pset_alignment(fapl, threshold, 4096)', findings['unaligned']['advice'])
        self.assertIn('dataset /rows', str(findings['unaligned']['evidence']))
        self.assert_absent('unaligned', self.run_planted('align', CACHED, 'align-make-all'))
        self.assert_absent('unaligned', self.run_planted('chunks-whole', CACHED))

    # --- the figures of these programs

    def check_fill_values(self, finding):
        self.assertIn('2.0 MiB of fill values', finding['title'])
        self.assertIn('dataset /filled has 2.0 MiB; its creation wrote', finding['evidence'][0]['text'])
        self.assertIn('H5Pset_fill_time', finding['advice'])
        self.assertGreater(finding['seconds'], 2 * 0.005)  # 2 MiB at 200 MiB/s

    def check_filters(self, finding):
        # The first of 16 rows finds no chunks to read; 8 chunks have a part of each row.
        self.assertIn('read chunks 120 times', finding['title'])
        self.assertIn('Write whole chunks (64x64 elements)', finding['advice'])
        self.assertGreater(finding['seconds'], 0.002 * 120 * 0.9)

    def check_chunks(self, finding):
        self.assertIn('use 1.6 % of the chunks that they touch: to read 256.0 KiB HDF5 moved 16.0 MiB', finding['title'])
        self.assertIn('64 reads of 4.0 KiB on dataset /chunked (512x512) touch 8 chunks of 32.0 KiB each',
                      finding['evidence'][0]['text'])
        self.assertIn('instead of 64x64', finding['advice'])
        self.assertIn('H5Pset_chunk_cache with 256.0 KiB', finding['advice'])
        self.assertGreater(finding['seconds'], 0.002 * 512 * 0.9 * 0.95)

    def check_library_metadata(self, finding):
        self.assertRegex(finding['title'], r'HDF5 makes [\d,]+ small requests of \d+ B for metadata')
        self.assertIn('H5Pset_meta_block_size', finding['advice'])

    def check_shared_metadata(self, finding):
        self.assertIn('4 processes read the same metadata', finding['title'])
        self.assertIn('H5Pset_all_coll_metadata_ops', finding['advice'])

    def check_independent(self, finding):
        self.assertIn('1,024 small writes of 128 B on average: HDF5 turns each transfer into 64 writes', finding['title'])
        self.assertIn('H5FD_MPIO_COLLECTIVE', finding['advice'])


harness.main()
