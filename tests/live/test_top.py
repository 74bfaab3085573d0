#!/usr/bin/env python3
"""`ioseer top` shows a job while it runs, with the numbers that its log has afterwards. Speaks TAP."""
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from live_case import LAUNCHERS, MPI_ENVIRONMENT, LiveCase, harness, read_json_lines, wait_until

STEADY = """
import os, time
out = os.open('steady.dat', os.O_CREAT | os.O_WRONLY)
while not os.path.exists('go'):
    os.pwrite(out, b'x' * 4096, 0)
    time.sleep(0.001)
"""

THREADS = """
import os, threading
def work(number):
    out = os.open(f'thread{number}', os.O_CREAT | os.O_WRONLY)
    for _ in range(500): os.write(out, b'y' * (number + 1))
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

FORKS = """
import os
for number in range(20):
    if os.fork() == 0:
        out = os.open('child%d' % (number % 4), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        for _ in range(100): os.write(out, b'z' * 10)
        os.execv('/bin/cat', ['cat', 'child%d' % (number % 4)]) if number % 2 else os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
"""


class Numbers(LiveCase):
    """What top shows once a part of a job is over is what the log has of it."""

    def compare(self, *command, options=(), **more):
        job = self.start(*command, options=options, stdout=subprocess.DEVNULL, **more)
        self.wait_done()
        now = self.snapshot()
        after = self.end(job)
        self.assertTrue(now['job']['running'])
        self.assertTrue(self.moved(after))
        self.assertEqual(self.moved(now), self.moved(after))
        self.assertEqual(now['damaged_bytes'], 0)
        return now, after

    def test_dd(self):
        now, after = self.compare('dd', 'if=/dev/zero', 'of=data', 'bs=64k', 'count=200', 'status=none')
        dd = [p for p in now['processes'] if p['program'] == 'dd'][0]
        truth = [p for p in after['processes'] if p['program'] == 'dd'][0]
        self.assertFalse(dd['running'])
        self.assertEqual([dd['pid'], dd['bytes_written'], dd['calls']],
                         [truth['pid'], truth['bytes_written'], truth['calls']])
        self.assertAlmostEqual(dd['io_time'], truth['io_time'], delta=0.05 * truth['io_time'])
        slowest = now['slowest'][0]['duration']
        longest = max(e['duration'] for e in self.json('dump', '--json', self.log) if e['start'] < now['job']['run_time'])
        self.assertAlmostEqual(slowest, longest, delta=0.05 * longest)

    def test_metadata(self):
        now, _ = self.compare('/bin/sh', '-c', 'for i in 1 2 3 4 5; do echo text > file$i; rm file$i; done')
        remove = [p for p in now['processes'] if p['program'] == 'rm']
        self.assertEqual(len(remove), 5)
        self.assertTrue(all(p['metadata_calls'] for p in remove))
        moved = {call['op'] for call in now['slowest'] if call['bytes']}
        self.assertLessEqual(moved, {'write', 'read', 'pread'}, 'a descriptor is not a number of bytes')

    def test_fio(self):
        if not shutil.which('fio'):
            self.skipTest('no fio')
        self.compare('fio', '--name=job', '--rw=randrw', '--bs=4k', '--size=1m', '--numjobs=2', '--thread',
                     '--ioengine=psync', '--output=/dev/null')

    def test_threads(self):
        self.compare(*self.python(THREADS))

    def test_forks_and_execs(self):
        self.compare(*self.python(FORKS))

    def test_followed_programs(self):
        self.compare('dd', 'if=/dev/zero', 'of=data', 'bs=4k', 'count=100', 'status=none', options=['--ptrace'])

    def test_after_the_end_of_the_trace(self):
        program = "import os\nout = os.open('data', os.O_CREAT | os.O_RDWR)\n" \
                  "for i in range(200000): os.pwrite(out, b'x' * (i % 7), i * (i % 11))"
        for options in (['--trace-cap', '100k'], ['--no-trace']):
            with self.subTest(options):
                for name in ('go', 'done', 'data', 'job.ioseer'):
                    if os.path.exists(self.path(name)):
                        os.unlink(self.path(name))
                self.compare(*self.python(program), options=options)

    def mpi(self, mpi):
        program = os.path.join(harness.BUILD, 'examples', f'madbench-{mpi}')
        if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(program):
            self.skipTest(f'no {mpi}')
        now, after = self.compare(*LAUNCHERS[mpi], '-n', '4', program, '--directory', self.folder,
                                  env={**os.environ, **MPI_ENVIRONMENT})
        ranks = {p['rank']: p['pid'] for p in now['processes'] if p['rank'] is not None}
        self.assertEqual(ranks, {p['rank']: p['pid'] for p in after['processes'] if p['rank'] is not None})
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])

    def test_mpich(self):
        self.mpi('mpich')

    def test_openmpi(self):
        self.mpi('openmpi')

    def test_rates(self):
        job = self.start(*self.python(STEADY), stays=False)
        wait_until(lambda: os.path.exists(self.path('steady.dat')), 'the program')
        one, two, three = read_json_lines(self.expect(0, 'top', '-n', '3', '-d', '300ms', '--json', self.spill()[0]).stdout)
        grown = three['total']['bytes_written'] - two['total']['bytes_written']
        self.assertAlmostEqual(three['total']['write_rate'] * three['interval'], grown, delta=1)
        self.assertGreater(one['total']['write_rate'], 0)
        self.assertEqual(three['files'][0]['name'], self.path('steady.dat'))
        self.end(job)

    def test_call_under_way(self):
        os.mkfifo(self.path('fifo'))
        program = "import fcntl\nfile = open('locked', 'w')\nopen('ready', 'w').close()\nfcntl.flock(file, fcntl.LOCK_EX)"
        with open(self.path('locked'), 'w', encoding='utf-8') as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            job = self.start(*self.python(program), stays=False)
            wait_until(lambda: os.path.exists(self.path('ready')), 'the program')
            process = wait_until(lambda: [p for p in self.snapshot()['processes'] if p['op']], 'the call')[0]
            self.assertEqual([process['op'], process['file']], ['flock', self.path('locked')])
        self.end(job)


class Finding(LiveCase):
    def test_names_of_a_job(self):
        job = self.start(*self.python(STEADY), stays=False)
        wait_until(lambda: os.path.exists(self.path('steady.dat')), 'the program')
        directory = self.spill()[0]
        pid = self.snapshot()['processes'][0]['pid']
        listed = [j for j in self.json('top', '--list', '--json')['jobs'] if j['directory'] == directory]
        self.assertEqual([j['name'] for j in listed], ['job.ioseer'])
        for name in (directory, str(pid), str(job.pid), self.log):
            with self.subTest(name):
                found = self.json('top', '--once', '--json', '-d', '50ms', name)
                self.assertEqual(found['job']['directory'], directory)
        self.end(job)

    def test_nothing_of_that_name(self):
        self.assertIn('not the spill directory', self.expect_error(1, 'top', '--once', self.folder))
        self.expect_error(1, 'top', '--once', self.path('missing'))
        self.assertIn('no process', self.expect_error(2, 'top', '--once', str(os.getpid())))
        self.expect_error(2, 'top', '--sort', 'size')

    def test_killed_record(self):
        """The spills stay, and nothing runs: it says so and ends."""
        job = self.start(*self.python(STEADY), stays=False)
        wait_until(lambda: os.path.exists(self.path('steady.dat')), 'the program')
        pid = self.snapshot()['processes'][0]['pid']
        job.kill()
        os.kill(pid, signal.SIGKILL)
        job.wait()
        done = wait_until(lambda: (text := self.expect(0, 'top', self.spill()[0]).stdout.decode()) and 'Ended' in text and text,
                          'the end')
        self.assertIn('ioseer pack', done)


class Care(LiveCase):
    def test_reads_only_what_is_new(self):
        program = "import os\nout = os.open('data', os.O_CREAT | os.O_WRONLY)\nfor i in range(300000): os.pwrite(out, b'x', i * 7919)"
        job = self.start(*self.python(program))
        self.wait_done()
        top = subprocess.Popen([harness.IOSEER, 'top', '--json', '-d', '200ms', self.spill()[0]], stdout=subprocess.PIPE)

        def read_so_far():
            with open(f'/proc/{top.pid}/io', encoding='utf-8') as text:
                return int(text.readline().split()[1])
        for _ in range(2):
            top.stdout.readline()
        before = read_so_far()
        size = max(os.stat(os.path.join(self.spill()[0], name)).st_blocks * 512 for name in os.listdir(self.spill()[0]))
        self.assertGreater(before, size // 2)
        for _ in range(4):
            top.stdout.readline()
        self.assertLess(read_so_far() - before, size // 10)
        self.end(job)
        top.stdout.read()
        self.assertEqual(top.wait(), 0)

    def test_killed(self):
        """Nobody notices."""
        job = self.start('dd', 'if=/dev/zero', 'of=data', 'bs=4k', 'count=20000', 'status=none')
        for _ in range(5):
            top = subprocess.Popen([harness.IOSEER, 'top', '-d', '50ms', self.spill()[0]], stdout=subprocess.DEVNULL)
            time.sleep(0.1)
            top.kill()
            top.wait()
        self.wait_done()
        after = self.end(job)
        self.assertEqual(os.path.getsize(self.path('data')), 4096 * 20000)
        self.assertEqual(self.moved(after), {'data': (0, 4096 * 20000)})
        self.assertEqual(after['lost_events'], 0)

    def test_forged_spills(self):
        """Any bytes: it ends, without a crash."""
        job = self.start('dd', 'if=/dev/zero', 'of=data', 'bs=4k', 'count=50', 'status=none')
        self.wait_done()
        forged = self.path('forged')
        os.mkdir(forged)
        spills = []
        for name in os.listdir(self.spill()[0]):
            with open(os.path.join(self.spill()[0], name), 'rb') as file:
                spills.append((name, file.read(64 << 10)))
        self.end(job)
        dice = random.Random(7)
        for turn in range(40):
            for name, data in spills:
                data = bytearray(data)
                if name.endswith('.spill'):
                    for _ in range(dice.randrange(1, 40)):
                        data[dice.randrange(dice.choice((4096 + 400, len(data))))] = dice.choice((0, 1, 0x7f, 0xff, dice.randrange(256)))
                with open(os.path.join(forged, name), 'wb') as file:
                    file.write(data[:dice.choice((len(data), dice.randrange(len(data) + 1)))] if turn % 2 and name != 'job' else data)
            self.expect(0, 'top', '--once', '--json', '-d', '10ms', forged, timeout=20)

    def test_a_directory_that_vanishes(self):
        job = self.start(*self.python(STEADY), stays=False)
        wait_until(lambda: os.path.exists(self.path('steady.dat')), 'the program')
        top = subprocess.Popen([harness.IOSEER, 'top', '-d', '100ms', '--json', self.spill()[0]], stdout=subprocess.PIPE)
        top.stdout.readline()
        after = self.end(job)
        last = read_json_lines(top.communicate(timeout=30)[0])[-1]
        self.assertEqual(top.returncode, 0)
        self.assertFalse(last['job']['running'])
        self.assertEqual(self.moved(last), self.moved(after))

    def test_names_cannot_reach_the_terminal(self):
        hostile = 'evil\x1b]0;title\x07\x1b[2J\u009b31m\n'
        program = f'import os\nout = os.open({hostile!r}, os.O_CREAT | os.O_WRONLY)\nfor _ in range(9): os.write(out, b"x" * 99)'
        job = self.start(*self.python(program))
        self.wait_done()
        plain = self.expect(0, 'top', '--once', '-d', '50ms', self.spill()[0]).stdout.decode()
        self.assertIn(r'evil\x1b]0;title\x07\x1b[2J', plain)
        self.assertNotRegex(plain, '[\x00-\x09\x0b-\x1f\x7f-\x9f]')
        screen = Screen(self, self.spill()[0])
        screen.wait_for(r'evil\x1b]0;title')
        screen.key('q')
        self.assertEqual(screen.wait(), 0)
        self.assertNotIn('\x1b]0', screen.text)
        self.assertNotIn('\x1b[2J', screen.text)
        self.assertNotIn('\u009b', screen.text)
        self.end(job)


class Screen:
    """`ioseer top` on a terminal of its own."""

    def __init__(self, test, job, lines=40, columns=120, **variables):
        self.text = ''
        self.main, side = pty.openpty()
        self.size(lines, columns)
        self.before = termios.tcgetattr(side)
        self.side = side
        environment = {**os.environ, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', **variables}
        environment.pop('NO_COLOR', None) if 'NO_COLOR' not in variables else None
        self.process = subprocess.Popen([harness.IOSEER, 'top', '-d', '100ms', job], stdin=side, stdout=side, stderr=side,
                                        env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        test.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)
        os.close(self.side)

    def size(self, lines, columns):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.main], [], [], seconds)[0]:
            try:
                self.text += os.read(self.main, 65536).decode('utf-8', 'surrogateescape')
            except OSError:
                return
            seconds = 0

    def wait_for(self, text):
        def found():
            self.read()
            return text in self.text
        wait_until(found, repr(text))

    def frame(self):
        """The last whole picture, without escapes."""
        self.text = ''
        wait_until(lambda: self.read() or self.text.count('\x1b[H') > 1, 'a picture')
        return re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', self.text.split('\x1b[H')[1])

    def key(self, key):
        os.write(self.main, key.encode())

    def signal(self, number):
        os.kill(self.process.pid, number)

    def wait(self):
        def ended():
            self.read()
            return self.process.poll() is not None
        wait_until(ended, 'its end')
        self.read()
        return self.process.returncode

    def is_restored(self):
        return termios.tcgetattr(self.side) == self.before and \
            self.text.count('\x1b[?1049h') == self.text.count('\x1b[?1049l') and \
            self.text.rindex('\x1b[?25h') > self.text.rindex('\x1b[?25l')


class Terminal(LiveCase):
    def setUp(self):
        super().setUp()
        self.job = self.start(*self.python(STEADY), stays=False)
        wait_until(lambda: os.path.exists(self.path('steady.dat')), 'the program')

    def screen(self, **more):
        screen = Screen(self, self.spill()[0], **more)
        screen.wait_for('steady.dat')
        return screen

    def test_keys(self):
        screen = self.screen()
        self.assertNotEqual(termios.tcgetattr(screen.side), screen.before)
        self.assertRegex(screen.frame(), r'Write    .*[\u2581-\u2588].* up to \d')
        screen.key('?')
        screen.wait_for('sort by calls')
        screen.key('x')
        for key in 'brwcmin':
            screen.key(key)
        self.assertIn('steady.dat', screen.frame())
        screen.key('p')
        screen.wait_for('PAUSED')
        screen.read(0.3)
        screen.text = ''
        screen.read(0.5)
        self.assertEqual(screen.text, '')
        screen.key('p')
        self.assertIn('steady.dat', screen.frame())
        screen.text += '\x1b[?1049h\x1b[?25l'  # of the beginning
        screen.key('q')
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(screen.is_restored())
        self.end(self.job)

    def test_sizes(self):
        screen = self.screen()
        for lines, columns in ((10, 40), (60, 200), (3, 12), (24, 80), (1, 1)):
            screen.size(lines, columns)
            screen.frame()
            picture = screen.frame().split('\r\n')
            self.assertLessEqual(len(picture), lines)
            longest = max((line.rstrip('\r') for line in picture), key=len)
            self.assertLessEqual(len(longest), max(columns, 2), longest)
        for columns in (60, 80):  # the ends of names are there: they tell files apart
            screen.size(24, columns)
            screen.frame()
            self.assertRegex(screen.frame().replace('\r', ''), r'(?m)^ *[\d.]+ [KMG]?i?B/s  .*/steady\.dat$')
        screen.key('q')
        self.assertEqual(screen.wait(), 0)
        self.end(self.job)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number):
                screen = self.screen()
                screen.signal(number)
                self.assertEqual(screen.wait(), 128 + number)
                self.assertTrue(screen.is_restored())
        screen = self.screen()
        screen.signal(signal.SIGTSTP)
        wait_until(lambda: os.waitid(os.P_PID, screen.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), 'its stop')
        screen.read()
        self.assertTrue(screen.is_restored())
        screen.signal(signal.SIGCONT)
        self.assertIn('steady.dat', screen.frame())
        self.assertNotEqual(termios.tcgetattr(screen.side), screen.before)
        screen.key('q')
        self.assertEqual(screen.wait(), 0)
        self.end(self.job)

    def test_the_end_of_the_job(self):
        screen = self.screen()
        self.end(self.job)
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(screen.is_restored())
        self.assertIn('The job has ended. `ioseer info', screen.text.rsplit('\x1b[?1049l')[-1])

    def test_plain_terminals(self):
        screen = self.screen(NO_COLOR='1')
        screen.key('q')
        screen.wait()
        self.assertNotRegex(screen.text.replace('\x1b[0m', ''), r'\x1b\[[0-9;]*m')
        screen = Screen(self, self.spill()[0], TERM='dumb')
        screen.wait_for('steady.dat')
        self.assertNotIn('\x1b', screen.text)
        screen.signal(signal.SIGINT)
        screen.wait()
        screen = self.screen(LC_ALL='C')
        self.assertNotRegex(screen.frame(), r'[\u2581-\u2588]')
        screen.key('q')
        screen.wait()
        self.end(self.job)


if __name__ == '__main__':
    harness.main()
