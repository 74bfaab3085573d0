#!/usr/bin/env python3
"""The generator: families of rows, and that one new row is captured, counted, replayed and tested. Speaks TAP."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GEN = SOURCE / 'gen'
sys.path[:0] = [str(GEN), str(SOURCE / 'tests' / 'cli')]
sys.dont_write_bytecode = True
import tables  # noqa: E402
from harness import main  # noqa: E402

NEW = '''
int {A:|l}frobnicate(const char *path @path, mode_t mode) : meta path count stat effect lookup sys {A:|l}frobnicate
int MPI_File_{D:read|write}_twice{A:|_all}(MPI_File fh @fh, {D:void|const void} *buf, int count @count, MPI_Datatype datatype @type, MPI_Status *status @status) : {D:read|write} mpi_individual large {A:|traits collective}
'''


class Families(unittest.TestCase):
    def test_no_choice(self):
        self.assertEqual(tables.expand('int dup(int fd)'), ['int dup(int fd)'])

    def test_choices_of_one_letter_go_together(self):
        self.assertEqual(tables.expand('{D:read|write}({D:void|const void} *buf)'),
                         ['read(void *buf)', 'write(const void *buf)'])

    def test_letters_multiply(self):
        self.assertEqual(tables.expand('{D:r|w}{A:|_all}'), ['r', 'r_all', 'w', 'w_all'])

    def test_choices_must_be_as_many(self):
        with self.assertRaises(SystemExit):
            tables.expand('{D:read|write}({D:void})')

    def test_unknown_words_fail(self):
        for words in ('count nothing', 'pointer there', 'effect harm', 'surprise'):
            with self.assertRaises(SystemExit):
                tables.parse_options(words.split(), 'here')


class NewRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        calls = pathlib.Path(cls.folder.name) / 'calls'
        shutil.copytree(SOURCE / 'calls', calls)
        posix, mpi = NEW.strip().split('\n')
        for name, row in (('posix', posix), ('mpiio', mpi)):
            with open(calls / f'{name}.calls', 'a') as out:
                out.write(row + '\n')
        cls.before = (calls / 'ids.lock').read_text()
        cls.run_generator('gen.py', calls, '--lock')
        cls.after = (calls / 'ids.lock').read_text()
        cls.text = {}
        for program, outputs in (('gen.py', ['calls_table.c', 'shims.c', 'symbols.txt', 'captured.md']),
                                 ('gen_mpi.py', ['mpi_shims.h']), ('gen_tests.py', ['cases.c']),
                                 ('gen_replay.py', ['replay_calls.c', 'replay_mpi_calls.c'])):
            for name in outputs:
                path = pathlib.Path(cls.folder.name) / name
                cls.run_generator(program, calls, path)
                cls.text[name] = path.read_text()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def run_generator(program, calls, *words):
        subprocess.run([sys.executable, '-B', GEN / program, '--calls', calls, *words], check=True)

    def check(self, name, *parts):
        for part in parts:
            self.assertIn(part, self.text[name])

    def test_ids_are_appended(self):
        self.assertTrue(self.after.startswith(self.before))
        self.assertEqual(len(self.after.splitlines()) - len(self.before.splitlines()), 6)

    def test_captured(self):
        self.check('shims.c', 'result = real.lfrobnicate(path, mode);', 'case SYS_frobnicate:')
        self.check('symbols.txt', 'frobnicate\n', 'PMPI_File_write_twice_all_c\n')
        self.check('mpi_shims.h', 'shim_MPI_File_read_twice_c(MPI_File fh, void *buf, MPI_Count count,')

    def test_described(self):
        row = self.text['calls_table.c'].split('// frobnicate\n')[1].split('}')[0]
        for fact in ('LAYER_POSIX', 'CLASS_META', 'COUNT_STAT', 'EFFECT_LOOKUP'):
            self.assertIn(fact, row)
        row = self.text['calls_table.c'].split('// MPI_File_write_twice_all\n')[1].split('}')[0]
        for fact in ('CLASS_WRITE', 'COUNT_WRITE', 'CALL_COLLECTIVE', 'FORM_BLOCKING'):
            self.assertIn(fact, row)

    def test_replayed(self):
        self.check('replay_calls.c', 'return frobnicate(a->path, 0700);', '[CALL_lfrobnicate] = {REPLAY_NAME, call_lfrobnicate}')
        self.check('replay_mpi_calls.c', 'MPI_File_write_twice(a->file, a->data, a->count, a->type, &a->status)')

    def test_tested(self):
        self.check('cases.c', '{"frobnicate", case_frobnicate}', '{"syscall(lfrobnicate) fails"')


if __name__ == '__main__':
    main()
