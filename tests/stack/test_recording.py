"""Recordings of a stack: what the probes saw while one was under way, all of it and nothing else, however it ends."""
import contextlib
import glob
import os
import signal
import struct
import subprocess
import time

import gluster
from gluster import HEADER_BYTES, LAYERS, PATIENCE_SECONDS, RECORD_BYTES, harness
from stacks import STACKS, HostsTest, StackTest

RECORDING = os.path.join(gluster.BUILD, 'tests', 'stack', 'stack-recording')
SEGMENT_RECORDS = 1 << 14


class RecordingTest(StackTest):
    def setUp(self):
        super().setUp()
        self.spills = 0

    def new_spill(self):
        self.spills += 1
        os.mkdir(self.path(f'spill{self.spills}'))
        return self.path(f'spill{self.spills}')

    def record(self, command, spill=None):
        """Records a shell command; gives the directory with what was collected."""
        spill = spill or self.new_spill()
        done = harness.run(RECORDING, 'begin', self.name, spill, command)
        self.assertEqual((done.returncode, done.stdout), (0, b''))
        return spill

    def collect(self, spill):
        self.assertEqual(harness.run(RECORDING, 'collect', spill).returncode, 0)

    def begin(self, command, spill):
        process = subprocess.Popen([RECORDING, 'begin', self.name, spill, command], start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(self.kill_group, process.pid)
        return process

    @staticmethod
    def kill_group(pid):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    @staticmethod
    def written(spill):
        """Bytes by layer and by server of the calls of dd, by the names of the probes' files."""
        sums = dict.fromkeys(LAYERS.values(), 0)
        for path in glob.glob(os.path.join(spill, '*.probe')):
            with open(path, 'rb') as file:
                data = file.read()
            number, _, layer, _, following, lost = gluster.read_header(data)
            first, = struct.unpack_from('<Q', data, 280 + 32)
            assert (number, lost) == (int(os.path.basename(path).split('.')[0]), 0)
            assert len(data) == HEADER_BYTES + (following - first) * RECORD_BYTES, (path, first, following, len(data))
            for place in range(following - first):
                _, start, end, _, size, _, result, _, operation = struct.unpack_from(
                    '<6QiIH', data, HEADER_BYTES + place * RECORD_BYTES)
                assert end >= start > 0
                if gluster.OPERATIONS[operation:operation + 1] == ['writev'] and result == size:
                    sums[layer] += size
        return sums

    def assert_written(self, spill, size):
        self.assertEqual(self.written(spill), dict.fromkeys(LAYERS.values(), size))

    def dd(self, stack, name, count, bs='1M'):
        return f'dd if=/dev/zero of={stack["mount"]}/{name} bs={bs} count={count} 2>/dev/null'

    def await_recordings(self, count):
        until = time.monotonic() + PATIENCE_SECONDS
        while self.status()['recordings'] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def killed_then_down(self, stack):
        """The stack of a recording that was killed ends before anybody collects the records."""
        spill = self.new_spill()
        recorder = self.begin(f'{self.dd(stack, "f", 2)}; touch {self.path("done")}; sleep 1000', spill)
        while not os.path.exists(self.path('done')):
            time.sleep(0.02)
        self.kill_group(recorder.pid)
        recorder.wait()
        self.await_recordings(0)
        self.down()
        self.assert_written(spill, 2 << 20)
        before = {path: os.stat(path).st_mtime_ns for path in glob.glob(spill + '/*')}
        self.collect(spill)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in glob.glob(spill + '/*')}, before)


