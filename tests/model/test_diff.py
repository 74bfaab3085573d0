#!/usr/bin/env python3
"""test_diff.py [CLASS...]: diff on recordings of the examples and on models: what is equal, what changed, and limits."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import BUILD, CommandLineTest, ioseer, main  # noqa: E402

ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe']}
MADBENCH = 'madbench --bins 8 --size 4096'


class DiffTest(CommandLineTest):
    logs = {}  # recordings are made once
    shelf = tempfile.TemporaryDirectory(prefix='ioseer-test-diff-')

    def diff(self, a, b, *options):
        return self.json('diff', '--json', *options, a, b)

    def changes(self, diff):
        return [(phase['a'], phase['change'], phase['b']) for phase in diff['phases']]

    @staticmethod
    def words(phase):
        """What changed, as text."""
        return {f"{d['op'] or ''} {d['what']} {d['a']} {d['b']}".strip() for d in phase['differences']}

    def example(self, mpi, np, words, again=''):
        """The log of an example; with `again` of another run, elsewhere."""
        key = mpi, np, words, again
        if key in self.logs:
            return self.logs[key]
        program, *options = words.split()
        binary = os.path.join(BUILD, 'examples', f'{program}-{mpi}')
        if not os.path.exists(binary) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'no {program} for {mpi}')
        folder = os.path.join(self.folder, again) if again else self.folder
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(self.shelf.name, f'{len(self.logs)}.ioseer')
        self.expect(0, 'record', '-q', '-o', log, '--', *LAUNCHERS[mpi], '-n', str(np), binary, '--directory', folder,
                    *options)
        self.logs[key] = log
        return log

    def model(self, log, name='model.json', edit=None):
        """The log's model as a file, changed by `edit`."""
        path = self.path(name)
        self.expect(0, 'model', '-o', path, log)
        if edit:
            with open(path) as file:
                model = json.load(file)
            edit(model)
            with open(path, 'w') as file:
                json.dump(model, file)
        return path


class ExamplesTest(DiffTest):
    """Holds what must be so under each MPI; the two classes below name one."""
    mpi = None

    def setUp(self):
        if self.mpi is None:
            self.skipTest('for one MPI or the other')
        super().setUp()

    def record_example(self, words, np=4, again=''):
        return self.example(self.mpi, np, words, again)

    def test_twice(self):
        for words in MADBENCH, 'btio --grid 10 --steps 6 --interval 2', 'ior --block 16384 --transfer 2048 --random':
            with self.subTest(words):
                diff = self.diff(self.record_example(words), self.record_example(words, again='in/another/place1'))
                self.assertTrue(diff['equal'], diff)
                self.assertEqual({phase['change'] for phase in diff['phases']}, {'same'})
                self.assertEqual([phase['differences'] for phase in diff['phases']], [[]] * len(diff['phases']))

    def test_more_processes(self):
        diff = self.diff(self.record_example(MADBENCH), self.record_example(MADBENCH, np=9))
        self.assertFalse(diff['equal'])
        self.assertEqual(self.changes(diff), [(i, 'np', i) for i in range(1, 6)])
        self.assertEqual([self.words(phase) for phase in diff['phases']], [{'np 4 9'}] * 5)
        for phase in diff['phases']:
            self.assertEqual(phase['weight_a'] * 9, phase['weight_b'] * 4)
        self.assertEqual([(p['np_a'], p['np_b'], p['mpi_a']) for p in diff['programs']], [(4, 9, True)])

    def test_another_grid_of_processes(self):
        words = 'btio --grid 12 --steps 6 --interval 2'
        diff = self.diff(self.record_example(words), self.record_example(words, np=9))
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 5)])
        for phase in diff['phases']:
            self.assertIn('np 4 9', self.words(phase))
            self.assertTrue(any(d['what'] == 'request' and d['a'] * 4 == d['b'] * 9 for d in phase['differences']))

    def test_another_interface(self):
        diff = self.diff(self.record_example(MADBENCH), self.record_example(MADBENCH + ' --api posix'))
        self.assertFalse(diff['equal'])
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 6)])
        self.assertEqual(self.words(diff['phases'][1]), {'read call MPI_File_read read'})
        self.assertEqual(self.words(diff['phases'][2]),
                         {'read call MPI_File_read read', 'write call MPI_File_write write'})
        diff = self.diff(self.record_example(MADBENCH), self.record_example(MADBENCH + ' --api async'))
        self.assertEqual(self.words(diff['phases'][0]),
                         {'write call MPI_File_write MPI_File_iwrite', 'write blocking yes no'})

    def test_other_sizes(self):
        diff = self.diff(self.record_example(MADBENCH), self.record_example('madbench --bins 8 --size 8192'))
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 6)])
        self.assertEqual(self.words(diff['phases'][0]), {'write request 4096 8192'})
        self.assertEqual(diff['total']['weight_a'] * 2, diff['total']['weight_b'])
        diff = self.diff(self.record_example(MADBENCH), self.record_example('madbench --bins 6 --size 4096'))
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 6)])
        self.assertLessEqual({'write rep 8 6', 'write offset idP*8*rs idP*6*rs'}, self.words(diff['phases'][0]))

    def test_more_phases(self):
        diff = self.diff(self.record_example('btio --grid 10 --steps 6 --interval 2'),
                         self.record_example('btio --grid 10 --steps 10 --interval 2'))
        self.assertEqual([(a, b) for a, _, b in self.changes(diff)], [(1, 1), (2, 2), (3, 3), (None, 4), (None, 5), (4, 6)])
        self.assertEqual([change for _, change, _ in self.changes(diff)][3:], ['added', 'added', 'changed'])
        self.assertEqual([p['weight_a'] for p in diff['phases'][3:5]], [None, None])
        self.assertIn('read rep 3 5', self.words(diff['phases'][5]))

    def test_files(self):
        diff = self.diff(self.record_example(MADBENCH), self.record_example(MADBENCH + ' --unique'))
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 6)])
        self.assertIn('files 1 4', self.words(diff['phases'][0]))

    def test_layers(self):
        # Below MPI-IO, one MPI calls pwrite, the other seeks and then calls write.
        diff = self.diff(self.record_example(MADBENCH), self.record_example(MADBENCH + ' --api posix'), '--layer', 'posix')
        self.assertEqual(self.changes(diff), [(i, 'changed', i) for i in range(1, 6)])
        self.assertIn('read call pread read', self.words(diff['phases'][1]))


