"""No mount and no process is left, however the emulator ends."""
import os
import shutil
import signal
import subprocess

import place
from ends import BackgroundEnds, EndsTest, ForegroundEnds
from place import harness, processes_at


class Mounted(EndsTest, place.MountTest):
    TYPE = 'fuse.ioseer'


class Background(BackgroundEnds, Mounted):
    def test_killed_with_requests_under_way(self):
        for which in (0, 1):
            with self.subTest(which=which):
                self.emulate('--write-bw', '1M', '--latency', '1s')
                self.assertNotEqual(self.kill_while_written_to(which, 'bs=4M', 'count=1'), 0)
                self.await_the_end()

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


class Foreground(ForegroundEnds, Mounted):
    pass


class Trouble(Mounted):
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

    def emulate_command(self, *options):
        return ' '.join([harness.IOSEER, 'emulate', '-q', *options, self.below, self.above])

    def test_no_device(self):
        lines = self.in_own_world('mount -t tmpfs none /dev', f'{self.emulate_command()} || echo failed')
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], '^ioseer emulate: .*: .*(fuse|device)')

    def as_nobody(self, *commands):
        """Runs another user's commands, with /dev/fuse open to all users, as on most machines."""
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
