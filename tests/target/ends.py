"""For storage of every kind: nothing is left, however it ends.

EndsTest is a StorageTest (place.py) with the type of its mounts; mix it into a test case.
"""
import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import place
from place import PATIENCE_SECONDS, harness, processes_at


class EndsTest:
    TYPE = None  # of the file system that is mounted
    STARTS, START_SECONDS = 40, 0.15  # how many are killed, within which time

    def leftovers(self):
        """Which parts of the storage exist, in words."""
        left = [f'mounted: {kind}' for kind in place.mounts_at(self.above)]
        return left + [f'process {pid}' for pid in sum(processes_at(self.above), [])]

    def await_the_end(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while self.leftovers() and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.leftovers(), [])
        self.assertEqual(os.listdir(self.above), [])

    def await_mount(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and not place.mounts_at(self.above):
            time.sleep(0.01)
        self.assertEqual(place.mounts_at(self.above), [self.TYPE])

    def await_file(self, name):
        until = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(os.path.join(self.above, name)):
            self.assertLess(time.monotonic(), until, f'no {name}')
            time.sleep(0.01)

    def kill_both(self):
        processes = sum(processes_at(self.above), [])
        for number in (signal.SIGSTOP, signal.SIGKILL):  # neither notices that the other ended
            for pid in processes:
                os.kill(pid, number)
        while processes_at(self.above) != ([], []):
            time.sleep(0.01)

    def kill_while_written_to(self, which, *amount):
        """Kills one of the two processes while dd writes; returns how dd ended."""
        with subprocess.Popen(['dd', 'if=/dev/zero', f'of={self.above}/f', *amount],
                              stderr=subprocess.DEVNULL) as writer:
            self.await_file('f')
            time.sleep(0.1)
            os.kill(processes_at(self.above)[which][0], signal.SIGKILL)
            return writer.wait(PATIENCE_SECONDS)


class BackgroundEnds:
    def test_each_process_alone_ends_both(self):
        for which in (0, 1):
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(which=which, number=number):
                    self.emulate()
                    os.kill(processes_at(self.above)[which][0], number)
                    self.await_the_end()

    def test_both_killed_at_once_leave_nothing_that_stop_does_not_remove(self):
        for after in ('stop', 'start'):
            with self.subTest(after=after):
                self.emulate()
                self.kill_both()
                if after == 'start':
                    self.emulate()
                    self.assertEqual(place.mounts_at(self.above), [self.TYPE])
                    self.assertEqual(os.listdir(self.above), [])
                harness.ioseer('emulate', '--stop', self.above)  # another test's `emulate` may have been faster
                self.await_the_end()

    def test_killed_at_any_moment_of_the_start(self):
        for turn in range(self.STARTS):
            starting = subprocess.Popen([harness.IOSEER, 'emulate', '-q', *self.OPTIONS, self.below, self.above],
                                        stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, self.START_SECONDS / (8 if turn % 2 else 1)))
            guards, servers = processes_at(self.above)
            victims = servers if turn % 4 < 2 and servers else guards
            with contextlib.suppress(ProcessLookupError):
                for pid in random.sample(victims, min(1, len(victims))):
                    os.kill(pid, signal.SIGKILL)
            starting.wait(PATIENCE_SECONDS)
            if victims == [starting.pid] or not victims:  # it may be complete by now
                time.sleep(0.3)
                harness.ioseer('emulate', '--stop', self.above)
            self.await_the_end()

    def test_unmounted_by_another(self):
        self.emulate()
        subprocess.run(['umount' if os.getuid() == 0 else 'fusermount3', *([] if os.getuid() == 0 else ['-u']),
                        self.above], check=True)
        self.await_the_end()

    def test_caller_is_left_alone(self):
        """The caller's pipes and directory are released."""
        os.mkdir(self.path('here'))
        command = f'"{harness.IOSEER}" emulate {" ".join(self.OPTIONS)} "{self.below}" "{self.above}"'
        done = subprocess.run(['sh', '-c', f'{command} | cat'],
                              cwd=self.path('here'), capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertIn(b'mounted', done.stdout)
        for pid in sum(processes_at(self.above), []):
            self.assertEqual(os.readlink(f'/proc/{pid}/cwd'), '/')
        self.stop()


class ForegroundEnds:
    def start(self, prefix=()):
        process = subprocess.Popen([*prefix, harness.IOSEER, 'emulate', '--foreground', *self.OPTIONS, self.below,
                                    self.above], start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.await_mount()
        return process

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number=number):
                process = self.start()
                os.killpg(process.pid, number)
                self.assertEqual(process.wait(PATIENCE_SECONDS), -9 if number == signal.SIGKILL else 0)
                self.await_the_end()

    def test_ends_with_its_parent(self):
        program = 'import subprocess, sys; subprocess.run(sys.argv[1:])'
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number=number):
                parent = self.start([sys.executable, '-c', program])
                os.kill(parent.pid, number)
                parent.wait(PATIENCE_SECONDS)
                self.await_the_end()

    def test_stop_ends_it(self):
        process = self.start()
        self.stop()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        self.await_the_end()
