"""Throttled targets: a file system on a loop device keeps its limits and leaves nothing behind, however it ends."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

import place
from ends import BackgroundEnds, EndsTest, ForegroundEnds
from place import PATIENCE_SECONDS, harness, processes_at

MIB = 1 << 20


def controller(name):
    """Where a controller of cgroup version 1 is mounted; None if there is none."""
    with open('/proc/self/mounts', encoding='utf-8') as lines:
        for _, folder, kind, options, *_ in map(str.split, lines):
            if kind == 'cgroup' and name in options.split(','):
                return folder
    return None


def why_no_block():
    """Why there can be no throttled target here; None if there can."""
    if os.getuid() != 0:
        return 'not root'
    if not os.access('/dev/loop-control', os.R_OK | os.W_OK):
        return 'no loop devices'
    for program in ('mkfs.xfs', 'mkfs.ext4'):
        if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin'):
            return f'no {program}'
    for name in ('blkio', 'memory'):
        if not controller(name) or not os.access(os.path.join(controller(name), 'tasks'), os.W_OK):
            return f'no {name} cgroup of version 1'
    if not glob.glob('/sys/class/bdi/*/strict_limit'):
        return 'no bounds of dirty pages (Linux 6.2)'
    return None


def contents(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except OSError:
        return ''


def name_of(mount):
    """Name of a target's note and group: FNV-1a of the place."""
    value = 0xcbf29ce484222325
    for byte in os.fsencode(mount):
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return f'ioseer-{value:016x}'


def throttled():
    """Numbers of devices with limits."""
    lines = ''.join(contents(os.path.join(controller('blkio'), f'blkio.throttle.{way}_bps_device'))
                    for way in ('read', 'write'))
    return {line.split()[0] for line in lines.splitlines()}


def bounded():
    """Numbers of devices with bounds of dirty pages."""
    return {path.split('/')[-2] for path in glob.glob('/sys/class/bdi/*/strict_limit') if contents(path).strip() == '1'}


class BlockTest(EndsTest, place.StorageTest):
    OPTIONS = ('--block', '320M', '--read-bw', '200M', '--write-bw', '200M', '--memory', '64M')
    TYPE = 'xfs'
    STARTS, START_SECONDS = 24, 0.4
    why_not = staticmethod(why_no_block)

    def device(self):
        """Number of the target's loop device, like 7:0."""
        about = os.stat(self.above)
        return f'{os.major(about.st_dev)}:{os.minor(about.st_dev)}'

    def leftovers(self):
        left = super().leftovers()
        for path in glob.glob('/sys/block/loop*/loop/backing_file'):
            if contents(path).startswith(self.below + '/'):
                left.append(path)
        for number in throttled() | bounded():  # a device without an image is not in use
            if number.startswith('7:') and not os.path.exists(f'/sys/dev/block/{number}/loop'):
                left.append(f'limits of {number}')
        name = name_of(self.above)
        left += [path for path in (os.path.join(controller('memory'), name), f'/run/ioseer/{name}')
                 if os.path.exists(path)]
        return left + os.listdir(self.below)

    def unmount(self):
        harness.ioseer('emulate', '--stop', '--force', self.above)
        super().unmount()

    def write(self, name, size, *flags):
        """Seconds that it takes to write a new file."""
        begin = time.monotonic()
        subprocess.run(['dd', 'if=/dev/zero', f'of={self.above}/{name}', 'bs=1M', f'count={size // MIB}', *flags],
                       check=True, stderr=subprocess.DEVNULL)
        return time.monotonic() - begin


