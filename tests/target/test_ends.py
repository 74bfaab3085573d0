"""No mount and no process stays, however the emulator ends."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import place
from place import harness

PATIENCE_SECONDS = 20


def processes_at(mount):
    """Guard and server of a mount, by their command line; the guard is the server's parent."""
    found = {}
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/cmdline', 'rb') as words, open(f'/proc/{name}/stat', encoding='ascii') as about:
                state, parent = about.read().rpartition(')')[2].split()[:2]
                if os.fsencode(mount) in words.read().split(b'\0')[2:] and state not in 'ZX':
                    found[int(name)] = int(parent)
        except (FileNotFoundError, ProcessLookupError):
            continue
    servers = [pid for pid, parent in found.items() if parent in found]
    return [pid for pid in found if pid not in servers], servers


class EndsTest(place.MountTest):
    def is_all_gone(self):
        return not place.mounts_at(self.above) and processes_at(self.above) == ([], [])

    def await_the_end(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and not self.is_all_gone():
            time.sleep(0.01)
        self.assertEqual(place.mounts_at(self.above), [])
        self.assertEqual(processes_at(self.above), ([], []))
        self.assertEqual(os.listdir(self.above), [])

    def await_mount(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and not place.mounts_at(self.above):
            time.sleep(0.01)
        self.assertEqual(place.mounts_at(self.above), ['fuse.ioseer'])


class Background(EndsTest):
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
                guards, servers = processes_at(self.above)
                for pid in guards + servers:  # neither sees the other's end
                    os.kill(pid, signal.SIGSTOP)
                for pid in guards + servers:
                    os.kill(pid, signal.SIGKILL)
                while processes_at(self.above) != ([], []):
                    time.sleep(0.01)
                if after == 'start':
                    self.emulate()
                    self.assertEqual(place.mounts_at(self.above), ['fuse.ioseer'])
                    self.assertEqual(os.listdir(self.above), [])
                self.stop()
                self.await_the_end()

    def test_killed_with_requests_under_way(self):
        for which in (0, 1):
            with self.subTest(which=which):
                self.emulate('--write-bw', '1M', '--latency', '1s')
                with subprocess.Popen(['dd', 'if=/dev/zero', f'of={self.above}/f', 'bs=4M', 'count=1'],
                                      stderr=subprocess.DEVNULL) as writer:
                    time.sleep(0.2)
                    os.kill(processes_at(self.above)[which][0], signal.SIGKILL)
                    self.assertNotEqual(writer.wait(PATIENCE_SECONDS), 0)
                self.await_the_end()

    def test_killed_at_any_moment_of_the_start(self):
        for turn in range(40):
            starting = subprocess.Popen([harness.IOSEER, 'emulate', '-q', self.below, self.above],
                                        stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.02 if turn % 2 else 0.15))
            guards, servers = processes_at(self.above)
            victims = servers if turn % 4 < 2 and servers else guards
            if victims:
                os.kill(random.choice(victims), signal.SIGKILL)
            starting.wait(PATIENCE_SECONDS)
            if victims == [starting.pid] or not victims:  # it may have been complete by then
                time.sleep(0.3)
                harness.ioseer('emulate', '--stop', self.above)
            self.await_the_end()

    def test_unmounted_by_another(self):
        self.emulate()
        subprocess.run(['umount' if os.getuid() == 0 else 'fusermount3', *([] if os.getuid() == 0 else ['-u']),
                        self.above], check=True)
        self.await_the_end()

    def test_caller_is_left_alone(self):
        """Neither its pipes nor its directory are held."""
        os.mkdir(self.path('here'))
        done = subprocess.run(['sh', '-c', f'"{harness.IOSEER}" emulate "{self.below}" "{self.above}" | cat'],
                              cwd=self.path('here'), capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertIn(b'mounted', done.stdout)
        for pid in sum(processes_at(self.above), []):
            self.assertEqual(os.readlink(f'/proc/{pid}/cwd'), '/')
        self.stop()

    def test_in_use(self):
        self.emulate()
        with open(os.path.join(self.above, 'f'), 'wb', buffering=0) as file:
            line = self.expect_error(1, 'emulate', '--stop', self.above)
            self.assertIn(f'in use by', line)
            self.assertIn(f'({os.getpid()})', line)
            file.write(b'still there')
            self.expect(0, 'emulate', '--stop', '--force', self.above)
            self.await_the_end()
            with self.assertRaises(OSError):
                file.write(b'x')

    def test_nothing_is_lost_when_it_ends(self):
        for how in ('stop', signal.SIGTERM):
            with self.subTest(how=how):
                self.emulate('--cache', 'kernel', '--write-bw', '20M')
                data = os.urandom(4 << 20)
                fd = os.open(os.path.join(self.above, 'f'), os.O_CREAT | os.O_RDWR)
                os.write(fd, data)
                duplicate = subprocess.Popen(['sleep', '0.2'], pass_fds=[fd])  # no close yet: the data is in the cache
                os.close(fd)
                duplicate.wait()
                if how == 'stop':
                    self.stop()
                else:
                    os.kill(processes_at(self.above)[0][0], how)
                self.await_the_end()
                with open(os.path.join(self.below, 'f'), 'rb') as file:
                    self.assertEqual(file.read(), data)


class Foreground(EndsTest):
    def start(self, prefix=()):
        process = subprocess.Popen([*prefix, harness.IOSEER, 'emulate', '--foreground', self.below, self.above],
                                   start_new_session=True)
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


class Trouble(EndsTest):
    def test_places_that_cannot_be_mounted_on(self):
        with open(self.path('file'), 'w', encoding='utf-8'):
            pass
        os.mkdir(os.path.join(self.below, 'inside'))
        for below, above, status in ((self.below, self.path('missing'), 1), (self.path('missing'), self.above, 1),
                                     (self.below, self.path('file'), 1), (self.path('file'), self.above, 1),
                                     (self.below, self.folder, 1), (self.below, self.below, 2),
                                     (self.below, os.path.join(self.below, 'inside'), 2)):
            with self.subTest(below=below, above=above):
                self.expect_error(status, 'emulate', below, above)
        self.emulate()
        self.assertIn('already', self.expect_error(1, 'emulate', self.below, self.above))
        self.stop()
        self.await_the_end()

    def test_backing_that_goes_away(self):
        self.emulate()
        with open(os.path.join(self.above, 'f'), 'w', encoding='utf-8') as file:
            file.write('text')
        shutil.rmtree(self.below)
        with self.assertRaises(OSError):
            open(os.path.join(self.above, 'new'), 'w', encoding='utf-8')
        self.stop()
        self.await_the_end()

    def in_own_world(self, *commands):
        """Runs shell commands with mounts that nobody else sees; gives the lines that ioseer said."""
        if os.getuid() != 0 or not shutil.which('unshare'):
            self.skipTest('only root can have mounts of its own')
        os.chmod(self.folder, 0o755)
        script = '\n'.join(['set -e', 'mount --make-rprivate /', *commands])
        done = subprocess.run(['unshare', '--mount', 'sh', '-c', script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS * 3, check=False)
        return done.stdout.decode().splitlines()

    def emulate_command(self, *options):
        return ' '.join([harness.IOSEER, 'emulate', '-q', *options, self.below, self.above])

    def test_no_device(self):
        lines = self.in_own_world('mount -t tmpfs none /dev', f'{self.emulate_command()} || echo failed')
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], '^ioseer emulate: .*: .*(fuse|device)')

    def as_nobody(self, *commands):
        """Another user's commands, where /dev/fuse is for everybody, as it is on most machines."""
        for folder in (self.below, self.above):
            os.chown(folder, 65534, 65534)
        device = self.path('device')
        return self.in_own_world(f'mknod {device} c 10 229', f'chmod 666 {device}', f'mount --bind {device} /dev/fuse',
                                 *[f"setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '{command}'"
                                   if command[0] != '!' else command[1:] for command in commands])

    def test_another_user(self):
        stop = f'{harness.IOSEER} emulate --stop {self.above}'
        lines = self.as_nobody(f'{self.emulate_command()}; echo text > {self.above}/f; cat {self.above}/f; {stop}; '
                               f'echo $?; ls {self.above}')
        self.assertEqual(lines, ['text', '0'])
        self.assertEqual(processes_at(self.above), ([], []))

    def test_another_user_without_the_helper(self):
        lines = self.as_nobody(f'!mount --bind /dev/null {shutil.which("fusermount3")}',
                               f'{self.emulate_command()} || echo failed')
        self.assertEqual(lines[1:], ['failed'])
        self.assertRegex(lines[0], '^ioseer emulate: .*: .*fusermount3')

    def test_another_user_may_not_mount_there(self):
        lines = self.as_nobody(f'!chown 0:0 {self.above}', f'{self.emulate_command()} || echo failed')
        self.assertEqual(lines[1:], ['failed'])
        self.assertRegex(lines[0], '^ioseer emulate: .*: .*(access|permission|permitted)')


if __name__ == '__main__':
    harness.main()