class Recordings(RecordingTest):
    def test_each_has_its_own_records(self):
        stack = self.up('--servers', '3', '--pin', 'here=1')
        for index, name in enumerate(('f', 'g', 'here/h')):
            harness.run('sh', '-c', self.dd(stack, 'unseen', 3))
            spill = self.record(self.dd(stack, name, 4 + index))
            self.assert_written(spill, (4 + index) << 20)
            before = {path: os.stat(path).st_mtime_ns for path in glob.glob(spill + '/*')}
            self.collect(spill)
            self.assertEqual({path: os.stat(path).st_mtime_ns for path in glob.glob(spill + '/*')}, before)
        self.assertEqual(self.status()['recordings'], 0)
        self.down()

    def test_earlier_losses_are_not_its_own(self):
        """A probe counts the calls without a record since the stack began."""
        stack = self.up('--servers', '1')
        for path in glob.glob(f'/dev/shm/ioseer-stack-{self.name}-*/*.probe'):
            with open(path, 'r+b') as probe:
                probe.seek(280 + 6 * 8)
                probe.write(struct.pack('<Q', 1000))
        self.assert_written(self.record(self.dd(stack, 'f', 2)), 2 << 20)
        self.down()

    def test_two_at_once(self):
        stack = self.up('--servers', '2')
        spills = [self.new_spill() for _ in range(2)]
        first = self.begin(f'{self.dd(stack, "f", 2)}; touch {self.path("one")}; '
                           f'while [ ! -e {self.path("two")} ]; do sleep 0.05; done', spills[0])
        while not os.path.exists(self.path('one')):
            time.sleep(0.02)
        self.record(f'{self.dd(stack, "g", 3)}; [ "$("{harness.IOSEER}" stack status {self.name} | grep -c "2 recordings")" = 1 ]',
                    spills[1])
        with open(self.path('two'), 'wb'):
            pass
        self.assertEqual(first.wait(PATIENCE_SECONDS), 0)
        self.assert_written(spills[0], 5 << 20)
        self.assert_written(spills[1], 3 << 20)

    def test_records_are_freed(self):
        stack = self.up('--servers', '1', '--layers', 'client')
        spill = self.record(self.dd(stack, 'f', 2 * SEGMENT_RECORDS + 100, bs='1'))
        self.assertEqual(self.written(spill)[LAYERS['client']], 2 * SEGMENT_RECORDS + 100)
        used = [os.stat(path).st_blocks * 512 for path in glob.glob(f'/dev/shm/ioseer-stack-{self.name}-*/*.probe')]
        self.assertEqual(len(used), 1)
        self.assertLessEqual(used[0], HEADER_BYTES + SEGMENT_RECORDS * RECORD_BYTES)

    def test_killed(self):
        stack = self.up('--servers', '1')
        spill = self.new_spill()
        recorder = self.begin(f'{self.dd(stack, "f", 2)}; touch {self.path("done")}; sleep 1000', spill)
        while not os.path.exists(self.path('done')):
            time.sleep(0.02)
        self.assertEqual(self.status()['recordings'], 1)
        recorder.kill()
        recorder.wait()
        self.await_recordings(0)
        harness.run('sh', '-c', self.dd(stack, 'unseen', 3))
        self.collect(spill)
        self.assert_written(spill, 2 << 20)

    def test_stack_ends_meanwhile(self):
        for how in ('down', 'client', 'keeper'):
            with self.subTest(how=how):
                stack = self.up('--servers', '2')
                pid = {'client': 2, 'keeper': 1, 'down': 0}[how]
                end = f'"{harness.IOSEER}" stack down {self.name}' if how == 'down' else \
                    f'kill -9 {self.own_processes()[pid][0]}'
                spill = self.record(f'{self.dd(stack, "f", 2)}; {end}; while [ -e {STACKS}/{self.name} ]; do sleep 0.05; done')
                self.assert_written(spill, 2 << 20)
                self.await_nothing()
                self.collect(spill)
                self.assert_written(spill, 2 << 20)

    def test_killed_then_down(self):
        self.killed_then_down(self.up('--servers', '2'))

    def test_a_folder_of_another_user(self):
        theirs = f'/dev/shm/ioseer-stack-{self.name}-1'
        os.mkdir(theirs)
        self.addCleanup(harness.run, 'rm', '-rf', theirs)
        os.mkdir(f'{theirs}/a')
        os.chown(theirs, 65534, 65534)
        self.expect(0, 'stack', 'list')
        self.assertTrue(os.path.isdir(f'{theirs}/a'))

    def test_records_of_a_recording_that_nobody_collects(self):
        stack = self.up('--servers', '1', '--layers', 'client')
        spill = self.new_spill()
        recorder = self.begin(f'touch {self.path("done")}; sleep 1000', spill)
        while not os.path.exists(self.path('done')):
            time.sleep(0.02)
        recorder.kill()
        recorder.wait()
        harness.run('rm', '-r', spill)
        self.record(self.dd(stack, 'f', 1))
        self.assertEqual(glob.glob(f'/dev/shm/ioseer-stack-{self.name}-*/recording-*'), [])

    def test_trouble(self):
        def begin():
            done = harness.run(RECORDING, 'begin', self.name, self.new_spill(), 'true')
            return done.returncode, done.stdout.decode()
        self.assertIn('no such stack', begin()[1])
        self.up('--servers', '1', '--plain')
        self.assertIn('--plain', begin()[1])
        self.collect(self.new_spill())
        self.down()
        self.up('--servers', '1')
        spill = self.record('true')
        os.chown(os.path.join(spill, f'{self.name}.stack'), 65534, -1)
        self.assertIn(b'not permitted', harness.run(RECORDING, 'collect', spill).stdout)