class Kinds(BlockTest):
    def test_file_systems(self):
        os.chown(self.above, 12, 34)
        os.chmod(self.above, 0o750)
        for kind in ('xfs', 'ext4'):
            with self.subTest(kind=kind):
                self.emulate('--fs', kind)
                self.assertEqual(place.mounts_at(self.above), [kind])
                about, space = os.stat(self.above), os.statvfs(self.above)
                self.assertEqual((about.st_uid, about.st_gid, about.st_mode & 0o7777), (12, 34, 0o750))
                self.assertLess(abs(space.f_blocks * space.f_frsize - 320 * MIB), 100 * MIB)
                with open(os.path.join(self.above, 'f'), 'w+', encoding='utf-8') as file:
                    file.write('text')
                    file.seek(0)
                    self.assertEqual(file.read(), 'text')
                self.stop()
                self.await_the_end()

    def test_two_at_once(self):
        other = self.path('other')
        os.mkdir(other)
        self.emulate()
        self.addCleanup(harness.ioseer, 'emulate', '--stop', other)
        self.expect(0, 'emulate', '-q', *self.OPTIONS, self.below, other)
        self.assertNotEqual(os.stat(self.above).st_dev, os.stat(other).st_dev)
        self.expect(0, 'emulate', '--stop', other)
        self.assertIn(self.device(), throttled())
        self.stop()
        self.await_the_end()

    def test_room_below_is_taken_at_once(self):
        lines = self.in_own_world(f'mount -t tmpfs -o size=400M none {self.below}',
                                  ' '.join([harness.IOSEER, 'emulate -q', *self.OPTIONS, self.below, self.above]),
                                  f'df --output=avail -B1M {self.below}',
                                  f'{harness.IOSEER} emulate --stop {self.above}')
        self.assertEqual(lines[1].strip(), '80', lines)
        self.await_the_end()


class Limits(BlockTest):
    """Limited devices are never faster; half a second is more than the kernel's credit."""

    def test_bandwidth(self):
        self.emulate('--read-bw', '8M', '--write-bw', '16M')
        self.assertIn(self.device(), throttled())
        self.assertGreater(self.write('direct', 24 * MIB, 'oflag=direct'), 24 / 16 - 0.5)
        self.assertGreater(self.write('cached', 24 * MIB, 'conv=fsync'), 24 / 16 - 0.5)
        begin = time.monotonic()
        subprocess.run(['dd', f'if={self.above}/cached', 'of=/dev/null', 'bs=1M', 'iflag=direct', 'count=16'],
                       check=True, stderr=subprocess.DEVNULL)
        self.assertGreater(time.monotonic() - begin, 16 / 8 - 0.5)
        self.stop()
        self.await_the_end()

    def test_dirty_pages(self):
        self.emulate('--write-bw', '8M', '--dirty-limit', '4M')
        self.assertIn(self.device(), bounded())
        self.assertGreater(self.write('f', 32 * MIB), (32 - 8) / 8 - 0.5)  # without a limit it takes nearly no time
        self.stop()
        self.await_the_end()

    def test_memory(self):
        self.emulate()
        self.write('f', 80 * MIB, 'conv=fsync')
        self.expect(0, 'emulate', '--run', self.above, '--', 'dd', f'if={self.above}/f', f'of={self.above}/g', 'bs=1M')
        most = int(contents(os.path.join(controller('memory'), name_of(self.above), 'memory.max_usage_in_bytes')))
        self.assertGreater(most, 32 * MIB)
        self.assertLessEqual(most, 64 * MIB)
        self.stop()
        self.await_the_end()


