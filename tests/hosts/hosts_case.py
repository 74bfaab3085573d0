"""Hosts made of namespaces: each has its own network, name, mounts, /dev/shm and disk; a bridge joins them.

All of it lives in one PID namespace, whose first process ends with the test. Then the kernel ends everything in it, and
networks and mounts that nobody uses are gone: there is nothing to remove, however the test ends.
"""
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402  pylint: disable=wrong-import-position

PATIENCE_SECONDS = 60
ROUNDS = 20
BYTES = 64  # of a write of rounds.c
NETWORK = '10.77.0'
LAUNCHERS = {
    'mpich': ['mpiexec.mpich', '-launcher', 'ssh', '-launcher-exec', '{agent}', '-hosts', '{hosts}'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '--mca', 'plm_rsh_agent', '{agent}',
                '--mca', 'plm_rsh_no_tree_spawn', '1', '--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self',
                '--mca', 'btl_tcp_if_include', 'eth0', '--mca', 'oob_tcp_if_include', 'eth0', '--host', '{hosts}'],
}
# What ssh would keep of a user's variables: none. MPICH's launcher sends its own, that of Open MPI only what it is told. But the
# recorder goes along with any command, and begins jobs where the variable says.
AGENT = '''#!/bin/sh
while [ "$1" != "${{1#-}}" ]; do shift; done
host=$1
shift
exec env -i PATH="$PATH" HOME="$HOME" ${{IOSEER_SPILL:+IOSEER_SPILL="$IOSEER_SPILL"}} nsenter -t "$(cat {folder}/pid.$host)" --net --uts --mount sh -c "$*"
'''
FORWARD = 'for name in LD_PRELOAD ${!IOSEER_*}; do [ -n "${!name+x}" ] && more+=(-x "$name"); done; exec "$0" "${more[@]}" "$@"'


