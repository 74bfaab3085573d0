#!/usr/bin/env python3
"""MPI jobs that end badly, under each MPI: status and output are unchanged, the log has every completed call,
nothing is left behind. Speaks TAP; takes the name of a class."""
import fcntl
import os
import pty
import resource
import select
import signal
import subprocess
import termios
import time

import job_case
from job_case import LAUNCHERS, WRITES, harness

RANKS = 4
STATUS = 3   # exit status of ends.c
LEFT_SECONDS = 10  # seconds, for processes that a launcher does not wait for


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Terminal:
    """A command with a terminal of its own, as a user starts it."""

    def __init__(self, command, folder):
        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            no_core()

        self.fd, inner = pty.openpty()
        self.process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, cwd=folder,
                                        preexec_fn=take_terminal)
        os.close(inner)
        self.output = b''

    def read(self, seconds):
        """Reads the output for some time, so that no writer has to wait."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.fd], [], [], 0.02)
            try:
                self.output += os.read(self.fd, 4096) if ready else b''
            except OSError:  # all other processes have closed it
                time.sleep(0.01)

    def read_until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            self.read(0.02)
        return condition()

    def press(self, key):
        os.write(self.fd, key)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)


class EndsTest(job_case.JobTest):
    def setUp(self):
        super().setUp()
        self.launcher = LAUNCHERS[self.mpi]

    def example(self, name):
        return os.path.join(harness.BUILD, 'examples', f'{name}-{self.mpi}')

    def job(self, *words, ranks=RANKS, below=()):
        """The folder in the command line tells the job's processes from others."""
        return [*self.launcher, '-n', str(ranks), *below, job_case.program('ends', self.mpi),
                '--directory', self.folder, '--how', *words]

    def recorded(self, command):
        return [harness.IOSEER, 'record', '-q', '-o', self.log, '--', *command]

    def forget_run(self):
        for name in os.listdir(self.folder):
            if name.endswith('.dat'):
                os.unlink(self.path(name))

    def run_both(self, command):
        """Runs a command bare and recorded, in the same place; returns both results."""
        bare = harness.run(*command, cwd=self.folder, preexec_fn=no_core)
        self.await_end()
        self.forget_run()
        recorded = harness.run(*self.recorded(command), cwd=self.folder, preexec_fn=no_core)
        self.assertEqual(self.processes(), [])
        return bare, recorded

    # --- what is there

    def processes(self):
        """Command lines of the job's processes that still run."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    words = file.read()
            except OSError:
                continue
            if self.folder.encode() in words and int(pid) != os.getpid():
                found.append((int(pid), words))
        return found

    def await_end(self):
        deadline = time.monotonic() + LEFT_SECONDS
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.processes(), [])

    def said(self):
        """By rank: the calls that ends.c saw return."""
        return [os.path.getsize(self.path(f'said.{rank}.dat')) if os.path.exists(self.path(f'said.{rank}.dat')) else 0
                for rank in range(RANKS)]

    def processes_of_ranks(self):
        return {process['rank']: process for process in self.json('info', '--json', self.log)['processes']
                if process['rank'] is not None}

    def check_log(self, at_work=False):
        """All calls that returned are in the log. A rank that goes on may have one more, which it could not note."""
        self.assertEqual(sorted(self.processes_of_ranks()), list(range(RANKS)))
        events = self.json('dump', '--json', self.log)
        for rank, said in enumerate(self.said()):
            mine = [event for event in events if event['rank'] == rank]
            writes = [event for event in mine if event['op'] == 'MPI_File_write_at']
            notes = [event for event in mine if event['op'] == 'write' and event['file'] == self.path(f'said.{rank}.dat')]
            if at_work:
                self.assertIn(len(writes), (said, said + 1))
                self.assertIn(len(notes), (said - 1, said))
            else:
                self.assertEqual((said, len(writes), len(notes)), (WRITES + rank,) * 3)
            for number, event in enumerate(writes):
                self.assertEqual((event['offset'], event['result']), ((number * RANKS + rank) * 100, 100))
        self.assertEqual([name for name in os.listdir(self.folder) if 'spill' in name or 'tmp' in name], [])

    # --- ends that the job finds by itself

    def end(self, how, *more, expected, status=None):
        bare, recorded = self.run_both(self.job(how, *more))
        # MPICH's launcher returns the status of the rank that ended first, or of a rank that it killed.
        statuses = [bare.returncode] if self.mpi != 'mpich' else [status, signal.SIGKILL]
        self.assertIn(recorded.returncode, statuses, recorded.stderr)
        self.check_log(at_work='--at-work' in more)
        self.assertEqual(self.processes_of_ranks()[RANKS - 1]['exit'], expected)

    def test_abort(self):
        self.end('abort', expected='signal 9' if self.mpi == 'mpich' else '_exit', status=STATUS)

    def test_kill(self):
        self.end('kill', expected='signal 9')

    def test_kill_at_work(self):
        self.end('kill', '--at-work', expected='signal 9')

    def test_crash(self):
        self.end('crash', expected='signal 11', status=signal.SIGSEGV)

    def test_exit(self):
        self.end('exit', expected='clean', status=STATUS)

    def test_exit_0(self):
        self.end('exit-0', expected='clean', status=0)

    def test_underscore_exit(self):
        self.end('_exit', expected='_exit', status=STATUS)

    def test_refused(self):
        command = [*self.launcher, '-n', '2', self.example('btio')]
        bare, recorded = self.run_both(command)
        self.assertEqual((bare.returncode, recorded.returncode), (2, 2))
        self.assertIn(b'runs on 1, 4, 9', recorded.stderr)
        self.assertEqual(recorded.stdout, bare.stdout)
        self.assertEqual(sorted(self.processes_of_ranks()), [0, 1])

    def test_file_that_cannot_be_opened(self):
        """MPI_Abort; the log keeps the calls before it."""
        command = [*self.launcher, '-n', '2', self.example('madbench'), '--directory', self.path('nowhere')]
        bare, recorded = self.run_both(command)
        self.assertEqual((bare.returncode, recorded.returncode), (1, 1), recorded.stderr)
        self.assertEqual(sorted(self.processes_of_ranks()), [0, 1])
        opens = [event for event in self.json('dump', '--json', self.log) if event['op'] == 'MPI_File_open']
        self.assertTrue(opens)
        for event in opens:
            self.assertEqual(event['file'], self.path('nowhere/madbench.dat'))
            self.assertNotEqual(event['errno'], 0)
            self.assertLess(event['result'], 0)

    # --- a job that would never end

    def all_wait(self):
        return self.said() == [WRITES + rank for rank in range(RANKS)]

    def end_from_outside(self, action):
        """Lets all ranks wait for each other, bare and recorded, acts, and compares."""
        statuses = []
        for command in self.job('deadlock'), self.recorded(self.job('deadlock')):
            self.forget_run()
            terminal = Terminal(command, self.folder)
            self.addCleanup(terminal.close)
            self.assertTrue(terminal.read_until(self.all_wait), terminal.output)
            terminal.read(0.1)
            action(terminal)
            self.assertTrue(terminal.read_until(lambda: terminal.process.poll() is not None), terminal.output)
            statuses.append(terminal.process.returncode)
            if command[0] != harness.IOSEER:
                self.await_end()
        self.assertEqual(self.processes(), [])
        self.check_log()
        return statuses

    def test_ctrl_c(self):
        bare, recorded = self.end_from_outside(lambda terminal: terminal.press(b'\x03'))
        self.assertEqual(recorded, bare)

    def test_ctrl_c_twice(self):
        def press_twice(terminal):
            terminal.press(b'\x03')
            terminal.read(0.1)
            terminal.press(b'\x03')

        bare, recorded = self.end_from_outside(press_twice)
        self.assertEqual(recorded, bare)

    def check_terminated(self, action):
        bare, recorded = self.end_from_outside(action)
        # MPICH's launcher ends with 0 once in many times, bare too.
        self.assertIn(recorded, [bare] if self.mpi != 'mpich' else [signal.SIGTERM, 0])

    def test_terminated(self):
        self.check_terminated(lambda terminal: terminal.process.terminate())

    def test_terminated_twice(self):
        def terminate_twice(terminal):
            terminal.process.terminate()
            terminal.read(0.1)
            terminal.process.terminate()

        self.check_terminated(terminate_twice)

    def test_launcher_killed(self):
        def kill_launcher(_):
            for pid, words in self.processes():
                if words.startswith(self.launcher[0].encode() + b'\0'):
                    os.kill(pid, signal.SIGKILL)

        bare, recorded = self.end_from_outside(kill_launcher)
        self.assertEqual((bare, recorded), (-signal.SIGKILL, 128 + signal.SIGKILL))

    # --- record below mpiexec: every rank has its own `record`, and together they make one log

    def below(self, *words, timeout=60):
        own = [harness.IOSEER, 'record', '-q', '-o', self.log, '--']
        done = harness.run(*self.job(*words, below=own), cwd=self.folder, preexec_fn=no_core, timeout=timeout)
        self.await_end()
        return done

    def end_below(self, how, *more, expected=None):
        done = self.below(how, *more)
        self.assertNotEqual(done.returncode, 0)
        self.check_log(at_work='--at-work' in more)
        if expected:
            self.assertEqual(self.processes_of_ranks()[RANKS - 1]['exit'], expected)

    def test_each_rank_recorded(self):
        command = [self.example('ior'), '--block', '4k', '--transfer', '4k']
        own = [harness.IOSEER, 'record', '-q', '-o', self.log, '--']
        done = harness.run(*self.launcher, '-n', '2', *own, *command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({rank: process['exit'] for rank, process in self.processes_of_ranks().items()},
                         {0: 'clean', 1: 'clean'})
        events = self.json('dump', '--json', '--layer', 'mpiio', self.log)
        for rank in (0, 1):
            ops = [event['op'] for event in events if event['rank'] == rank]
            self.assertEqual(ops.count('MPI_File_write_at'), 2)
        self.assertEqual(sorted(os.listdir(self.folder)), ['ior.dat', 'log.ioseer'])

    def test_abort_below(self):
        self.end_below('abort')

    def test_kill_below(self):
        self.end_below('kill', expected='signal 9')

    def test_kill_at_work_below(self):
        self.end_below('kill', '--at-work', expected='signal 9')

    def test_crash_below(self):
        self.end_below('crash', expected='signal 11')

    def test_exit_0_below(self):
        self.end_below('exit-0', expected='clean')

    def test_ctrl_c_below(self):
        own = [harness.IOSEER, 'record', '-q', '-o', self.log, '--']
        terminal = Terminal(self.job('deadlock', below=own), self.folder)
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.read_until(self.all_wait), terminal.output)
        terminal.read(0.1)
        terminal.press(b'\x03')
        self.assertTrue(terminal.read_until(lambda: terminal.process.poll() is not None), terminal.output)
        self.await_end()
        self.check_log()


class Mpich(EndsTest):
    mpi = 'mpich'


class OpenMpi(EndsTest):
    mpi = 'openmpi'


del EndsTest
harness.main()
