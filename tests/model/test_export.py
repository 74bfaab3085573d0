"""Models exported for fio and IOR: fio runs its job file and moves as many bytes per phase and file as the program
did. IOR's lines have only options that IOR documents, and describe as many bytes."""
import collections
import configparser
import fnmatch
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'cli'))
import harness  # noqa: E402

MPIEXEC = 'mpiexec.mpich'
EXAMPLES = os.path.join(harness.BUILD, 'examples')

# Options of IOR 3.3 and 4.0 that take no value, and those that take one.
IOR_FLAGS = set('-B -c -C -e -E -F -g -H -k -K -l -m -n -p -P -r -R -w -W -x -y -Y -z -Z -v -X'.split())
IOR_VALUES = set('-a -A -b -d -D -f -G -i -I -j -J -M -N -o -O -q -Q -s -t -T -u -U'.split())

RANDOM_SIZES = """
import os, random
random.seed(1)
with open('input', 'rb', 0) as data: [data.read(random.randrange(1, 5000)) for _ in range(200)]
fd = os.open('output', os.O_WRONLY | os.O_CREAT)
[os.pwrite(fd, b'x' * random.randrange(1, 3000), random.randrange(100000)) for _ in range(100)]
[os.pwrite(fd, b'y' * 100, i * 1000) for i in range(50, 0, -1)]
[os.pwrite(fd, b'z' * 512, 64) for i in range(10)]
"""


def move(totals, key, direction, count):
    totals[key][direction == 'write'] += count


def totals():
    return collections.defaultdict(lambda: [0, 0])


def without(one, other):
    return {key: [a - b for a, b in zip(value, other.get(key, (0, 0)))] for key, value in one.items()}


