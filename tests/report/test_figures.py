"""Figures of the report, computed again from `dump --json` and compared with every verb that shows them."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

# Helpers that do little beside one program that does much, started through programs that execute others.
HELPERS = ('import os, subprocess, sys\n'
           'for i in range(8): subprocess.run(["true"])\n'
           'child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import os; open(os.devnull); os.listdir()"])\n'
           'with open("big", "wb", 0) as f:\n'
           '    for i in range(100): f.write(bytes(65536)); os.fsync(f.fileno())\n'
           'child.wait()\n')


def busy(events):
    """The time with at least one of these calls under way."""
    total, until = 0, 0
    for event in sorted(events, key=lambda e: e['start']):
        end = event['start'] + event['duration']
        total += max(0, end - max(until, event['start']))
        until = max(until, end)
    return total


class Processes(harness.CommandLineTest):
    def test_the_headline_is_the_time_with_any_process_in_io(self):
        with open(self.path('helpers.py'), 'w') as file:
            file.write(HELPERS)
        log = self.record('sh', '-c', 'env X=1 "$0" -I -S helpers.py; true', sys.executable, cwd=self.folder)
        page, info = self.json('report', '--format', 'json', log), self.json('info', '--json', log)
        summary, rows = page['summary'], info['busiest']
        own = [e for e in self.json('dump', '--json', log) if e['parent'] is None]
        self.assertAlmostEqual(summary['io_seconds'], busy(own), places=7)
        self.assertAlmostEqual(summary['io_share'], busy(own) / summary['run_seconds'], places=7)
        self.assertGreater(summary['io_seconds'], summary['io_seconds_max'])

        self.assertEqual(len(rows), info['job']['nprocs'])
        self.assertEqual(len({row['pid'] for row in rows}), len(rows))
        for row in rows:
            mine = [e for e in own if e['pid'] == row['pid']]
            self.assertAlmostEqual(row['io_time'], busy(mine), places=7)
            self.assertEqual(row['calls'], len(mine))
            for key, kind in (('bytes_read', 'read'), ('bytes_written', 'write')):
                self.assertEqual(row[key], sum(e['result'] for e in mine if e['class'] == kind and e['result'] > 0))
            images = [p for p in info['processes'] if p['pid'] == row['pid']]
            self.assertEqual(row['images'], len(images))
            for key in ('run_time', 'io_time', 'bytes_read', 'bytes_written', 'calls'):
                self.assertAlmostEqual(row[key], sum(p[key] for p in images), places=7)
        self.assertEqual([row['io_time'] for row in rows], sorted((row['io_time'] for row in rows), reverse=True))
        self.assertEqual(sum(row['bytes_written'] for row in rows), summary['bytes_written'])
        self.assertGreater(rows[0]['images'], 1)  # env became Python
        self.assertRegex(rows[0]['program'], '^python')
        self.assertIn(f'{rows[0]["program"]} (process {rows[0]["pid"]})', summary['sentences'][1])
        self.assertEqual(summary['io_seconds_max'], rows[0]['io_time'])
        self.assertEqual(page['job']['busiest'], rows)
        for text in (self.expect(0, 'info', log).stdout.decode(), self.expect(0, 'report', log).stdout.decode()):
            self.assertRegex(text, rf'(?m)^ +PID .*I/O .*\n +{rows[0]["pid"]} |^ +PROCESS .*\n +{rows[0]["pid"]} ')

    def test_bytes_after_the_end_of_a_trace_count(self):
        log = self.record_python('import os\nfd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
                                 'for i in range(50): os.write(fd, bytes(1000))', options=('--no-trace',))
        row = self.json('info', '--json', log)['busiest'][0]
        self.assertGreaterEqual(row['bytes_written'], 50000)
        self.assertEqual(self.json('report', '--format', 'json', log)['summary']['bytes_written'], row['bytes_written'])


COPIES = """
import os
out = lambda name: os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
a = out("from")
os.write(a, bytes(1 << 24))
os.lseek(a, 0, 0)
b = out("range")
while os.copy_file_range(a, b, (1 << 63) - 1): pass
os.lseek(a, 0, 0)
c = out("send")
while os.sendfile(c, a, None, 0x7ffff000): pass
reader, writer = os.pipe()
d = out("splice")
for i in range(16):
    os.splice(reader, d, os.splice(a, writer, 65536, offset_src=i * 65536))
