"""Figures of the report, computed again from `dump --json` and compared with every verb that shows them."""
import os
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


harness.main()
