"""What the tests of `ioseer stack` share: stacks that go away with their test, and what is left of one."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import gluster
from gluster import PATIENCE_SECONDS, harness

STACKS = '/var/lib/ioseer/stack'
MEBI = 1 << 20
SILENT_SECONDS = 20  # after which the two sides of a connection between hosts give each other up


def processes_with(text):
    """Process ids and command lines that contain the text."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as words, open(f'/proc/{pid}/stat', encoding='ascii') as about:
                line = words.read().replace(b'\0', b' ').decode('utf-8', 'replace')
                if text in line and about.read().rpartition(')')[2].split()[0] not in 'ZX':
                    found[int(pid)] = line
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def mounts():
    with open('/proc/self/mounts', encoding='utf-8') as lines:
        return [line.split()[:2] for line in lines]


def files_below(folder):
    """Names of files with data, GlusterFS's own bookkeeping left out."""
    found = []
    for at, folders, names in os.walk(folder):
        if os.path.basename(at) == '.glusterfs':
            folders[:] = [name for name in folders if name.startswith('ioseer-')]
            names = []
        found += [os.path.join(at, name) for name in names if os.stat(os.path.join(at, name)).st_size]
    return found


class StackTest(harness.CommandLineTest):
    NUMBER = 0

    @classmethod
    def setUpClass(cls):
        reason = gluster.why_not()
        if reason:
            raise harness.unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.names = []
        self.name = self.new_name()

    def new_name(self):
        StackTest.NUMBER += 1
        name = f'test-{os.getpid()}-{StackTest.NUMBER}'
        self.names.append(name)
        self.addCleanup(harness.ioseer, 'stack', 'down', '--force', name)
        return name

    def up(self, *options, name=None):
        return self.json('stack', 'up', name or self.name, '--json', *options)

    def status(self, name=None):
        return self.json('stack', 'status', name or self.name, '--json')

    def down(self, *options, name=None):
        self.expect(0, 'stack', 'down', name or self.name, *options)
        self.assertEqual(self.leftovers(name or self.name), [])

    def leftovers(self, name):
        left = [f'mounted: {point}' for source, point in mounts() if name in source or name in point]
        left += [f'process {pid}: {line}' for pid, line in processes_with(name).items()]
        return left + [entry for place in (STACKS, '/dev/shm') if os.path.exists(place) for entry in os.listdir(place)
                       if name in entry]

    def await_nothing(self, name=None):
        until = time.monotonic() + PATIENCE_SECONDS
        while self.leftovers(name or self.name) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(self.leftovers(name or self.name), [])

    def await_true(self, condition):
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition() and time.monotonic() < until:
            time.sleep(0.02)
        self.assertTrue(condition())

    def glusterfsd(self, before):
        """A glusterfsd for the PATH that runs a line of the shell first, with the volume file in $3."""
        folder = self.path('bin')
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, 'glusterfsd'), 'w', encoding='utf-8') as script:
            script.write(f'#!/bin/sh\n[ "$1" != -N ] || {{ {before}; }}\nexec /usr/sbin/glusterfsd "$@"\n')
            os.chmod(script.name, 0o755)
        return {'PATH': folder + ':' + os.environ['PATH']}

    def own_processes(self):
        """Guard and keeper, then clients, then servers."""
        ours = processes_with(f'stack up {self.name} ')
        glusters = processes_with(f'{STACKS}/{self.name}/')
        guards = [pid for pid in ours if self.parent(pid) not in ours]
        return (guards, [pid for pid in ours if pid not in guards],
                [pid for pid, line in glusters.items() if '/client-' in line],
                [pid for pid, line in glusters.items() if '/server-' in line])

    @staticmethod
    def parent(pid):
        with open(f'/proc/{pid}/stat', encoding='ascii') as about:
            return int(about.read().rpartition(')')[2].split()[1])

    @staticmethod
    def write(*path, data=b'text'):
        with open(os.path.join(*path), 'wb', buffering=0) as file:
            file.write(data)

    @staticmethod
    def read(*path):
        with open(os.path.join(*path), 'rb') as file:
            return file.read()