class Room:
    """All hosts of a test."""

    def __init__(self, folder, names):
        self.folder, self.names, self.holders = folder, names, []
        self.init = self.hold('setpriv', '--pdeathsig', 'KILL', 'unshare', '--pid', '--fork', '--kill-child', '--net', '--mount-proc',
                              'sh', '-c', f'ip link add name switch type bridge && ip link set switch up && echo up > {folder}/pid.room; while :; do sleep 1; done')
        self.first = self.child_of(self.init.pid)
        self.await_file('pid.room')
        with open(f'{folder}/hosts', 'w', encoding='utf-8') as hosts:
            hosts.write('127.0.0.1 localhost\n' + ''.join(f'{NETWORK}.{i + 1} {name}\n' for i, name in enumerate(names)))
        with open(f'{folder}/agent', 'w', encoding='utf-8') as agent:
            agent.write(AGENT.format(folder=shlex.quote(folder)))
        os.chmod(f'{folder}/agent', 0o755)
        os.makedirs(f'{folder}/local', exist_ok=True)
        for index, name in enumerate(names):
            self.add_host(index, name)

    def hold(self, *words):
        holder = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        self.holders.append(holder)
        return holder

    def inside(self, *words):
        """The words of a command in the room."""
        return ['nsenter', '-t', str(self.first), '--pid', '--mount', '--net', *words]

    def on(self, host, *words):
        return self.inside(*self.on_here(host, *words))

    def on_here(self, host, *words):
        with open(f'{self.folder}/pid.{host}', encoding='utf-8') as pid:
            return ['nsenter', '-t', pid.read().strip(), '--net', '--uts', '--mount', *words]

    def on_disk_of(self, host, *words):
        """A command on a host that has died and is there again, with its name and disk but no network."""
        folder = shlex.quote(self.folder)
        script = f'hostname {host} && mount --bind {folder}/disk.{host} {folder}/local && exec "$@"'
        return self.inside('unshare', '--uts', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', *words)

    def add_host(self, index, name):
        folder = shlex.quote(self.folder)
        os.mkdir(f'{self.folder}/disk.{name}')  # stays when the host dies
        # Its end of the cable gets an address; the other end is in the bridge.
        script = f'''hostname {name} && mount -t tmpfs shm /dev/shm && mount --bind {folder}/disk.{name} {folder}/local && chmod 1777 /dev/shm &&
            mount --bind {folder}/hosts /etc/hosts && ip link set lo up && echo $$ > {folder}/pid.new && mv {folder}/pid.new {folder}/pid.{name}
            exec sleep infinity'''
        self.hold(*self.inside('unshare', '--net', '--uts', '--mount', '--propagation', 'private', 'sh', '-c', script))
        self.await_file(f'pid.{name}')
        with open(f'{self.folder}/pid.{name}', encoding='utf-8') as pid:
            pid = pid.read().strip()
        for words in (('link', 'add', f'port{index}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid),
                      ('link', 'set', f'port{index}', 'master', 'switch', 'up')):
            self.check(*self.inside('ip', *words))
        for words in (('addr', 'add', f'{NETWORK}.{index + 1}/24', 'dev', 'eth0'), ('link', 'set', 'eth0', 'up')):
            self.check(*self.on(name, 'ip', *words))

    @staticmethod
    def check(*words):
        done = harness.run(*words)
        if done.returncode:
            raise RuntimeError(f'{words}: {done.stderr!r}')

    def await_file(self, name):
        until = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(f'{self.folder}/{name}') and time.monotonic() < until:
            time.sleep(0.01)

    @staticmethod
    def child_of(pid):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as children:
                found = children.read().split()
            if found:
                return int(found[0])
            time.sleep(0.01)
        raise RuntimeError('no PID namespace')

    def kill_host(self, name):
        """All processes of a host end, that of the launcher too. Its network stays: launchers wait for ever for a host that is silent."""
        network = harness.run(*self.on(name, 'readlink', '/proc/self/ns/net')).stdout.decode().strip()
        for _ in range(10):
            found = [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and self.network_of(pid) == network]
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                return
            time.sleep(0.05)

    @staticmethod
    def network_of(pid):
        with contextlib.suppress(OSError):
            return os.readlink(f'/proc/{pid}/ns/net')
        return None

    def close(self):
        self.init.kill()
        for holder in self.holders:
            with contextlib.suppress(subprocess.TimeoutExpired):
                holder.wait(PATIENCE_SECONDS)


def reason_to_skip(mpi):
    if os.geteuid() or harness.run('unshare', '--net', '--uts', '--mount', '--pid', '--fork', 'true').returncode:
        return 'namespaces need root'
    if not shutil.which('ip'):
        return 'no command ip (package iproute2)'
    if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(os.path.join(harness.BUILD, 'tests', 'hosts', f'rounds-{mpi}')):
        return f'{mpi} is not here'
    return None


class HostsTest(harness.CommandLineTest):
    """Holds what each MPI must do; classes derived from it name one."""
    mpi = None

    def setUp(self):
        reason = reason_to_skip(self.mpi)
        if reason:
            self.skipTest(reason)
        super().setUp()
        self.log = self.path('run.ioseer')

    def room(self, count):
        folder = harness.tempfile.mkdtemp(prefix='room', dir=self.folder)
        room = Room(folder, [f'node{i}' for i in range(count)])
        self.addCleanup(room.close)
        return room

    @staticmethod
    def complaints(done):
        """But for one that Open MPI's launcher makes on a busy machine, when a child is faster than it."""
        return re.sub(rb'^.* plm:rsh: Warning: setpgid.*\n', b'', done.stderr, flags=re.MULTILINE)

    def launch(self, room, *words, ranks=1):
        """The command that starts a program on all hosts, to be run on the first."""
        separator = f':{ranks},' if ranks > 1 or self.mpi == 'openmpi' else ','
        hosts = separator.join([*room.names, '']).rstrip(',')
        command = [word.format(agent=f'{room.folder}/agent', hosts=hosts) for word in LAUNCHERS[self.mpi]]
        command += ['-n', str(len(room.names) * ranks), *words]
        return ['bash', '-c', FORWARD, *command] if self.mpi == 'openmpi' else command

    def rounds(self, room, rounds, *more, ranks=1):
        program = os.path.join(harness.BUILD, 'tests', 'hosts', f'rounds-{self.mpi}')
        return self.launch(room, program, f'{room.folder}/local', room.folder, str(rounds), *map(str, more), ranks=ranks)

    def env_variables(self, log_dir, **more):
        """As after `eval "$(ioseer env)"`, with a trace."""
        plain = {**self.variables(), 'IOSEER_CONF': self.path('none.conf')}
        printed = harness.ioseer('env', '--log-dir', log_dir, '--json', env=plain)
        variables = {**harness.json.loads(printed.stdout)['variables'], 'IOSEER_TRACE_CAP': '16M', **more}
        return plain, ['env', '--', *(f'{name}={value}' for name, value in variables.items())]

    def lose_host(self, room, *before, environment=None):
        """Runs a job of two hosts, one of which dies; gives how long the job went on."""
        words = room.on('node0', *before, *self.rounds(room, 100000))
        with subprocess.Popen(words, env=environment or self.variables(), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            try:
                until = time.monotonic() + PATIENCE_SECONDS
                while self.rounds_done(room, 1) < ROUNDS and time.monotonic() < until:
                    time.sleep(0.02)
                start = time.monotonic()
                room.kill_host('node1')
                job.wait(PATIENCE_SECONDS)
                return time.monotonic() - start
            finally:
                job.kill()

    @staticmethod
    def rounds_done(room, rank):
        path = f'{room.folder}/disk.node{rank}/data.{rank}'
        return os.stat(path).st_size // BYTES if os.path.exists(path) else 0

    def check_writes(self, room, rank, log):
        """All that the rank has written; a write that was under way when it was killed may be missing."""
        events = self.json('dump', '--json', '--rank', str(rank), '--op', 'pwrite', '--file', '*/data.*', log)
        done = self.rounds_done(room, rank)
        self.assertGreaterEqual(done, ROUNDS)
        self.assertEqual([event['offset'] for event in events], [BYTES * i for i in range(len(events))])
        self.assertEqual({event['host'] for event in events}, {room.names[rank]})
        self.assertLessEqual(abs(done - len(events)), 1)

    @staticmethod
    def variables():
        """UCX chooses how hosts talk: over TCP alone, MPI_Finalize of MPICH 4.0 hangs now and then by itself, where one rank waits
        in a barrier of the launcher and does not answer the others' disconnecting any more."""
        return {name: value for name, value in os.environ.items()
                if not name.startswith(('IOSEER_', 'SLURM_', 'LD_PRELOAD', 'OMPI_', 'PMI', 'UCX_'))}
