"""Nothing of a stack is left, whatever is killed, and a server that is killed leaves the rest."""
import os
import random
import shutil
import signal
import subprocess
import time

from gluster import PATIENCE_SECONDS, harness
from stacks import MEBI, STACKS, StackTest, processes_with


class Ends(StackTest):
    def test_a_killed_server_leaves_the_rest(self):
        stack = self.up('--servers', '2')
        for index in range(8):
            self.write(stack['mount'], f'file{index}')
        lost = [name for name in os.listdir(stack['mount']) if os.path.exists(os.path.join(stack['servers'][1]['brick'], name))]
        os.kill(stack['servers'][1]['pid'], signal.SIGKILL)
        time.sleep(0.2)
        self.assertEqual([server['alive'] for server in self.status()['servers']], [True, False])
        self.assertIn('dead', self.expect(0, 'stack', 'status', self.name).stdout.decode())
        for index in range(8):
            if f'file{index}' in lost:
                with self.assertRaises(OSError):
                    self.read(stack['mount'], f'file{index}')
            else:
                self.assertEqual(self.read(stack['mount'], f'file{index}'), b'text')
        self.down()

    def test_each_other_process_ends_it(self):
        for which in (0, 1, 2):
            for number in (signal.SIGKILL, signal.SIGTERM):
                with self.subTest(which=which, number=number):
                    stack = self.up('--servers', '2')
                    self.write(stack['mount'], 'file')
                    os.kill(self.own_processes()[which][0], number)
                    self.await_nothing()

    def test_killed_while_in_use(self):
        for which in (0, 1, 2):
            with self.subTest(which=which):
                stack = self.up('--servers', '2')
                with subprocess.Popen(['dd', 'if=/dev/zero', f'of={stack["mount"]}/file', 'bs=1M', 'count=100000'],
                                      stderr=subprocess.DEVNULL) as writer:
                    time.sleep(0.3)
                    os.kill(self.own_processes()[which][0], signal.SIGKILL)
                    self.assertNotEqual(writer.wait(PATIENCE_SECONDS), 0)
                self.await_nothing()

    def test_all_killed_at_once(self):
        for command in (('stack', 'list'), ('stack', 'up', self.name, '--servers', '1', '--plain')):
            with self.subTest(command=command[1]):
                brick = self.path(f'brick-{command[1]}')
                self.up('--servers', '1', '--bricks', brick, '--emulate', 'nvme', '--mount', self.path('mount'))
                processes = list(processes_with(f'stack up {self.name} '))
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    for pid in processes:
                        os.kill(pid, number)
                until = time.monotonic() + PATIENCE_SECONDS
                while processes_with(self.name) and time.monotonic() < until:
                    time.sleep(0.01)
                self.expect(0, *command)
                if command[1] == 'up':
                    self.down()
                self.assertEqual(self.leftovers(self.name), [])
                self.assertFalse(os.path.exists(self.path('mount')))
                self.assertNotIn('trusted.glusterfs.volume-id', os.listxattr(brick))

    def test_killed_at_any_moment_of_the_start(self):
        for turn in range(12):
            starting = subprocess.Popen([harness.IOSEER, 'stack', 'up', self.name, '--servers', '2'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.5))
            victims = [starting.pid] if turn % 2 else list(processes_with(self.name)) or [starting.pid]
            for pid in random.sample(victims, 1):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            starting.wait(PATIENCE_SECONDS)
            time.sleep(0.2)
            harness.ioseer('stack', 'down', '--force', self.name)
            self.await_nothing()

    def test_down_while_it_starts(self):
        env = self.glusterfsd('exec python3 -c "import time; time.sleep(100)" "$@"')
        for options, how in (((), ()), (('--emulate', 'nvme'), ()), ((), ('--force',))):
            with self.subTest(options=options, how=how):
                up = subprocess.Popen([harness.IOSEER, 'stack', 'up', self.name, '--servers', '2', *options],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
                self.await_true(lambda: processes_with(f'{STACKS}/{self.name}/server-1'))
                start = time.monotonic()
                self.down(*how)
                self.assertLess(time.monotonic() - start, 10)  # it would wait for the servers for 20 seconds
                said = up.communicate(timeout=PATIENCE_SECONDS)
                self.assertEqual((up.returncode, *said),
                                 (1, b'', f'ioseer stack: {self.name}: ended before it was ready\n'.encode()))

    def test_down_at_any_moment_of_the_start(self):
        for _ in range(10):
            up = subprocess.Popen([harness.IOSEER, 'stack', 'up', self.name, '--servers', '2', '--plain'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(random.uniform(0, 0.4))
            done = harness.ioseer('stack', 'down', self.name)
            said = up.communicate(timeout=PATIENCE_SECONDS)[1]
            self.assertLessEqual(len(said.splitlines()), 1, said)
            self.assertEqual(up.returncode, 1 if said else 0)
            if done.returncode:
                self.assertIn(b'no such stack', done.stderr)  # it had not begun
                self.down()
            self.await_nothing()

    def test_with_a_process(self):
        with subprocess.Popen(['sleep', '1000']) as process:
            self.up('--servers', '1', '--while', str(process.pid))
            time.sleep(1.5)  # longer than it takes to notice
            self.assertTrue(self.status()['mount_ok'])
            process.kill()
        self.await_nothing()
        self.assertIn('no such process', self.expect_error(2, 'stack', 'up', self.name, '--while', str(process.pid)))

    def test_doctor_killed(self):
        with subprocess.Popen([harness.IOSEER, 'doctor'], stdout=subprocess.DEVNULL) as doctor:
            name = f'doctor-{doctor.pid}'
            self.await_true(lambda: os.path.exists(f'{STACKS}/{name}'))
            doctor.kill()
        self.await_nothing(name)

    def test_unreadable_notes(self):
        folder = f'{STACKS}/{self.name}'
        for spoil in (lambda: os.unlink(f'{folder}/stack'), lambda: self.write(folder, 'stack', data=b'\xff' * 99)):
            stack = self.up('--servers', '1')
            spoil()
            for action in ('up', 'down'):
                line = self.expect_error(1, 'stack', action, self.name)
                self.assertRegex(line, 'notes cannot be read; end glusterfs.*first')
            self.assertIn('notes cannot be read', self.expect_error(1, 'stack', 'status', self.name))
            subprocess.run(['umount', stack['mount']], check=True)
            self.await_nothing()
            for action in ('up', 'down'):
                os.makedirs(f'{folder}/bricks/0', exist_ok=True)
                spoil_path = f'{folder}/server-0.vol'
                self.write(spoil_path)
                self.expect(0, 'stack', action, self.name, *(['--plain'] if action == 'up' else []))
                self.assertFalse(action == 'down' and os.path.exists(folder))
                if action == 'up':
                    self.down()

    def test_a_folder_of_others_in_the_way(self):
        folder = f'{STACKS}/{self.name}'
        os.makedirs(folder)
        self.addCleanup(shutil.rmtree, folder)
        self.write(folder, 'thesis')
        for action in ('up', 'down'):
            self.assertIn("is not a stack's", self.expect_error(1, 'stack', action, self.name))
        self.assertEqual(os.listdir(folder), ['thesis'])

    def test_removed_half(self):
        for name in (f'.{self.name}.999999999', f'.{self.name}.{os.getpid()}'):  # no process, and none of ioseer's
            os.makedirs(f'{STACKS}/{name}/bricks/0')
            self.expect(0, 'stack', 'list')
            self.assertFalse(os.path.exists(f'{STACKS}/{name}'))

    def test_unmounted_by_another(self):
        stack = self.up('--servers', '1')
        subprocess.run(['umount', stack['mount']], check=True)
        self.await_nothing()

    def test_in_use(self):
        stack = self.up('--servers', '1')
        fd = os.open(os.path.join(stack['mount'], 'file'), os.O_CREAT | os.O_WRONLY)
        line = self.expect_error(1, 'stack', 'down', self.name)
        self.assertIn('in use by', line)
        self.assertIn(f'({os.getpid()})', line)
        os.write(fd, b'still there')
        self.down('--force')
        for call in (lambda: os.write(fd, b'x'), lambda: os.close(fd)):
            with self.assertRaises(OSError):
                call()

    def test_a_client_that_hangs(self):
        stack = self.up('--servers', '1')
        client = self.own_processes()[2][0]
        os.kill(client, signal.SIGSTOP)
        start = time.monotonic()
        self.assertFalse(self.status()['mount_ok'])
        self.assertLess(time.monotonic() - start, 30)
        self.down('--force')
        self.assertFalse(os.path.exists(stack['mount']))

    def test_nothing_is_lost_when_it_ends(self):
        data, brick = os.urandom(8 * MEBI), self.path('brick')
        stack = self.up('--cache', 'kernel', '--bricks', brick)
        self.write(stack['mount'], 'file', data=data)
        self.down()
        self.assertEqual(self.read(brick, 'file'), data)


if __name__ == '__main__':
    harness.main()
