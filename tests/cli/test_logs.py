"""The reading verbs on recordings of small programs whose I/O is known."""
import json
import os
import shutil
import subprocess
import sys

import harness

# Writes 10 × 100 bytes in pieces, reads 300 of them back, renames, and fails to open a file.
PROGRAM = r'''
import os
fd = os.open("data", os.O_RDWR | os.O_CREAT, 0o640)
for i in range(10):
    os.pwrite(fd, b"x" * 100, 100 * i)
for i in range(3):
    os.pread(fd, 100, 200 * i)
os.fsync(fd)
os.close(fd)
os.rename("data", "data2")
try:
    os.open("missing", os.O_RDONLY)
except FileNotFoundError:
    pass
'''
EVENT_KEYS = {'id', 'parent', 'rank', 'pid', 'tid', 'host', 'layer', 'op', 'class', 'file', 'offset', 'size', 'result',
              'errno', 'tick', 'start', 'duration', 'collective', 'line'}
ODD_NAMES = [b'with space', b'with "quotes"', b'back\\slash', b'new\nline', b'tab\t', b'\x01\x1b[31m', 'größe €'.encode(),
             b'not utf-8 \xff\xfe', b'cut off \xe2\x82', b'\xed\xa0\x80']


class Dump(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.record_python(PROGRAM)

    def dump(self, *options):
        return self.json('dump', '--json', *options, self.log)

    def of_file(self, name, *options):
        return [event for event in self.dump(*options) if event['file'] == self.path(name)]

    def test_keys_and_values(self):
        events = self.dump()
        for event in events:
            self.assertLessEqual(EVENT_KEYS, set(event))
        self.assertEqual(len({event['id'] for event in events}), len(events))
        starts = [event['start'] for event in events]
        self.assertEqual(starts, sorted(starts))
        ours = self.of_file('data')
        self.assertEqual([(e['op'], e['offset'], e['size'], e['result'], e['errno']) for e in ours if e['op'] == 'pwrite'],
                         [('pwrite', 100 * i, 100, 100, 0) for i in range(10)])
        self.assertEqual([e['offset'] for e in ours if e['class'] == 'read'], [0, 200, 400])
        self.assertEqual([e['op'] for e in ours if e['class'] in ('sync', 'close')], ['fsync', 'close'])
        for event in ours:
            self.assertEqual((event['rank'], event['layer'], event['tick'], event['collective'], event['line']),
                             (None, 'posix', 0, False, None))

    def test_failed_call(self):
        failed = self.of_file('missing')[-1]
        self.assertEqual((failed['class'], failed['result'], failed['errno']), ('open', -1, 2))

    def test_rename_has_both_names(self):
        renames = [event for event in self.of_file('data') if event['op'] == 'rename']
        self.assertEqual([event['file2'] for event in renames], [self.path('data2')])

    def test_filters(self):
        self.assertEqual({e['class'] for e in self.dump('--class', 'write', '--file', f'{self.folder}/*')}, {'write'})
        self.assertEqual({e['file'] for e in self.dump('--class', 'read', '--file', '*/data')}, {self.path('data')})
        self.assertEqual(self.dump('--file', '*/nothing-of-that-name'), [])
        self.assertEqual({e['layer'] for e in self.dump('--layer', 'posix')}, {'posix'})
        self.assertEqual(self.dump('--rank', '0'), [])
        everything = self.dump()
        pid = everything[0]['pid']
        self.assertEqual(self.dump('--pid', str(pid)), [e for e in everything if e['pid'] == pid])
        self.assertEqual(self.dump('--pid', '4000000000'), [])

    def test_calls_threads_and_failures(self):
        everything = self.dump()
        self.assertEqual(self.dump('--op', 'p*'), [e for e in everything if e['op'].startswith('p')])
        self.assertEqual(len(self.of_file('data', '--op', 'pwrite')), 10)
        failed = [e for e in everything if e['errno']]
        self.assertEqual((self.dump('--failed'), bool(failed)), (failed, True))
        tid = everything[0]['tid']
        self.assertEqual(self.dump('--tid', str(tid)), [e for e in everything if e['tid'] == tid])
        self.assertEqual(self.dump('--tid', '4000000000'), [])

    def test_slowest(self):
        everything = sorted(self.dump(), key=lambda e: (-e['duration'], e['id']))
        for count in (1, 5, len(everything), len(everything) + 1000):
            self.assertEqual(self.dump('--slowest', str(count)), everything[:count])
        writes = [e for e in everything if e['class'] == 'write']
        self.assertEqual(self.dump('--slowest', '3', '--class', 'write'), writes[:3])
        self.expect_error(2, 'dump', '--slowest', '3', '--comm', self.log)

    def test_says_what_nothing_matches(self):
        for words, why in ((('--rank', '3'), 'did not use MPI'), (('--pid', '4000000000'), 'no such process'),
                           (('--file', '*/none'), 'no file'), (('--op', 'frob*'), 'no call'),
                           (('--from', '1h'), 'ended before')):
            line = self.expect(0, 'dump', *words, self.log).stderr.decode()
            self.assertRegex(line, f'^ioseer dump: {words[0]}: .*{why}.*\n$')
            self.assertEqual(self.expect(0, 'dump', '-q', *words, self.log).stderr, b'')
        self.assertIn('later than --to', self.expect_error(2, 'dump', '--from', '2s', '--to', '1s', self.log))

    def test_time_range(self):
        writes = self.of_file('data', '--class', 'write')
        first, last = writes[3]['start'], writes[6]['start']
        found = self.of_file('data', '--class', 'write', '--from', f'{first:.9f}', '--to', f'{last:.9f}')
        self.assertEqual([e['id'] for e in found], [e['id'] for e in writes[3:7]])
        self.assertEqual(self.dump('--from', '1000s'), [])

    def test_communication_is_empty(self):
        self.assertEqual(self.dump('--comm'), [])
        self.assertEqual(len(self.expect(0, 'dump', '--comm', self.log).stdout.split(b'\n')), 2)

    def test_text_has_one_line_an_event(self):
        lines = self.expect(0, 'dump', self.log).stdout.decode().split('\n')
        self.assertEqual(len(lines), len(self.dump()) + 2)
        self.assertIn('START', lines[0])
        self.assertTrue(any('ENOENT' in line and '/missing' in line for line in lines))
        self.assertTrue(any(line.endswith('/data  O_RDWR|O_CREAT|O_CLOEXEC') for line in lines))

    def test_output_file(self):
        self.expect(0, 'dump', '--json', '-o', self.path('out'), self.log)
        with open(self.path('out'), encoding='utf-8') as made:
            self.assertEqual(json.load(made), self.dump())


class OddNames(harness.CommandLineTest):
    def test_names_survive(self):
        program = 'import os, sys\nfor name in eval(sys.argv[1]):\n    os.write(os.open(name, 65, 0o600), b"x")\n'
        log = self.record_python(program, repr(ODD_NAMES))
        expected = {os.path.join(self.folder, os.fsdecode(name)) for name in ODD_NAMES}
        named = {e['file'] for e in self.json('dump', '--json', '--class', 'write', log)}
        self.assertLessEqual(expected, named)
        self.assertLessEqual(expected, {f['name'] for f in self.json('info', '--json', log)['files']})
        self.assertLessEqual(expected, {r['file'] for r in self.json('stats', '--json', log)['records']})
        for words in (('dump',), ('info', '--all'), ('stats',), ('stats', '--darshan')):
            text = self.expect(0, *words, log).stdout
            self.assertNotIn(b'\x1b', text)
            self.assertNotIn(b'new\nline', text)


class Info(harness.CommandLineTest):
    def test_json(self):
        log = self.record_python(PROGRAM)
        info = self.json('info', '--json', log)
        self.assertLessEqual({'job', 'processes', 'files', 'layers', 'events', 'lost_events', 'coverage'}, set(info))
        job = info['job']
        self.assertEqual(job['command'][0], sys.executable)
        self.assertLess(job['start'], job['end'])
        self.assertEqual((job['nprocs'], job['mpi'], job['host_count'], job['complete']), (1, None, 1, True))
        self.assertEqual([p['exit'] for p in info['processes']], ['clean'])
        data = [f for f in info['files'] if f['name'] == self.path('data')][0]
        self.assertEqual((data['bytes_read'], data['bytes_written'], data['opens']), (300, 1000, 1))
        self.assertEqual(info['events'], len(self.json('dump', '--json', log)))
        self.assertEqual((info['lost_events'], info['damage']), (0, None))
        self.assertIn('posix', info['layers'])

    def test_coverage_explains_everything(self):
        info = self.json('info', '--json', self.record_python(PROGRAM))
        coverage = info['coverage']
        for direction in ('read', 'write'):
            self.assertIsNotNone(coverage[direction])
            unseen = sum(p['bytes'] or 0 for p in coverage['unseen'] if p['direction'] == direction)
            left_out = sum(p['bytes'] for p in coverage['left_out'] if p['direction'] == direction)
            total = coverage[f'total_{direction}']
            self.assertEqual(coverage[f'captured_{direction}'] + left_out + unseen, total, coverage)
            self.assertLessEqual(coverage[direction], 1)

    def test_ends_of_processes(self):
        program = ('import os, signal, sys\n'
                   'open("touched", "w").close()\n'
                   'if sys.argv[1] == "kill": os.kill(os.getpid(), signal.SIGKILL)\n'
                   'if sys.argv[1] == "_exit": os._exit(3)\n'
                   'if sys.argv[1] == "exec": os.execv("/bin/true", ["true"])\n'
                   'sys.exit(5)\n')
        for how, status, exits in (('kill', 137, {'signal 9'}), ('_exit', 3, {'_exit'}), ('clean', 5, {'clean'})):
            with self.subTest(how=how):
                log = self.record_python(program, how, name=how, status=status)
                info = self.json('info', '--json', log)
                self.assertEqual({p['exit'] for p in info['processes']}, exits)
                self.assertEqual(info['job']['exit_status'], status)
        with self.subTest(how='exec'):
            log = self.record_python(program, 'exec', name='exec')
            self.assertIn('exec', {p['exit'] for p in self.json('info', '--json', log)['processes']})

    def test_text(self):
        text = self.expect(0, 'info', self.record_python(PROGRAM)).stdout.decode()
        for word in ('Command', 'Ran', 'Processes', 'Files', 'Layers', 'Events', 'none lost', 'Coverage', 'Log'):
            self.assertIn(word, text)
        self.assertIn('no damage', text)


class Stats(harness.CommandLineTest):
    def test_json(self):
        log = self.record_python(PROGRAM)
        records = self.json('stats', '--json', log)['records']
        data = [r for r in records if r['file'] == self.path('data') and r['layer'] == 'posix'][0]
        counters = data['counters']
        for name, value in (('OPENS', 1), ('READS', 3), ('WRITES', 10), ('BYTES_READ', 300), ('BYTES_WRITTEN', 1000),
                            ('MAX_BYTE_WRITTEN', 999), ('CONSEC_WRITES', 9), ('SIZE_WRITE_0_100', 10), ('FSYNCS', 1),
                            ('ACCESS1_ACCESS', 100), ('ACCESS1_COUNT', 13), ('RW_SWITCHES', 1), ('RENAME_SOURCES', 1)):
            self.assertEqual(counters[f'POSIX_{name}'], value, name)
        self.assertGreater(counters['POSIX_F_WRITE_TIME'], 0)
        self.assertIsNone(data['rank'])

    def test_processes_are_summed(self):
        program = ('import os\n'
                   'fd = os.open("shared", os.O_WRONLY | os.O_CREAT)\n'
                   'for i in range(3):\n'
                   '    if os.fork() == 0:\n'
                   '        os.pwrite(fd, b"y" * 10, 10 * i)\n'
                   '        os._exit(0)\n'
                   'for i in range(3): os.wait()\n')
        log = self.record_python(program)
        shared = [r for r in self.json('stats', '--json', log)['records'] if r['file'] == self.path('shared')]
        self.assertEqual([r['counters']['POSIX_BYTES_WRITTEN'] for r in shared], [30])
        apart = [r for r in self.json('stats', '--json', '--per-rank', log)['records']
                 if r['file'] == self.path('shared')]
        self.assertEqual(sorted(r['counters']['POSIX_BYTES_WRITTEN'] for r in apart), [0, 10, 10, 10])

    def test_darshan_columns(self):
        log = self.record_python(PROGRAM)
        lines = self.expect(0, 'stats', '--darshan', log).stdout.decode().split('\n')
        header = {line[2:].split(':')[0] for line in lines if line.startswith('# ')}
        self.assertLessEqual({'exe', 'uid', 'start_time', 'end_time', 'nprocs', 'run time'}, header)
        rows = [line.split('\t') for line in lines if line and not line.startswith('#')]
        self.assertEqual({len(row) for row in rows}, {8})
        found = [row for row in rows if row[5] == self.path('data') and row[3] == 'POSIX_BYTES_WRITTEN']
        self.assertEqual([(row[0], row[1], row[4]) for row in found], [('POSIX', '0', '1000')])
        self.assertRegex(found[0][2], r'^\d+$')
        times = [row[4] for row in rows if row[3] == 'POSIX_F_WRITE_TIME']
        self.assertTrue(times and all(len(value.split('.')[1]) == 6 for value in times), times)

    def test_darshan_names_the_file_system(self):
        with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
            types = {line.split()[4]: line.split(' - ')[1].split()[0] for line in mounts}
        point = self.folder
        while not os.path.ismount(point):
            point = os.path.dirname(point)
        lines = self.expect(0, 'stats', '--darshan', self.record_python(PROGRAM)).stdout.decode().split('\n')
        rows = {tuple(line.split('\t')[6:]) for line in lines if f'\t{self.path("data")}\t' in line}
        self.assertEqual(rows, {(point, types[point])})
        self.assertIn(f'# mount entry:\t{point}\t{types[point]}', lines)

    def test_text(self):
        text = self.expect(0, 'stats', self.record_python(PROGRAM)).stdout.decode()
        self.assertRegex(text, rf'(?m)^ +1 +3 +10 .* {self.path("data")}$')

    def many_files(self):
        return self.record_python('import os\nfor i in range(12):\n    os.makedirs(f"d{i % 3}", exist_ok=True)\n'
                                  '    os.write(os.open(f"d{i % 3}/part.{i}", 65), bytes(100 * i))\n')

    def rows(self, log, *options):
        rows = self.json('stats', '--json', *options, log)['rows']
        return [row for row in rows if row['layer'] == 'posix' and row['writes']]

    def test_sorted(self):
        log = self.many_files()
        rows = self.rows(log, '--sort', 'written')
        self.assertEqual([row['bytes_written'] for row in rows], [100 * i for i in range(11, -1, -1)])
        self.assertEqual([row['name'] for row in self.rows(log, '--sort', 'name')], sorted(row['name'] for row in rows))
        self.assertEqual(self.rows(log, '--top', '4', '--sort', 'written'), rows[:4])
        times = [row['read_time'] + row['write_time'] + row['meta_time'] for row in self.rows(log, '--sort', 'time')]
        self.assertEqual(times, sorted(times, reverse=True))
        for words in (('--sort', 'frob'), ('--by', 'frob'), ('--top', '0'), ('--calls', '--top', '3'), ('--darshan', '--by', 'pattern')):
            self.expect_error(2, 'stats', *words, log)

    def test_joined(self):
        log = self.many_files()
        folders = {os.path.basename(row['name']): row for row in self.rows(log, '--by', 'directory')}
        self.assertEqual({name: (row['files'], row['bytes_written']) for name, row in folders.items()},
                         {f'd{k}': (4, sum(100 * i for i in range(k, 12, 3))) for k in range(3)})
        joined = [row for row in self.rows(log, '--by', 'pattern') if row['name'].endswith('/d*/part.*')]
        self.assertEqual([(row['files'], row['writes'], row['bytes_written']) for row in joined], [(12, 12, 6600)])

    def test_totals(self):
        log = self.many_files()
        records = [r['counters'] for r in self.json('stats', '--json', log)['records'] if r['layer'] == 'posix']
        told = [t for t in self.json('stats', '--json', '--top', '1', log)['totals'] if t['layer'] == 'posix'][0]
        self.assertEqual((told['opens'], told['bytes_written']),
                         tuple(sum(c[f'POSIX_{name}'] for c in records) for name in ('OPENS', 'BYTES_WRITTEN')))
        text = self.expect(0, 'stats', '--top', '2', log).stdout.decode()
        self.assertRegex(text, r'(?m) total, [\d,]+ rows not shown$')

    def test_calls(self):
        log = self.record_python(PROGRAM)
        events = self.json('dump', '--json', log)
        calls = self.json('stats', '--json', '--calls', log)['calls']
        self.assertEqual(sorted((c['layer'], c['op']) for c in calls), sorted({(e['layer'], e['op']) for e in events}))
        for call in calls:
            own = [e for e in events if (e['layer'], e['op']) == (call['layer'], call['op'])]
            times = sorted(e['duration'] for e in own)
            self.assertEqual((call['count'], call['failed']), (len(own), sum(e['errno'] != 0 for e in own)))
            self.assertAlmostEqual(call['time'], sum(times), 9)
            told = call['duration']
            self.assertEqual((told['min'], told['max']), (times[0], times[-1]))
            for name, rank in (('median', -(-len(times) // 2)), ('p99', -(-99 * len(times) // 100))):
                self.assertLessEqual(abs(told[name] - times[rank - 1]), times[rank - 1] / 30 + 1e-9, (call, name))
            self.assertEqual(sum(b['count'] for b in told['histogram']), len(own))
        pwrite = [c for c in calls if c['op'] == 'pwrite'][0]
        self.assertEqual((pwrite['bytes'], pwrite['size']['median'], pwrite['size']['max']), (1000, 100, 100))
        self.assertRegex(self.expect(0, 'stats', '--calls', log).stdout.decode(), r'(?m)^posix +pwrite +10 +0 ')


class Damage(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.record_python(PROGRAM.replace('range(10)', 'range(20000)'))
        with open(self.log, 'rb') as good:
            self.good = good.read()

    def expect_sane(self, data, what):
        """Readers may print less, but nothing wrong: a clean failure, or valid JSON."""
        with open(self.path('bad'), 'wb') as bad:
            bad.write(data)
        for words in (('info', '--json'), ('dump', '--json', '-q'), ('stats', '--json', '-q')):
            done = harness.ioseer(*words, self.path('bad'))
            self.assertIn(done.returncode, (0, 1), f'{what}: {words}: {done.stderr!r}')
            if done.returncode == 0:
                json.loads(done.stdout)
            else:
                self.assertRegex(done.stderr.decode(), r'^ioseer \w+: .*: .*\n$')

    def test_truncated_anywhere(self):
        size = len(self.good)
        for cut in sorted({0, 1, 63, 64, 65, 160, size // 3, size // 2, size - 33, size - 32, size - 1}):
            self.expect_sane(self.good[:cut], f'cut at {cut} of {size}')

    def test_truncated_log_says_so(self):
        with open(self.path('bad'), 'wb') as bad:
            bad.write(self.good[:-40])
        info = self.json('info', '--json', self.path('bad'))
        self.assertTrue(info['damage']['truncated'])
        self.assertIn(b'Damage', self.expect(0, 'info', self.path('bad')).stdout)
        done = self.expect(0, 'dump', '--json', self.path('bad'))
        self.assertRegex(done.stderr.decode(), r'^ioseer dump: .*: .*\n$')
        self.assertEqual(self.expect(0, 'dump', '-q', self.path('bad')).stderr, b'')

    def test_flipped_bits(self):
        for i in range(60):
            at = i * 7919 * 31 % len(self.good)
            data = bytearray(self.good)
            data[at] ^= 1 << i % 8
            self.expect_sane(bytes(data), f'bit {i % 8} of byte {at}')


class Outputs(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.record_python(PROGRAM.replace('range(10)', 'range(20000)'))

    def test_full_device(self):
        for words in (('dump',), ('dump', '--json'), ('info',), ('info', '--json'), ('stats',), ('stats', '--json'),
                      ('stats', '--darshan'), ('phases',), ('model',), ('model', '--expand'), ('model', '--format', 'fio'),
                      ('report', '--format', 'text'), ('report', '--format', 'json')):
            with self.subTest(words=words), open('/dev/full', 'wb') as full:
                done = self.expect(1, *words, self.log, stdout=full)
                self.assertEqual(done.stderr.decode(),
                                 f'ioseer {words[0]}: standard output: No space left on device\n')

    def test_reader_that_goes_away(self):
        for words in (('dump',), ('dump', '--json'), ('stats', '--darshan'), ('model',), ('model', '--expand')):
            with self.subTest(words=words):
                with subprocess.Popen([harness.IOSEER, *words, self.log], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as process:
                    process.stdout.read(10)
                    process.stdout.close()
                    self.assertEqual(process.stderr.read(), b'')
                    self.assertIn(process.wait(harness.TIMEOUT_SECONDS), (0, 1))


class SpillDirectory(harness.CommandLineTest):
    def test_a_running_job_can_be_read(self):
        spill = self.path('spill')
        os.mkdir(spill)
        program = ('import os, sys, time\n'
                   'fd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
                   'time.sleep(0.1)\n'
                   'os.pwrite(fd, b"z" * 77, 5)\n'
                   'print("ready", flush=True)\n'
                   'sys.stdin.read()\n')
        with subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.path('log'), '--', sys.executable, '-I', '-S',
                               '-c', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder,
                              env={**os.environ, 'IOSEER_SPILL': spill}) as job:
            self.assertEqual(job.stdout.readline(), b'ready\n')
            folder = os.path.join(spill, os.listdir(spill)[0])
            copy = self.path('copy')
            events = [e for e in self.json('dump', '--json', folder) if e['op'] == 'pwrite']
            info = self.json('info', '--json', folder)
            report = self.json('report', '--format', 'json', folder)
            text = self.expect(0, 'info', folder).stdout.decode()
            shutil.copytree(folder, copy)
            job.stdin.close()
            self.assertEqual(job.wait(harness.TIMEOUT_SECONDS), 0)
        self.assertEqual([(e['offset'], e['result'], e['file']) for e in events], [(5, 77, self.path('data'))])
        self.assertTrue(info['spill_directory'])
        self.assertFalse(info['job']['complete'])
        self.assertIn('running', {p['exit'] for p in info['processes']})
        self.assertIn('spill files', text)
        run_seconds = info['job']['end'] - info['job']['start']
        self.assertGreater(run_seconds, events[0]['start'])
        self.assertAlmostEqual(run_seconds, report['summary']['run_seconds'], places=5)
        # The spill directory of a killed job gives the same output.
        self.assertEqual(len([e for e in self.json('dump', '--json', copy) if e['op'] == 'pwrite']), 1)


if __name__ == '__main__':
    harness.main()