class Mpich(ExamplesTest):
    mpi = 'mpich'


class OpenMpi(ExamplesTest):
    mpi = 'openmpi'


class Both(DiffTest):
    """The same program under one MPI and under the other."""

    def compare(self, words, np=4):
        diff = self.diff(self.example('mpich', np, words), self.example('openmpi', np, words))
        self.assertTrue(diff['equal'], diff)

    def test_madbench(self):
        self.compare(MADBENCH)

    def test_btio(self):
        self.compare('btio --grid 10 --steps 6 --interval 2')

    def test_s3d(self):
        self.compare('s3d --edge 4 --checkpoints 2')

    def test_ior(self):
        self.compare('ior --block 16384 --transfer 2048 --collective')

    def test_small(self):
        self.compare('small --files 12 --first 740 --second 420 --third 240')

    def test_metadata(self):
        self.compare('metadata --files 10 --size 3 --shared')


SCRIPT = '''
import os, subprocess, sys
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
with open("in", "wb") as file: file.write(bytes(300000))
for name in sys.argv[2:]: subprocess.run(name.split(), check=True)
'''


class Alone(DiffTest):
    """Programs without MPI."""

    def run_script(self, folder, *commands):
        name = folder.replace('/', '-') + '.ioseer'
        return self.record(sys.executable, '-I', '-S', '-c', SCRIPT, self.path(folder), *commands, name=name)

    def test_threads(self):
        logs = []
        for folder in 'a1', 'b/c/2':
            os.makedirs(self.path(folder))
            logs.append(self.record(os.path.join(BUILD, 'examples', 'checkpoint'), '-d', self.path(folder), '-s', '5',
                                    name=os.path.basename(folder) + '.ioseer'))
        self.assertTrue(self.diff(*logs)['equal'])

    def test_programs_in_another_order(self):
        copy, sums = 'dd if=in of=out bs=30000 status=none', 'dd if=in of=/dev/null bs=10000 status=none'
        one, two = self.run_script('one', copy, sums), self.run_script('two', sums, copy)
        diff = self.diff(one, two)
        self.assertTrue(diff['equal'], diff)
        self.assertNotEqual([p['a'] for p in diff['programs']], [p['b'] for p in diff['programs']])
        three = self.run_script('three', copy, sums, copy)
        diff = self.diff(one, three)
        self.assertFalse(diff['equal'])
        self.assertEqual({change for _, change, _ in self.changes(diff)}, {'same', 'added'})
        diff = self.diff(three, one)
        self.assertEqual({change for _, change, _ in self.changes(diff)}, {'same', 'removed'})

    def test_lookups(self):
        # Each folder of a path needs a lookup.
        program = 'import os, sys\nos.path.realpath(sys.argv[1])\nopen(sys.argv[1], "wb").write(b"x" * 9000)'
        os.makedirs(self.path('deep/er/and/deeper'))
        logs = [self.record(sys.executable, '-I', '-S', '-c', program, self.path(name), name=f'{number}.ioseer')
                for number, name in enumerate(['out', 'deep/er/and/deeper/out'])]
        diff = self.diff(*logs)
        self.assertTrue(diff['equal'], diff)
        self.assertEqual({d['what'] for phase in diff['phases'] for d in phase['differences']}, {'lookups'})

    def test_fio(self):
        if not shutil.which('fio'):
            self.skipTest('fio is not installed')
        logs = []
        for folder in 'one', 'two':
            os.makedirs(self.path(folder))
            logs.append(self.record('fio', '--name=a', '--rw=randrw', '--bs=4k', '--size=512k', '--ioengine=psync',
                                    '--randseed=3', '--numjobs=3', cwd=self.path(folder), name=folder + '.ioseer'))
        diff = self.diff(*logs)
        self.assertTrue(diff['equal'], diff)

    def test_sqlite(self):
        if not shutil.which('sqlite3'):
            self.skipTest('sqlite3 is not installed')
        sql = 'create table t(a); insert into t values(1),(2); create index i on t(a); select count(*) from t;'
        logs = []
        for folder in 'one', 'two':
            os.makedirs(self.path(folder))
            logs.append(self.record('sqlite3', 'test.db', sql, cwd=self.path(folder), name=folder + '.ioseer'))
        self.assertTrue(self.diff(*logs)['equal'])


