#!/usr/bin/env python3
"""The bytes that programs move through mappings of files: an estimate, compared with what the programs do."""
import os
import shutil

from harness import SOURCE, CommandLineTest, main, run

MIB = 1 << 20
LENGTH, READ, CHANGED = 64 * MIB, 10 * MIB, 3 * MIB
AROUND = 256 << 10  # the kernel maps up to 64 KiB around each end of what is touched
LARGE = MIB  # and with large pages, which are 2 MiB at most, all of the page at the end of what is changed
KINDS = ('mapped_read', 'mapped_dirty', 'mapped_copied')
SYSTEM_PYTHON = '/usr/bin/python3'


class MappedTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        with open(self.path('data'), 'wb') as file:
            file.write(os.urandom(LENGTH))
            os.fsync(file.fileno())  # pages that are dirty already would count as changed

    def mapped(self, log, name='data'):
        """(read, dirty, copied) of a file, and the coverage."""
        info = self.json('info', '--json', log)
        file = next(file for file in info['files'] if file['name'] == self.path(name))
        return [file[kind] for kind in KINDS], info

    def expect_about(self, found, expected):
        for kind, bytes_found, bytes_expected in zip(KINDS, found, expected):
            self.assertGreaterEqual(bytes_found, bytes_expected - AROUND, kind)
            self.assertLessEqual(bytes_found, bytes_expected + (LARGE + AROUND if bytes_expected else 0), kind)


class ProgramTest(MappedTest):
    def setUp(self):
        super().setUp()
        if not shutil.which('gcc'):
            self.skipTest('gcc is missing')
        made = run('gcc', '-O1', os.path.join(SOURCE, 'tests', 'cli', 'mapped.c'), '-o', self.path('mapped'))
        self.assertEqual(made.returncode, 0, made.stderr)

    def check(self, kind, how, status=0):
        log = self.record(self.path('mapped'), kind, how, cwd=self.folder, status=status, options=['--force'])
        found, info = self.mapped(log)
        self.expect_about(found, (READ + CHANGED, CHANGED, 0) if kind == 'shared' else (READ + CHANGED, 0, CHANGED))
        estimated = {part['direction']: part['bytes'] for part in info['coverage']['estimated']}
        self.assertEqual(estimated.get('read'), found[0])
        self.assertEqual(estimated.get('write', 0), found[1])
        self.assertFalse([part for part in info['coverage']['unseen'] if 'mmap' in part['reason']])
        (row,) = self.json('stats', '--json', log)['mapped']
        self.assertEqual([row['read'], row['dirty'], row['copied']], found)
        return log

    def test_ends(self):
        for kind in ('shared', 'private'):
            for how in ('munmap', 'msync', 'async', 'exit', '_exit', 'fork', 'exec', 'fail'):
                with self.subTest(kind=kind, how=how):
                    self.check(kind, how)
            with self.subTest(kind=kind, how='abort'):
                self.check(kind, 'abort', status=134)

    def test_events_have_their_part(self):
        log = self.check('shared', 'msync')
        calls = {event['op']: event for event in self.json('dump', '--json', log) if event['file'] == self.path('data')}
        self.expect_about([calls['msync'].get(kind, 0) for kind in KINDS], (0, CHANGED, 0))
        self.expect_about([calls['munmap'].get(kind, 0) for kind in KINDS], (READ + CHANGED, 0, 0))

    def test_a_killed_process_is_unknown(self):
        log = self.record(self.path('mapped'), 'shared', 'kill', cwd=self.folder, status=137)
        found, info = self.mapped(log)
        self.assertEqual(found, [0, 0, 0])
        self.assertTrue([part for part in info['coverage']['unseen'] if 'mmap' in part['reason']])

    def test_text(self):
        log = self.check('shared', 'munmap')
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertRegex(text, r'estimated +1[34]\.\d MiB +read +through mappings')
        self.assertRegex(text, r'estimated +[34]\.\d MiB +written +through shared mappings')
        self.assertRegex(text, rf'1[34]\.\d MiB +[34]\.\d MiB +0 B +{self.path("data")}')


class OtherProgramsTest(MappedTest):
    def test_python(self):
        log = self.record_python('import mmap\n'
                                 'with open("data", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:\n'
                                 f'    assert len(memory[:{READ}]) == {READ}\n'
                                 f'    memory[{32 * MIB}:{32 * MIB + CHANGED}] = bytes({CHANGED})\n')
        self.expect_about(self.mapped(log)[0], (READ + CHANGED, CHANGED, 0))

    def test_numpy(self):
        if run(SYSTEM_PYTHON, '-c', 'import numpy').returncode:
            self.skipTest('numpy is missing')
        log = self.record(SYSTEM_PYTHON, '-c', 'import numpy\n'
                          'memory = numpy.memmap("data", dtype="uint8", mode="r")\n'
                          f'assert memory[:{READ}].sum() > 0\n', cwd=self.folder)
        self.expect_about(self.mapped(log)[0], (READ, 0, 0))

    def test_lmdb(self):
        """mdb_dump reads the whole database through its mapping."""
        if not shutil.which('mdb_load') or not shutil.which('mdb_dump'):
            self.skipTest('lmdb-utils is missing')
        head = f'VERSION=3\nformat=print\ntype=btree\nmapsize={LENGTH}\ndb_pagesize=4096\nHEADER=END\n'
        rows = ''.join(f' {number:08x}\n {"a" * 1000}\n' for number in range(5000))
        made = run('mdb_load', '-n', self.path('db'), input=(head + rows + 'DATA=END\n').encode(), stdin=None)
        self.assertEqual(made.returncode, 0, made.stderr)
        pages = os.path.getsize(self.path('db'))
        log = self.record('mdb_dump', '-n', self.path('db'), cwd=self.folder, stdout=-3)
        found, _ = self.mapped(log, 'db')
        self.assertGreater(pages, 4 * MIB)
        self.assertAlmostEqual(found[0], pages, delta=pages // 10)
        self.assertEqual(found[1:], [0, 0])

    def test_many_short_mappings_cost_little(self):
        """The kernel is asked for a part of the time only, and the log says how many were not estimated."""
        log = self.record_python('import mmap\n'
                                 'with open("data", "rb") as file:\n'
                                 '    for _ in range(20000):\n'
                                 '        memory = mmap.mmap(file.fileno(), 65536, prot=mmap.PROT_READ)\n'
                                 '        memory[0]\n'
                                 '        memory.close()\n')
        found, info = self.mapped(log)
        self.assertGreater(found[0], 0)
        (file,) = [file for file in info['files'] if file['name'] == self.path('data')]
        self.assertGreater(file['mapped_missed'], 1000)
        self.assertRegex(self.expect(0, 'info', log).stdout.decode(), r'mappings ended or synced without an estimate')


if __name__ == '__main__':
    main()
