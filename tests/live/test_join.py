#!/usr/bin/env python3
"""`ioseer record --pid` joins processes that run already, which do not notice. Speaks TAP."""
import hashlib
import os
import shutil
import signal
import subprocess
import time

from live_case import LAUNCHERS, MPI_ENVIRONMENT, PATIENCE_SECONDS, LiveCase, harness, wait_until

# Each program writes `ready` when it has begun, and `result` at its end.
STEPS = """
import os, sys, time
out = os.open('data', os.O_CREAT | os.O_RDWR | os.O_TRUNC)
for i in range(10): os.write(out, bytes([i]) * 1000)
open('ready', 'w').close()
count = 0
while not os.path.exists('go') or count < 200:
    os.write(out, bytes([count % 251]) * 1000)
    count += 1
    time.sleep(0.002)
open('result', 'w').write(str(count))
"""

THREADS = """
import os, threading, time
def work(number):
    out = os.open('thread%d' % number, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    count = 0
    while not os.path.exists('go') or count < 300:
        os.write(out, b'%8d' % count)
        count += 1
        time.sleep(0.001)
    counts[number] = count
def more():
    while not os.path.exists('go'):
        thread = threading.Thread(target=lambda: open('short', 'a').write('x'))
        thread.start(); thread.join()
        short.append(1)
        time.sleep(0.002)
counts, short = {}, []
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)] + [threading.Thread(target=more)]
for thread in threads: thread.start()
open('ready', 'w').close()
for thread in threads: thread.join()
open('result', 'w').write(repr((sorted(counts.items()), len(short))))
"""

CHILDREN = """
import os, subprocess, sys, time
open('ready', 'w').close()
done = 0
while not os.path.exists('go') or done < 10:
    if os.fork() == 0:
        out = os.open('forked', os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(out, b'y' * 100)
        os._exit(7)
    assert os.wait()[1] == 7 << 8
    subprocess.run(['dd', 'if=/dev/zero', 'of=child%d' % (done % 3), 'bs=1k', 'count=5', 'status=none'], check=True)
    done += 1
open('result', 'w').write(str(done))
"""

# Signals and calls that they interrupt: each must arrive once, and what is restarted must not fail.
SIGNALS = """
import os, select, signal, time
got = [0]
def handler(number, frame): got[0] += 1
signal.signal(signal.SIGUSR1, handler)
ends = os.pipe()
out = os.open('data', os.O_CREAT | os.O_WRONLY)
open('ready', 'w').close()
while not os.path.exists('go'):
    select.select([ends[0]], [], [], 0.01)
    os.write(out, b'x')
    with open('count.new', 'w') as count: count.write(str(got[0]))
    os.rename('count.new', 'count')
open('result', 'w').write(str(got[0]))
"""


class JoinCase(LiveCase):
    def begin(self, text, command=None):
        """Starts a program that runs until it is released."""
        program = subprocess.Popen(command or self.python(text), cwd=self.folder, stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: program.poll() is None and (program.kill(), program.wait()))
        self.addCleanup(self.release)
        wait_until(lambda: os.path.exists(self.path('ready')), 'the program')
        return program

    def join(self, *pids, options=()):
        words = [word for pid in pids for word in ('--pid', str(pid))]
        record = subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.log, *options, *words], cwd=self.folder,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(lambda: record.poll() is None and (record.kill(), record.wait()))
        self.addCleanup(record.stderr.close)
        wait_until(lambda: record.poll() is not None or self.traced(pids[-1]), 'the tracer')
        return record

    def traced(self, pid):
        try:
            with open(f'/proc/{pid}/status', encoding='utf-8') as status:
                return int([line.split()[1] for line in status if line.startswith('TracerPid')][0])
        except FileNotFoundError:
            return 0

    def stop(self, record, number=signal.SIGINT):
        os.killpg(record.pid, number)  # as a terminal does
        self.assertEqual(record.wait(PATIENCE_SECONDS), 0, record.stderr.read())

    def finish(self, program):
        """Its own end, and what it says it did."""
        self.release()
        self.assertEqual(program.wait(PATIENCE_SECONDS), 0)
        with open(self.path('result'), encoding='utf-8') as result:
            return result.read()

    def check_steps(self, program):
        count = int(self.finish(program))
        with open(self.path('data'), 'rb') as data:
            found = hashlib.sha256(data.read()).hexdigest()
        truth = b''.join(bytes([i]) * 1000 for i in range(10)) + b''.join(bytes([i % 251]) * 1000 for i in range(count))
        self.assertEqual(found, hashlib.sha256(truth).hexdigest())

    def events(self, **wanted):
        return [event for event in self.json('dump', '--json', self.log)
                if all(event[key] == value for key, value in wanted.items())]