PROGRAM = '''
import os
fd = os.open("data", os.O_RDWR | os.O_CREAT)
for i in range(8): os.pwrite(fd, bytes(1000), i * 1000)
for i in range(8): os.pread(fd, 1000, i * 1000)
'''


class Limits(DiffTest):
    """Models with known times, and what --fail-if says about them."""

    def setUp(self):
        super().setUp()
        self.log = self.record_program(PROGRAM)
        self.a = self.model(self.log, 'a.json', lambda model: self.set_times(model, 2.0, 1.0))
        self.b = self.model(self.log, 'b.json', lambda model: self.set_times(model, 3.0, 0.5))

    def record_program(self, program, **more):
        """Only the program's own files: Python may be installed anywhere."""
        return self.record_python(program, options=['--exclude', '/*', '--include', self.path('data')], **more)

    @staticmethod
    def set_times(model, *seconds):
        for phase, duration in zip(model['observed']['phases'], seconds):
            phase['duration'] = duration

    def expect_limit(self, status, *limits, **more):
        options = [word for limit in limits for word in ('--fail-if', limit)]
        return self.expect(status, 'diff', *options, more.get('a', self.a), more.get('b', self.b))

    def test_log_and_model(self):
        self.assertTrue(self.diff(self.log, self.a)['equal'])

    def test_json(self):
        diff = self.diff(self.a, self.b)
        self.assertEqual(list(diff), ['equal', 'programs', 'phases', 'total', 'failed'])
        self.assertEqual([(p['time_a'], p['time_b']) for p in diff['phases']], [(2, 3), (1, 0.5)])
        self.assertEqual([(p['weight_a'], p['weight_b']) for p in diff['phases']], [(8000, 8000)] * 2)
        self.assertEqual([(p['ops_a'], p['bandwidth_b']) for p in diff['phases']], [(8, 8000 / 3), (8, 16000)])
        total = diff['total']
        self.assertEqual((total['time_a'], total['time_b'], total['weight_a'], total['phases_b']), (3, 3.5, 16000, 2))
        self.assertEqual(total['bandwidth_a'], 16000 / 3)
        self.assertEqual(diff['failed'], [])

    def test_text(self):
        lines = self.expect(0, 'diff', self.a, self.b).stdout.decode().split('\n')
        self.assertEqual(lines[0].split()[:5], ['PHASE', 'A', 'PHASE', 'B', 'CHANGE'])
        self.assertEqual(lines[1].split()[:10],
                         ['1', '1', 'same', 'write', '2.00', 's', '3.00', 's', '+50.0', '%'])
        self.assertEqual(lines[4:], ['Equal structures; I/O took 3.00 s in A and 3.50 s in B (+16.7 %)', ''])
        self.assertEqual([line for line in lines if line != line.rstrip()], [])
        other = self.record_program(PROGRAM.replace('1000', '2000'), name='other.ioseer')
        text = self.expect(0, 'diff', '--layer', 'posix', self.log, other).stdout.decode()
        self.assertRegex(text, r'(?m)^1 +1 +changed +write .* write request 1000 B -> 2\.0 KiB$')
        self.assertIn('Different structures: 2 phases changed; I/O took ', text)

    def test_holds(self):
        done = self.expect_limit(1, 'time>+10%')
        self.assertEqual(done.stderr.decode(),
                         'ioseer diff: time>+10%: in all: time 3.00 s in A, 3.50 s in B (+16.7 %)\n')
        self.assertIn(b'Equal structures', done.stdout)
        done = self.expect_limit(1, 'time>+90%', 'phase.time>+25% and phase.time>+10ms', 'phase.time<-25%')
        self.assertEqual(done.stderr.decode().split('\n'), [
            'ioseer diff: phase.time>+25% and phase.time>+10ms: phase 1 of A and 1 of B: time 2.00 s in A, '
            '3.00 s in B (+50.0 %)',
            'ioseer diff: phase.time<-25%: phase 2 of A and 2 of B: time 1.00 s in A, 500 ms in B (-50.0 %)', ''])

    def test_holds_not(self):
        done = self.expect_limit(0, 'time>+20%', 'time>4s', 'weight!=0%', 'structure', 'phase.time>+50%', 'phases>2')
        self.assertEqual(done.stderr, b'')
        self.expect_limit(0, 'time>+0%', b=self.a)

    def test_structure(self):
        other = self.record_program(PROGRAM.replace('range(8)', 'range(9)'), name='other.ioseer')
        done = self.expect_limit(1, 'structure', a=self.log, b=other)
        self.assertEqual(done.stderr, b'ioseer diff: structure: the structures are different\n')
        self.expect_limit(1, 'weight!=0%', a=self.log, b=other)
        self.expect_limit(1, 'ops=18', a=self.log, b=other)

    def test_failed_in_json(self):
        done = self.expect(1, 'diff', '--json', '--fail-if', 'time>1s', '--fail-if', 'phase.time>+1%', '--fail-if',
                           'structure', self.a, self.b)
        self.assertEqual(json.loads(done.stdout)['failed'], [
            {'limit': 'time>1s', 'phase_a': None, 'phase_b': None, 'a': 3, 'b': 3.5},
            {'limit': 'phase.time>+1%', 'phase_a': 1, 'phase_b': 1, 'a': 2, 'b': 3}])

    def test_without_times(self):
        bare = self.model(self.log, 'bare.json', lambda model: model.pop('observed'))
        self.assertTrue(self.diff(self.log, bare)['equal'])
        self.assertEqual([p['time_b'] for p in self.diff(self.log, bare)['phases']], [None, None])
        done = self.expect_limit(1, 'time>+10%', b=bare)
        self.assertEqual(done.stderr, b'ioseer diff: time>+10%: one of the models has no times\n')
        self.expect_limit(0, 'weight!=0%', b=bare)

    def test_wrong_limits(self):
        for limit in 'tim>1', 'time', 'time>', 'time>1x', 'time>1 or time>2', '', 'phase.structure', 'weight>1s':
            with self.subTest(limit):
                self.expect_error(2, 'diff', '--fail-if', limit, self.a, self.b)

    def test_wrong_command_lines(self):
        self.expect_error(2, 'diff')
        self.expect_error(2, 'diff', self.a)
        self.expect_error(2, 'diff', self.a, self.b, self.b)
        self.expect_error(2, 'diff', '--layer', 'paper', self.a, self.b)
        self.expect_error(1, 'diff', self.a, self.path('missing'))
        self.expect_error(1, 'diff', self.path('missing'), self.a)
        self.expect_error(1, 'diff', self.a, '/dev/null')

    def test_output(self):
        for name in self.a, self.b, self.log:
            self.expect_error(2, 'diff', '-o', name, self.a if name != self.log else self.log, self.b)
        out = self.path('out')
        self.assertEqual(self.expect(1, 'diff', '--fail-if', 'time>1s', '-o', out, self.a, self.b).stdout, b'')
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), ioseer('diff', self.a, self.b).stdout)


if __name__ == '__main__':
    main()