small = out("small")
os.write(small, bytes(281))
os.lseek(small, 0, 0)
while os.read(small, 8192): pass
"""


class Copies(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.record_python(COPIES)
        self.events = self.json('dump', '--json', self.log)
        self.page = self.json('report', '--format', 'json', self.log)

    def test_time_counts_once(self):
        own = [e for e in self.events if e['parent'] is None and e['file'] and e['file'].startswith(self.folder)
               or e['op'] in ('copy_file_range', 'sendfile')]
        spent = sum(e['duration'] for e in own if e['class'] in ('read', 'write') or e['op'] in ('copy_file_range', 'sendfile'))
        phases = self.json('phases', '--json', self.log)['phases']
        mine = [p for p in phases if p['file'].startswith(self.folder)]
        self.assertAlmostEqual(sum(p['duration'] for p in mine), spent, places=7)
        total = busy([e for e in self.events if e['parent'] is None])
        layers = self.page['layers']
        self.assertAlmostEqual(sum(c['exclusive'] for c in layers['calls']), total, places=7)
        self.assertAlmostEqual(layers['ranks'][0]['layers'][0]['exclusive'] + sum(
            l['exclusive'] for l in layers['ranks'][0]['layers'][1:]), total, places=7)
        self.assertEqual(sum(l['calls'] for l in layers['ranks'][0]['layers']), self.page['summary']['calls'])

    def test_a_file_has_one_time(self):
        text = self.expect(0, 'report', self.log).stdout.decode()
        counters = {}
        for record in self.json('stats', '--json', self.log)['records']:
            times = [record['counters'][f'{record["layer"].upper()}_F_{kind}_TIME'] for kind in ('READ', 'WRITE', 'META')]
            counters[record['file']] = [a + b for a, b in zip(counters.get(record['file'], [0, 0, 0]), times)]
        for file in self.page['files']:
            seconds, (read, write, meta) = file['seconds'], counters.get(file['name'], [0, 0, 0])
            self.assertEqual((seconds['read'], seconds['write']), (read, write))
            self.assertGreaterEqual(seconds['meta'], meta)  # Darshan does not count all calls
        self.assertEqual([sum(f['seconds'].values()) for f in self.page['files']],
                         sorted((sum(f['seconds'].values()) for f in self.page['files']), reverse=True))
        copied = sum(e['duration'] for e in self.events if e['file'] == self.path('range'))
        self.assertAlmostEqual(sum(counters[self.path('range')]), copied, places=7)
        shown = re.search(rf'(?m)^ +0 B +16.0 MiB +([\d.]+) ms +1  {self.path("range")}$', text)[1]
        self.assertAlmostEqual(float(shown), copied * 1e3, delta=copied * 5)  # three digits

    def test_no_size_is_larger_than_the_file(self):
        ends = [point[3] + point[4] for point in self.page['space']['points']]
        self.assertEqual(max(ends), 1 << 24)
        ops = [op for phase in self.page['phases']['phases'] for op in phase['ops']]
        self.assertEqual(max(op['high'] for op in ops), 1 << 24)
        self.assertEqual(max(op['request'] for op in ops if op['request'] is not None), 1 << 24)
        read = next(op for op in ops if op['size'] == 8192)
        self.assertEqual((read['request'], read['rep'], read['bytes'], read['high']), (8192, 2, 281, 281))
        self.assertRegex(self.expect(0, 'phases', self.log).stdout.decode(), r'(?m) read .* 2 +8.0 KiB +281 B$')


# Four dumps of eight writes; the pauses separate phases.
DUMPS = ('import os, time\nfd = os.open("dumps", os.O_WRONLY | os.O_CREAT)\n'
         'for dump in range(4):\n    time.sleep(0.3)\n    for i in range(8): os.write(fd, bytes(1 << 20))')


class RepeatedPhases(harness.CommandLineTest):
    def test_weight_and_time_are_of_all(self):
        log = self.record_python(DUMPS)
        phases = [p for p in self.json('phases', '--json', log)['phases'] if p['file'] == self.path('dumps')]
        self.assertEqual([(p['weight'], p['ops'][0]['rep']) for p in phases], [(8 << 20, 8)] * 4)
        row = rf'(?m)^{phases[0]["id"]}-{phases[-1]["id"]} +1 write .* 8 +1.0 MiB +32.0 MiB +([\d.]+) (\w+) '
        shown = re.search(row, self.expect(0, 'phases', log).stdout.decode())
        spent = sum(p['duration'] for p in phases)
        self.assertAlmostEqual(float(shown[1]) * {'s': 1, 'ms': 1e-3}[shown[2]], spent, delta=spent / 200)


# Eight writes at once, three times; each lasts until its end is seen.
ASYNCHRONOUS = """
#include <aio.h>
#include <fcntl.h>
enum { AT_ONCE = 8, BYTES = 1 << 20 };
static char data[BYTES];
int main(void) {
    int fd = open("data", O_CREAT | O_WRONLY, 0600);
    for (int round = 0; round < 3; round++) {
        static struct aiocb block[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            block[i] = (struct aiocb){.aio_fildes = fd, .aio_buf = data, .aio_nbytes = BYTES,
                                      .aio_offset = (long)(round * AT_ONCE + i) * BYTES};
            if (aio_write(&block[i])) return 1;
        }
        for (int i = 0; i < AT_ONCE; i++) {
            const struct aiocb *list[] = {&block[i]};
            aio_suspend(list, 1, 0);
            if (aio_return(&block[i]) != BYTES) return 1;
        }
    }
}
"""


class Asynchronous(harness.CommandLineTest):
    def test_times(self):
        """A phase adds up the durations of its calls; shares of the run count what is in progress together once."""
        if not shutil.which('gcc'):
            self.skipTest('no gcc')
        with open(self.path('x.c'), 'w', encoding='ascii') as out:
            out.write(ASYNCHRONOUS)
        harness.run('gcc', '-o', self.path('x'), self.path('x.c'), '-lrt')
        log = self.record(self.path('x'), cwd=self.folder)
        writes = [e for e in self.json('dump', '--json', log) if e['class'] == 'write' and e['parent'] is None]
        phases = [p for p in self.json('phases', '--json', log)['phases'] if p['bandwidth'] is not None]
        self.assertEqual(sum(p['weight'] for p in phases), 24 << 20)
        self.assertAlmostEqual(sum(p['duration'] for p in phases), sum(e['duration'] for e in writes), places=7)
        self.assertLess(busy(writes), sum(e['duration'] for e in writes) / 2)
        summary = self.json('report', '--json', log)['summary']
        self.assertAlmostEqual(summary['transfer_seconds'], busy(writes), places=7)
        opens = busy([e for e in self.json('dump', '--json', log) if e['parent'] is None and e['class'] != 'write'])
        self.assertAlmostEqual(summary['io_seconds'], opens + sum(e['call_time'] for e in writes), places=7)


class StandardStreams(harness.CommandLineTest):
    PROGRAM = ('import os\nfd = os.open("data", os.O_WRONLY | os.O_CREAT)\nos.write(fd, bytes(5000))\n'
               'os.fstat(1); os.write(1, bytes(3000))')

    def test_a_model_does_not_depend_on_where_they_lead(self):
        with open(self.path('out'), 'wb') as out:
            to_file = self.record_python(self.PROGRAM, name='file.ioseer', stdout=out)
        to_pipe = self.record_python(self.PROGRAM, name='pipe.ioseer')
        self.expect(0, 'diff', '--fail-if', 'structure', to_file, to_pipe)
        self.expect(1, 'diff', '--standard-streams', '--fail-if', 'structure', to_file, to_pipe)
        phases = self.json('phases', '--json', to_file)
        self.assertNotIn(self.path('out'), [p['file'] for p in phases['phases']])
        self.assertEqual((phases['unphased']['inherited'], phases['unphased_bytes']), (3000, 3000))
        self.assertIn('2.9 KiB in no phase: in files that were open before the job began',
                      self.expect(0, 'phases', to_file).stdout.decode())
        asked = self.json('phases', '--json', '--standard-streams', to_file)
        self.assertIn(self.path('out'), [p['file'] for p in asked['phases']])
        self.assertEqual(asked['unphased_bytes'], 0)
        self.expect(0, 'model', to_file, '-o', self.path('model'))
        self.assertEqual(self.json('phases', '--json', self.path('model'))['unphased'], phases['unphased'])

    def test_a_file_that_the_job_opened_stays(self):
        log = self.record('sh', '-c', 'head -c 3000 /dev/zero >out', cwd=self.folder)
        phases = self.json('phases', '--json', log)
        self.assertIn(self.path('out'), [p['file'] for p in phases['phases']])
        self.assertEqual(phases['unphased_bytes'], 0)


class Counters(harness.CommandLineTest):
    def test_commonest_sizes_and_strides(self):
        log = self.record_python('import os\nfd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
                                 'for size in (10, 20, 10, 20, 0, 0, 0, 30, 5): os.write(fd, bytes(size))\n'
                                 'for i in range(6): os.pwrite(fd, b"x", 1000 + 10 * i)')
        lines = [line.split('\t') for line in self.expect(0, 'stats', '--darshan', log).stdout.decode().split('\n')]
        mine = {line[3]: int(line[4]) for line in lines if len(line) == 8 and line[5] == self.path('data') and '.' not in line[4]}
        self.assertEqual({line[1] for line in lines if len(line) == 8}, {'0', '<rank>'})
        top = [(mine[f'POSIX_ACCESS{i}_ACCESS'], mine[f'POSIX_ACCESS{i}_COUNT']) for i in range(1, 5)]
        self.assertEqual(top, [(1, 6), (20, 2), (10, 2), (30, 1)])
        strides = [(mine[f'POSIX_STRIDE{i}_STRIDE'], mine[f'POSIX_STRIDE{i}_COUNT']) for i in range(1, 5)]
        self.assertEqual(strides, [(9, 5), (1000 - 95, 1), (0, 0), (0, 0)])
        file = next(f for f in self.json('report', '--format', 'json', log)['files'] if f['name'] == self.path('data'))
        self.assertEqual([(row['value'], row['count']) for row in file['common_sizes']], top)
        self.assertEqual([(row['value'], row['count']) for row in file['strides']], strides[:2])


class Damage(harness.CommandLineTest):
    def test_lost_events_are_not_among_those_present(self):
        log = self.record_python('import os\nfd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
                                 'for i in range(9999): os.pwrite(fd, bytes(i % 97), (i * i) % 65536)')
        whole = self.json('info', '--json', log)['events']
        with open(log, 'r+b') as file:
            data = file.read()
            file.seek(len(data) // 3)
            file.write(bytes(b ^ 255 for b in data[len(data) // 3:len(data) // 3 + 64]))
        info = self.json('info', '--json', log)
        readable = len(self.json('dump', '--json', log))
        self.assertGreater(info['lost_events'], 0)
        self.assertEqual(info['events'], readable)
        self.assertEqual(info['events'] + info['lost_events'], whole)


harness.main()