class Join(JoinCase):
    def test_until_it_ends(self):
        program = self.begin(STEPS)
        record = self.join(program.pid)
        time.sleep(0.5)
        self.check_steps(program)
        self.assertEqual(record.wait(PATIENCE_SECONDS), 0)
        writes = self.events(op='write', file=self.path('data'))
        self.assertGreater(writes[0]['offset'], 9999)
        self.assertEqual([e['offset'] for e in writes], [writes[0]['offset'] + 1000 * i for i in range(len(writes))])
        self.assertEqual(writes[-1]['offset'] + 1000, os.path.getsize(self.path('data')))
        info = self.json('info', '--json', self.log)
        self.assertEqual([(p['pid'], p['joined'], p['exit'], p['via']) for p in info['processes']],
                         [(program.pid, True, 'clean', 'ptrace')])
        self.assertTrue(info['job']['joined'])
        self.assertIsNone(info['job']['exit_status'])
        self.assertEqual(info['job']['command'], self.python(STEPS))
        self.assertEqual(info['job']['cwd'], self.folder)
        self.assertGreater(info['coverage']['write'], 0.99)
        self.assertIn('joined while it ran', self.expect(0, 'info', self.log).stdout.decode())

    def test_left(self):
        """By Ctrl-C, and after a time: the program goes on."""
        program = self.begin(STEPS)
        record = self.join(program.pid)
        time.sleep(0.3)
        self.stop(record)
        self.assertEqual(self.traced(program.pid), 0)
        self.assertEqual(self.json('info', '--json', self.log)['processes'][0]['exit'], 'running')
        self.expect(0, 'record', '--force', '-q', '-o', self.log, '--pid', str(program.pid), '--for', '300ms')
        info = self.json('info', '--json', self.log)
        self.assertAlmostEqual(info['processes'][0]['run_time'], 0.3, delta=0.15)
        self.assertTrue(self.events(op='write', file=self.path('data')))
        self.assertIsNone(program.poll())
        self.check_steps(program)

    def test_killed(self):
        """`record`, its tracer, or both at once: the program goes on, and what was recorded can be packed."""
        program = self.begin(STEPS)
        for number, whom in enumerate(('record', 'tracer', 'both')):
            with self.subTest(whom):
                self.log = self.path(f'{whom}.ioseer')
                record = self.join(program.pid)
                tracer = self.traced(program.pid)
                time.sleep(0.3)
                if whom != 'record':
                    os.kill(tracer, signal.SIGKILL)
                if whom != 'tracer':
                    record.kill()
                record.wait(PATIENCE_SECONDS)
                wait_until(lambda: not self.traced(program.pid), 'the end of the tracing')
                for directory in self.spill():
                    self.expect(0, 'pack', '-q', '-o', self.log, '--force', directory)
                    self.assertTrue(self.events(op='write', file=self.path('data')))
        self.check_steps(program)

    def test_threads(self):
        program = self.begin(THREADS)
        record = self.join(program.pid)
        time.sleep(0.5)
        self.stop(record)
        counts, short = eval(self.finish(program))
        for number, count in counts:
            with open(self.path(f'thread{number}'), 'rb') as file:
                self.assertEqual(file.read(), b''.join(b'%8d' % i for i in range(count)))
        self.assertEqual(os.path.getsize(self.path('short')), short)
        for number in range(4):
            writes = self.events(op='write', file=self.path(f'thread{number}'))
            self.assertGreater(len(writes), 20)
            self.assertEqual([e['offset'] for e in writes],
                             [writes[0]['offset'] + 8 * i for i in range(len(writes))])
        self.assertTrue(self.events(op='write', file=self.path('short')))

    def test_children(self):
        program = self.begin(CHILDREN)
        record = self.join(program.pid)
        time.sleep(1)
        self.finish(program)
        self.assertEqual(record.wait(PATIENCE_SECONDS), 0)
        info = self.json('info', '--json', self.log)
        dd = [p for p in info['processes'] if p['program'] == 'dd']
        self.assertTrue(dd)
        self.assertTrue(all(p['exit'] == 'clean' and not p['joined'] and p['bytes_written'] == 5120 for p in dd[:-1]), dd)
        self.assertTrue(self.events(op='write', file=self.path('forked')))

    def test_signals(self):
        program = self.begin(SIGNALS)
        record = self.join(program.pid)

        def counted():
            with open(self.path('count'), encoding='utf-8') as count:
                return int(count.read() or 0)
        for sent in range(1, 101):
            program.send_signal(signal.SIGUSR1)
            wait_until(lambda: counted() == sent, f'signal {sent}')  # noqa: B023
            if sent == 70:
                self.stop(record)
        self.assertEqual(self.finish(program), '100')

    def test_stopped(self):
        """A process that is stopped stays so."""
        program = self.begin(STEPS)
        program.send_signal(signal.SIGSTOP)
        state = lambda: open(f'/proc/{program.pid}/stat', encoding='utf-8').read().rsplit(')')[1].split()[0]  # noqa: E731
        wait_until(lambda: state() == 'T', 'the stop')
        record = self.join(program.pid)
        size = os.path.getsize(self.path('data'))
        time.sleep(0.3)
        self.assertEqual(os.path.getsize(self.path('data')), size)
        self.assertIn(state(), 'tT')
        self.stop(record)
        wait_until(lambda: state() == 'T', 'the stop')
        program.send_signal(signal.SIGCONT)
        self.check_steps(program)

    def test_several(self):
        programs = []
        for name in ('one', 'two'):
            os.mkdir(self.path(name))
            programs.append(subprocess.Popen(['/bin/sh', '-c', 'while [ ! -e ../go ]; do echo x >> file; sleep 0.01; done'],
                                             cwd=self.path(name)))
            wait_until(lambda: os.path.exists(self.path(f'{name}/file')), 'the program')  # noqa: B023
        record = self.join(*(program.pid for program in programs))
        time.sleep(0.3)
        self.release()
        for program in programs:
            self.assertEqual(program.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(record.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(sum(p['joined'] for p in self.json('info', '--json', self.log)['processes']), 2)
        for name in ('one', 'two'):
            self.assertTrue(self.events(op='write', file=self.path(f'{name}/file')))

    def test_top_shows_it(self):
        program = self.begin(STEPS)
        record = self.join(program.pid)
        shown = self.json('top', '--once', '--json', '-d', '300ms', str(program.pid))
        self.assertGreater(shown['total']['write_rate'], 0)
        self.assertIn('ioseer top', self.expect_error(1, 'record', '-q', '--pid', str(program.pid)))
        self.stop(record)
        self.check_steps(program)

    def mpi(self, mpi):
        """A whole MPI job, from a shell that starts it after it was joined."""
        example = os.path.join(harness.BUILD, 'examples', f'madbench-{mpi}')
        if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(example):
            self.skipTest(f'no {mpi}')
        command = ' '.join([*LAUNCHERS[mpi], '-n', '2', example, '--directory', '.'])
        os.environ.update(MPI_ENVIRONMENT)
        program = self.begin(None, ['/bin/sh', '-c', ': > ready; while [ ! -e go ]; do sleep 0.05; done; '
                                    f'{command} > result'])
        record = self.join(program.pid)
        self.assertIn('all data as written', self.finish(program))
        self.assertEqual(record.wait(PATIENCE_SECONDS), 0)
        written = {f['name']: f['bytes_written'] for f in self.json('info', '--json', self.log)['files']}
        self.assertEqual(written[self.path('madbench.dat')], 2 * 16 << 20)

    def test_mpich(self):
        self.mpi('mpich')

    def test_openmpi(self):
        self.mpi('openmpi')


class Refused(JoinCase):
    def test_wrong_words(self):
        self.assertIn('no such process', self.expect_error(1, 'record', '--pid', '2147483000'))
        self.assertIn('not the number', self.expect_error(2, 'record', '--pid', 'init'))
        self.expect_error(2, 'record', '--pid', '1', 'true')
        self.expect_error(2, 'record', '--for', '1s', 'true')
        self.assertEqual(os.listdir(self.folder), [])

    def test_recorded_already(self):
        job = self.start('sleep', '30', stays=False)
        pid = wait_until(lambda: self.snapshot()['processes'], 'the program')[0]['pid']
        line = self.expect_error(1, 'record', '-q', '-o', self.path('other'), '--pid', str(pid))
        self.assertIn(f"is recorded already; 'ioseer top {pid}' shows it", line)
        os.kill(pid, signal.SIGTERM)
        job.wait()

    def test_traced_already(self):
        if not shutil.which('strace'):
            self.skipTest('no strace')
        program = self.begin(STEPS)
        strace = subprocess.Popen(['strace', '-o', '/dev/null', '-p', str(program.pid)], stderr=subprocess.DEVNULL)
        wait_until(lambda: self.traced(program.pid), 'strace')
        line = self.expect_error(1, 'record', '-q', '-o', self.log, '--pid', str(program.pid))
        self.assertIn('(strace) traces it already', line)
        strace.terminate()
        strace.wait()
        self.assertFalse(self.spill())
        self.check_steps(program)

    def test_another_user(self):
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('needs root and setpriv')
        as_nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        if harness.run(*as_nobody, harness.IOSEER, '--version').returncode:
            self.skipTest('another user cannot run this ioseer')
        program = self.begin(STEPS)
        os.chmod(self.folder, 0o777)
        done = harness.run(*as_nobody, harness.IOSEER, 'record', '-q', '-o', self.log, '--pid', str(program.pid))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), 'belongs to another user\n$')
        self.assertFalse(self.spill())
        self.check_steps(program)


if __name__ == '__main__':
    harness.main()