class HostsTest(StackTest):
    """Servers on other hosts: network namespaces, each joined to this one by a cable of its own."""
    COUNT = 2
    REMOTE = 'ip netns exec {host}'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('ip') or harness.run('ip', 'netns', 'add', f'ioseer{os.getpid()}x').returncode:
            raise harness.unittest.SkipTest('no network namespaces (package iproute2)')
        cls.ip('netns', 'del', f'ioseer{os.getpid()}x')
        cls.addresses = {}
        for index in range(cls.COUNT):
            name, here, there = (f'io{kind}{os.getpid()}-{index}' for kind in ('n', 'h', 't'))
            network = f'10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}.{index * 4}'.rpartition('.')
            addresses = [f'{network[0]}.{int(network[2]) + host}' for host in (1, 2)]
            cls.ip('netns', 'add', name)
            cls.addClassCleanup(cls.ip, 'netns', 'del', name)
            cls.ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
            cls.addClassCleanup(cls.ip, 'link', 'del', here)
            cls.ip('addr', 'add', addresses[0] + '/30', 'dev', here)
            cls.ip('link', 'set', here, 'up')
            for words in (('addr', 'add', addresses[1] + '/30', 'dev', there), ('link', 'set', there, 'up'), ('link', 'set', 'lo', 'up')):
                cls.ip('-n', name, *words)
            cls.addresses[name] = addresses[1]

    @staticmethod
    def ip(*words):
        done = harness.run('ip', *words)
        if done.returncode:
            raise RuntimeError(f'ip {words}: {done.stderr!r}')

    def hosts(self):
        return ','.join(f'{name}={address}' for name, address in self.addresses.items())

    def up_there(self, *options):
        return self.up('--hosts', self.hosts(), '--remote', self.REMOTE, *options)

    def await_dead(self, server):
        until = time.monotonic() + SILENT_SECONDS + PATIENCE_SECONDS
        while self.status()['servers'][server]['alive'] and time.monotonic() < until:
            time.sleep(0.2)
        self.assertFalse(self.status()['servers'][server]['alive'])

    @staticmethod
    def kill(pid, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class SshTest(HostsTest):
    """The same by ssh: on each host a server of it, with a host name and a time of its own (`CLOCKS` seconds ahead)."""
    CLOCKS = (0, 0)

    @classmethod
    def setUpClass(cls):
        missing = [f'{name} (package {package})' for name, package in (('ssh', 'openssh-client'), ('ssh-keygen', 'openssh-client'), (
            'dropbear', 'dropbear-bin'), ('dropbearkey', 'dropbear-bin')) if not shutil.which(name)]
        if missing:
            raise harness.unittest.SkipTest('no ' + ', '.join(missing))
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.keys = folder.name
        cls.make_keys()
        for index, name in enumerate(cls.addresses):
            cls.start_server(name, cls.CLOCKS[index])
        cls.REMOTE = f"ssh -F '{cls.keys}/config' {{host}}"

    @classmethod
    def make_keys(cls):
        home = os.path.expanduser('~root/.ssh')
        if not os.path.isdir(home):  # to mount something on
            os.mkdir(home, 0o700)
            cls.addClassCleanup(os.rmdir, home)
        os.mkdir(f'{cls.keys}/ssh', 0o700)
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{cls.keys}/key'], check=True)
        os.rename(f'{cls.keys}/key.pub', f'{cls.keys}/ssh/authorized_keys')
        subprocess.run(['dropbearkey', '-t', 'ed25519', '-f', f'{cls.keys}/host'], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with open(f'{cls.keys}/config', 'w', encoding='ascii') as file:
            for name, address in cls.addresses.items():
                file.write(f'Host {name}\n HostName {address}\n')
            file.write(f'Host *\n IdentityFile {cls.keys}/key\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n')

    @classmethod
    def start_server(cls, name, ahead_seconds):
        words = ['ip', 'netns', 'exec', name, 'unshare', '--mount', '--uts', '--time', '--monotonic', str(ahead_seconds), '--fork',
                 '--kill-child', 'sh', '-c', 'hostname "$1" && mount --bind "$2/ssh" ~root/.ssh && exec dropbear -F -E -r "$2/host"', 'sh',
                 name, cls.keys]
        with open(f'{cls.keys}/{name}.log', 'wb') as log:
            server = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        until = time.monotonic() + PATIENCE_SECONDS
        while harness.run('bash', '-c', f'exec 3<>/dev/tcp/{cls.addresses[name]}/22').returncode:
            if server.poll() is not None or time.monotonic() > until:
                raise harness.unittest.SkipTest('dropbear does not run: ' + cls.read(f'{cls.keys}/{name}.log').decode())
            time.sleep(0.05)