class Run(BlockTest):
    def test_command(self):
        self.emulate()
        done = self.expect(3, 'emulate', '--run', self.above, '--', 'sh', '-c', 'cat /proc/self/cgroup; exit 3')
        self.assertIn(f'memory:/{name_of(self.above)}\n', done.stdout.decode())
        self.assertIn('No such file', self.expect_error(1, 'emulate', '--run', self.above, '--', '/nothing/there'))
        self.stop()

    def test_programs_outlive_the_group(self):
        self.emulate()
        with subprocess.Popen([harness.IOSEER, 'emulate', '--run', self.above, '--', 'sh', '-c', 'echo; exec cat'],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            self.stop()
            self.await_the_end()
            self.assertEqual(program.communicate(b'alive')[0], b'alive')

    def test_nothing_to_run_in(self):
        self.assertIn('no limits', self.expect_error(1, 'emulate', '--run', self.above, '--', 'true'))
        self.expect_error(2, 'emulate', '--run', self.above)
        self.expect(0, 'emulate', '-q', '--block', '320M', self.below, self.above)
        self.assertIn('no limits', self.expect_error(1, 'emulate', '--run', self.above, '--', 'true'))
        self.stop()


class Background(BackgroundEnds, BlockTest):
    def test_in_use(self):
        self.emulate()
        with open(os.path.join(self.above, 'f'), 'wb', buffering=0) as file:
            line = self.expect_error(1, 'emulate', '--stop', self.above)
            self.assertIn(f'({os.getpid()})', line)
            device = self.device()
            self.assertIn(device, throttled())
            self.expect(0, 'emulate', '--stop', '--force', self.above)
            self.assertEqual(place.mounts_at(self.above), [])
            self.assertNotIn(device, throttled() | bounded())
            file.write(b'as long as it is open')
        self.await_the_end()

    def test_killed_while_written_to(self):
        for which in (0, 1):
            with self.subTest(which=which):
                self.emulate('--write-bw', '1M')
                self.assertEqual(self.kill_while_written_to(which, 'bs=1M', 'count=100'), 0)
                self.await_the_end()

    def test_stopped_while_it_is_made(self):
        for pause in (0, 0.02, 0.05, 0.1, 0.2):
            with subprocess.Popen([harness.IOSEER, 'emulate', '-q', *self.OPTIONS, self.below, self.above],
                                  stderr=subprocess.DEVNULL) as starting:
                time.sleep(pause)
                harness.ioseer('emulate', '--stop', self.above)
                starting.wait(PATIENCE_SECONDS)
            harness.ioseer('emulate', '--stop', self.above)
            self.await_the_end()

    def test_made_again_at_once_after_a_kill(self):
        for which in (0, 1):
            self.emulate()
            for _ in range(4):
                os.kill(processes_at(self.above)[which][0], signal.SIGKILL)
                until = time.monotonic() + PATIENCE_SECONDS
                while harness.ioseer('emulate', '-q', *self.OPTIONS, self.below, self.above).returncode:
                    self.assertLess(time.monotonic(), until)
                self.assertEqual(place.mounts_at(self.above), [self.TYPE])
                self.assertIn(self.device(), throttled())
                self.assertEqual(len(sum(processes_at(self.above), [])), 2)
                self.expect(0, 'emulate', '--run', self.above, '--', 'true')
            self.stop()
            self.await_the_end()

    def test_leftovers_go_with_the_next_one_elsewhere(self):
        self.emulate()
        self.kill_both()
        other = self.path('other')
        os.mkdir(other)
        self.addCleanup(harness.ioseer, 'emulate', '--stop', other)
        self.expect(0, 'emulate', '-q', *self.OPTIONS, self.path('below'), other)
        self.assertEqual(place.mounts_at(self.above), [])
        self.expect(0, 'emulate', '--stop', other)
        self.await_the_end()

    def test_two_that_find_the_same_leftovers(self):
        """The slower one must not remove what the faster one has made at the same place."""
        other = self.path('other')
        os.mkdir(other)
        self.addCleanup(harness.ioseer, 'emulate', '--stop', other)
        for _ in range(12):
            self.emulate()
            self.kill_both()
            starting = [subprocess.Popen([harness.IOSEER, 'emulate', '-q', *self.OPTIONS, self.below, mount])
                        for mount in (other, self.above)]
            self.assertEqual([each.wait(PATIENCE_SECONDS) for each in starting], [0, 0])
            for mount in (self.above, other):
                self.expect(0, 'emulate', '--stop', mount)
            self.await_the_end()


class Foreground(ForegroundEnds, BlockTest):
    def await_command(self):
        """Until `emulate` runs: before that it cannot know whose child it was."""
        command, until = os.path.realpath(harness.IOSEER), time.monotonic() + PATIENCE_SECONDS
        while command not in [os.path.realpath(f'/proc/{pid}/exe') for pid in sum(processes_at(self.above), [])]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_killed_with_its_parent_while_it_is_made(self):
        program = 'import subprocess, sys; subprocess.run(sys.argv[1:])'
        for pause in (0.05, 0.1, 0.2, 0.4):
            with subprocess.Popen([sys.executable, '-c', program, harness.IOSEER, 'emulate', '--foreground',
                                   *self.OPTIONS, self.below, self.above]) as parent:
                self.await_command()
                time.sleep(pause)
                parent.kill()
            self.await_the_end()


class Trouble(BlockTest):
    """One line says what is wrong, and nothing stays."""

    def expect_trouble(self, text, *before, options=()):
        command = ' '.join([harness.IOSEER, 'emulate', *self.OPTIONS, *options, self.below, self.above])
        lines = self.in_own_world(*before, f'{command} || echo failed')
        self.assertEqual(lines[1:], ['failed'], lines)
        self.assertRegex(lines[0], f'^ioseer emulate: .*: .*{text}')
        self.await_the_end()

    def test_full_disk(self):
        self.expect_trouble('No space left', f'mount -t tmpfs -o size=100M none {self.below}')
        self.expect_trouble('No space left|too large', options=['--block', '4000T'])

    def test_read_only_folder(self):
        self.expect_trouble('Read-only', f'mount -t tmpfs -o ro none {self.below}')

    def test_no_room_for_notes(self):
        self.expect_trouble('/run/ioseer: Read-only', 'mount -t tmpfs -o ro none /run')

    def test_missing_programs(self):
        for kind, package in (('xfs', 'xfsprogs'), ('ext4', 'e2fsprogs')):
            program = shutil.which(f'mkfs.{kind}', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
            hidden = [f'mount --bind /dev/null {path}' for path in
                      {os.path.realpath(program), *glob.glob(f'/usr/sbin/mkfs.{kind}'), *glob.glob(f'/sbin/mkfs.{kind}')}]
            self.expect_trouble(f'no mkfs.{kind} here .package {package}', *hidden, options=['--fs', kind])

    def test_no_loop_devices(self):
        self.expect_trouble('/dev/loop-control', 'mount --bind /dev/null /dev/loop-control')

    def test_no_controllers(self):
        self.expect_trouble('cannot throttle', f'umount -l {controller("blkio")}')
        self.expect_trouble('no memory groups', f'umount -l {controller("memory")}')

    def test_too_small(self):
        self.expect_trouble('mkfs.xfs: .', options=['--block', '1M'])
        self.expect_trouble('mkfs.ext4: .', options=['--block', '4k', '--fs', 'ext4'])

    def test_not_root(self):
        command = [harness.IOSEER, 'emulate', *self.OPTIONS, self.below, self.above]
        for folder in (self.folder, self.below, self.above):
            os.chmod(folder, 0o777)
        done = harness.run('setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', *command)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'only root', done.stderr)
        self.await_the_end()

    def test_words(self):
        for words in (('--fs', 'vfat'), ('--preset', 'hdd'), ('--latency', '1ms'), ('--cache', 'kernel')):
            self.expect_error(2, 'emulate', *self.OPTIONS, *words, self.below, self.above)
        for words in (('--fs', 'xfs'), ('--memory', '1G'), ('--dirty-limit', '1M')):
            self.expect_error(2, 'emulate', *words, self.below, self.above)
        self.await_the_end()

    def test_places_that_cannot_be_mounted_on(self):
        for below, above in ((self.below, self.path('missing')), (self.path('missing'), self.above),
                             (self.below, self.folder)):
            self.expect_error(1, 'emulate', *self.OPTIONS, below, above)
        self.emulate()
        self.assertIn('already', self.expect_error(1, 'emulate', *self.OPTIONS, self.below, self.above))
        self.stop()
        self.await_the_end()


if __name__ == '__main__':
    harness.main()