class Load(harness.CommandLineTest):
    def record_in(self, *command):
        where = self.path('run')
        os.makedirs(where, exist_ok=True)
        return self.record(*command, cwd=where)

    def record_example(self, program, *options, ranks=4):
        path = os.path.join(EXAMPLES, f'{program}-mpich')
        if not os.path.exists(path) or not shutil.which(MPIEXEC):
            self.skipTest('MPICH was not found')
        return self.record_in(MPIEXEC, '-n', str(ranks), path, *options)

    def model_bytes(self, log):
        """What the model says: bytes read and written by phase, and by file."""
        by_phase, by_file = totals(), totals()
        for op in self.json('model', log, '--expand', '--json'):
            if op['class'] in ('read', 'write') and op['errno'] == 0 and op['file'] and op['result'] > 0:
                move(by_phase, op['phase'], op['class'], op['result'])
                move(by_file, op['file'], op['class'], op['result'])
        return by_phase, by_file

    # --- fio

    def jobs(self, text):
        parser = configparser.RawConfigParser(allow_no_value=True, delimiters=('=',), comment_prefixes=('#',))
        parser.read_string(text)
        return {name: dict(parser[name]) for name in parser.sections()}

    def sets(self, text):
        """The names of files that stand for the program's, and the pattern of those."""
        found = re.findall(r'(?m)^# (file-[a-z]+)(?:\.0)? is (.*?)(?:, the first of \d+)?$', text)
        return {name: re.sub(r'\\(.)', r'[\1]', pattern) for name, pattern in found}

    def run_fio(self, text):
        """Bytes by phase as fio says, and by file as a recording of it says."""
        folder = self.path('fio')
        os.mkdir(folder)
        with open(self.path('jobs.fio'), 'w', encoding='utf-8') as out:
            out.write(text)
        log = self.record('fio', '--output-format=json', f'--output={self.path("fio.json")}', self.path('jobs.fio'),
                          name='fio.ioseer', cwd=folder)
        by_phase, by_file = totals(), totals()
        with open(self.path('fio.json'), encoding='utf-8') as report:
            for job in json.load(report)['jobs']:
                self.assertEqual(job['error'], 0, job)
                phase = re.match(r'phase-(\d+)\.', job['jobname'])
                for direction in ('read', 'write') if phase else ():
                    move(by_phase, int(phase[1]), direction, job[direction]['io_bytes'])
        for file in self.json('info', '--json', log)['files']:
            if os.path.dirname(file['name']) == folder and (file['bytes_read'] or file['bytes_written']):
                by_file[os.path.basename(file['name'])] = [file['bytes_read'], file['bytes_written']]
        return by_phase, by_file

    def check_fio(self, log, expect_notes=()):
        if not shutil.which('fio'):
            self.skipTest('fio was not found')
        text = self.expect(0, 'model', '--format', 'fio', log).stdout.decode()
        by_phase, by_file = self.run_fio(text)
        prepared = totals()
        for name, job in self.jobs(text).items():
            if name.startswith('prepare-'):
                move(prepared, job['filename'], 'write', int(job['size']))
        by_file = without(by_file, prepared)
        model_phases, model_files = self.model_bytes(log)
        self.assertEqual(dict(by_phase), dict(model_phases))
        for name, pattern in self.sets(text).items():
            ours = [moved for file, moved in by_file.items() if file == name or file.startswith(name + '.')]
            theirs = [moved for file, moved in model_files.items() if fnmatch.fnmatchcase(file, pattern)]
            self.assertEqual(sorted(ours), sorted(theirs), pattern)
        self.assertEqual(sum(map(sum, by_file.values())), sum(map(sum, model_files.values())))
        for note in expect_notes:
            self.assertRegex(text, f'(?m)^# differs: .*{note}')
        return text

    # --- IOR

    def ior_lines(self, text):
        """The number of processes and the options of each line, under the comments before it."""
        lines, comments = [], []
        for line in text.splitlines():
            if line.startswith('#') or not line:
                comments.append(line)
                continue
            words = line.split()
            self.assertEqual((words[0], words[1], words[3]), ('mpiexec', '-n', 'ior'))
            options, at = {}, 4
            while at < len(words):
                self.assertIn(words[at], IOR_FLAGS | IOR_VALUES)
                takes = words[at] in IOR_VALUES
                self.assertNotIn(words[at], options)
                options[words[at]] = words[at + 1] if takes else True
                at += 1 + takes
            lines.append((int(words[2]), options, comments))
            comments = []
        return lines

    def check_ior(self, log):
        text = self.expect(0, 'model', '--format', 'ior', log).stdout.decode()
        lines = self.ior_lines(text)
        moved, expected = [0, 0], [0, 0]
        there = set()
        for processes, options, comments in lines:
            block, transfer, segments = (int(options[key]) for key in ('-b', '-t', '-s'))
            self.assertEqual(block % transfer, 0)
            self.assertIn(options['-a'], ('POSIX', 'MPIIO'))
            self.assertNotEqual('-w' in options, '-r' in options)
            self.assertTrue('-c' not in options or options['-a'] == 'MPIIO')
            name = options['-o'], '-F' in options
            self.assertTrue('-w' in options or name in there, 'reads what no line has written')
            self.assertEqual('-E' in options, '-w' in options and name in there, 'IOR removes what it does not know')
            there.add(name)
            if not any(comment.startswith('# prepare') for comment in comments):
                moved['-w' in options] += processes * block * segments * int(options['-i'])
            elif '-w' in options:
                self.assertEqual(options['-i'], '1')
        for reads, writes in self.model_bytes(log)[0].values():
            expected = [expected[0] + reads, expected[1] + writes]
        self.assertEqual(moved, expected)
        return lines

    # --- programs

    def test_ior(self):
        log = self.record_example('ior', '--block', '64k', '--transfer', '16k', '--segments', '3')
        text = self.check_fio(log, ['MPI-IO'])
        self.assertIn('zonemode=strided', text)
        for processes, options, comments in self.check_ior(log):
            self.assertEqual((processes, options['-b'], options['-t'], options['-s']), (4, '65536', '16384', '3'))
            self.assertFalse([comment for comment in comments if 'differs' in comment])

    def test_ior_random(self):
        log = self.record_example('ior', '--block', '32768', '--transfer', '4096', '--random')
        self.check_fio(log, ['random'])
        self.assertTrue(all('-z' in options for _, options, _ in self.check_ior(log)))

    def test_ior_collective(self):
        log = self.record_example('ior', '--block', '32768', '--transfer', '4096', '--collective')
        self.assertTrue(all('-c' in options for _, options, _ in self.check_ior(log)))

    def test_ior_that_reads_what_others_wrote(self):
        log = self.record_example('ior', '--block', '64k', '--transfer', '16k', '--segments', '1', '--shift', '1')
        self.check_fio(log)
        shifted = [('-C' in options, '-r' in options) for _, options, _ in self.check_ior(log)]
        self.assertEqual(shifted, [(False, False), (True, True)])

    def test_madbench(self):
        log = self.record_example('madbench', '--bins', '8', '--size', '4096', '--api', 'posix')
        self.check_fio(log, ['alternate'])
        self.check_ior(log)

    def test_madbench_unique(self):
        log = self.record_example('madbench', '--bins', '4', '--size', '4096', '--api', 'posix', '--unique', ranks=2)
        self.check_fio(log)
        self.assertTrue(all('-F' in options for _, options, _ in self.check_ior(log)))

    def test_small(self):
        log = self.record_example('small', '--files', '12', '--first', '740', '--second', '420', '--third', '240')
        self.check_fio(log, ['alternate'])
        self.check_ior(log)

    def test_file_views(self):
        log = self.record_example('btio', '--grid', '10', '--steps', '6', '--interval', '2')
        self.check_fio(log, ['file view', 'collective'])
        self.check_ior(log)

    def test_checkpoint(self):
        log = self.record_in(os.path.join(EXAMPLES, 'checkpoint'))
        self.check_fio(log)
        self.check_ior(log)

    def test_fio(self):
        log = self.record_in('fio', '--name=x', '--rw=randrw', '--bs=4k', '--size=256k', '--numjobs=2', '--ioengine=psync')
        self.check_fio(log, ['random'])
        self.check_ior(log)

    def test_tar(self):
        os.makedirs(self.path('run/tree'))
        for number in range(8):
            with open(self.path(f'run/tree/file{number}'), 'wb') as out:
                out.write(b'x' * (number * 1777))
        log = self.record_in('tar', '-cf', 'tree.tar', 'tree')
        self.check_fio(log)
        self.check_ior(log)

    def test_what_follows_no_rule(self):
        os.makedirs(self.path('run'))
        with open(self.path('run/input'), 'wb') as out:
            out.write(b'x' * 300000)
        log = self.record_in(sys.executable, '-I', '-S', '-c', RANDOM_SIZES)
        self.check_fio(log, ['sizes differ', 'random'])
        self.check_ior(log)

    def test_syncs(self):
        log = self.record_in('dd', 'if=/dev/zero', 'of=x', 'bs=4k', 'count=8', 'conv=fsync', 'status=none')
        self.assertIn('\nend_fsync=1\n', self.check_fio(log))
        self.assertTrue(all('-e' in options for _, options, _ in self.check_ior(log)))

    def test_of_a_model(self):
        log = self.record_in('dd', 'if=/dev/zero', 'of=x', 'bs=4k', 'count=8', 'status=none')
        model = self.path('dd.model')
        self.expect(0, 'model', log, '-o', model)
        for form in ('fio', 'ior'):
            self.assertEqual(self.expect(0, 'model', '--format', form, log).stdout,
                             self.expect(0, 'model', '--format', form, model).stdout)
        self.assertEqual(self.expect(0, 'model', '--format', 'model', model).stdout, self.expect(0, 'model', model).stdout)

    def test_usage(self):
        self.expect_error(2, 'model', '--format', 'vdbench', 'x')
        self.expect_error(2, 'model', '--format', 'fio', '--expand', 'x')


if __name__ == '__main__':
    harness.main()