class OnOtherHosts(RecordingTest, HostsTest):
    def test_records_of_servers_there(self):
        stack = self.up_there('--pin', 'here=1')
        for index, name in enumerate(('f', 'here/h')):
            harness.run('sh', '-c', self.dd(stack, 'unseen', 3))
            self.assert_written(self.record(self.dd(stack, name, 4 + index)), (4 + index) << 20)
        self.down()

    def test_killed_there(self):
        """The probes of other hosts stop, too, when a recording is killed."""
        stack = self.up_there()
        recorder = self.begin(f'touch {self.path("done")}; sleep 1000', self.new_spill())
        while not os.path.exists(self.path('done')):
            time.sleep(0.02)
        pages = glob.glob(f'/dev/shm/ioseer-stack-{self.name}*/control')
        self.assertEqual([self.recorders(page) for page in pages], [1] * (1 + self.COUNT))
        recorder.kill()
        recorder.wait()
        until = time.monotonic() + PATIENCE_SECONDS
        while any(self.recorders(page) for page in pages) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([self.recorders(page) for page in pages], [0] * (1 + self.COUNT))
        self.assert_written(self.record(self.dd(stack, 'f', 2)), 2 << 20)

    @staticmethod
    def recorders(page):
        with open(page, 'rb') as file:
            return struct.unpack('<I', file.read(4))[0]

    def test_a_host_that_is_lost(self):
        stack = self.up_there()
        spill = self.new_spill()
        self.record(f'{self.dd(stack, "f", 2)}; kill -9 {stack["servers"][0]["pid"]}; sleep 0.5', spill)
        self.assertEqual(self.written(spill)[LAYERS['client']], 2 << 20)
        self.assertIn(b'the server had ended', self.read(spill, f'{self.name}.stack'))
        log = super(RecordingTest, self).record('sh', '-c', self.dd(stack, 'g', 2) + '; true', options=('--stack', self.name))
        self.assertEqual([server['missing'] for server in self.json('info', '--json', log)['stack']['servers']], ['the server had ended', None])
        self.assertIn('What server 0 did is missing: the server had ended', self.expect(0, 'info', log).stdout.decode())
        self.down('--force')

    def test_stack_ends_meanwhile(self):
        for how in ('down', 'client'):
            with self.subTest(how=how):
                stack = self.up_there()
                end = f'"{harness.IOSEER}" stack down {self.name}' if how == 'down' else f'kill -9 {self.own_processes()[2][0]}'
                spill = self.record(f'{self.dd(stack, "f", 2)}; {end}; while [ -e {STACKS}/{self.name} ]; do sleep 0.05; done')
                self.assert_written(spill, 2 << 20)
                self.await_nothing()

    def test_a_killed_stack(self):
        """If nobody could save what the servers recorded, that is said."""
        stack = self.up_there()
        log = super(RecordingTest, self).record(
            'sh', '-c', f'{self.dd(stack, "f", 2)}; kill -9 {self.own_processes()[1][0]}; while [ -e {STACKS}/{self.name} ]; do sleep 0.05; done',
            options=('--stack', self.name))
        self.assertEqual([server['missing'] for server in self.json('info', '--json', log)['stack']['servers']], ['the stack had ended'] * 2)
        self.await_nothing()

    def test_killed_then_down(self):
        self.killed_then_down(self.up_there())

    def test_others_free_nothing(self):
        """Recordings that end leave the records of one that was killed."""
        stack = self.up_there()
        spill, count = self.new_spill(), SEGMENT_RECORDS + 100
        recorder = self.begin(f'{self.dd(stack, "f", count, bs=1)}; touch {self.path("done")}; sleep 1000', spill)
        while not os.path.exists(self.path('done')):
            time.sleep(0.02)
        recorder.kill()
        recorder.wait()
        self.await_recordings(0)
        self.assert_written(self.record(self.dd(stack, 'g', 1)), 1 << 20)
        self.collect(spill)
        self.assert_written(spill, count + (1 << 20))


if __name__ == '__main__':
    harness.main()
