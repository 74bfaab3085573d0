"""A Slurm of one node or several, with its daemons on free ports of the loopback interface and its files in one folder. Several
nodes are UTS namespaces of this machine: each has its own host name, and all have the same files. Needs root."""
import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'srun')
CONF = """ClusterName=ioseer
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldPort={port}
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=2
InactiveLimit=0
OverTimeLimit=0
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
{more}
"""


def missing():
    """Why there can be no Slurm here, or None."""
    if os.geteuid():
        return 'the daemons need root'
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    return f'no {absent[0]}' if absent else None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    def __init__(self, folder, more='', nodes=()):
        self.folder = folder
        self.daemons = []
        for name in ('munge', 'state', 'spool'):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        host = socket.gethostname().split('.')[0]
        self.conf = os.path.join(folder, 'slurm.conf')
        with open(self.conf, 'w', encoding='ascii') as conf:
            names = nodes or [host]
            port, *ports = free_ports(1 + len(names))
            lines = [f'NodeName={name} NodeHostname={name} NodeAddr=127.0.0.1 Port={own} CPUs=8 RealMemory=500 State=UNKNOWN'
                     for name, own in zip(names, ports)]
            conf.write(CONF.format(host=host, folder=folder, port=port, nodes='\n'.join(lines), more=more))
        self.environment = {**os.environ, 'SLURM_CONF': self.conf}
        self.start_munge()
        self.start('slurmctld', '-D', '-f', self.conf)
        for name in names:
            os.makedirs(os.path.join(folder, 'spool', name))
            command = ('slurmd', '-D', '-f', self.conf, '-N', name)
            if nodes:
                command = ('unshare', '--uts', 'sh', '-c', f'hostname {name}; exec "$@"', 'sh', *command)
            self.start(*command)
        self.wait_until_idle()

    def start(self, *words):
        with open(os.path.join(self.folder, f'{words[0]}.out'), 'wb') as out:
            self.daemons.append(subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                 env=self.environment, start_new_session=True))

    def start_munge(self):
        munge = os.path.join(self.folder, 'munge')
        os.chmod(munge, 0o711)
        key = os.path.join(munge, 'key')
        with open(key, 'wb') as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        self.start('munged', '--foreground', '--force', f'--key-file={key}', f'--socket={munge}/socket',
                   f'--pid-file={munge}/pid', f'--log-file={munge}/log', f'--seed-file={munge}/seed')
        self.wait(lambda: os.path.exists(os.path.join(munge, 'socket')), 'munged')

    def wait(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f'{what} takes too long: {self.logs()}')
            time.sleep(0.05)

    def logs(self):
        text = ''
        for name in ('slurmctld.log', 'slurmd.log', 'slurmctld.out', 'slurmd.out', 'unshare.out'):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path, encoding='utf-8', errors='replace') as log:
                    text += f'\n{name}: ' + log.read()[-600:]
        return text

    def ask(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, timeout=60, check=False)
        return done.stdout.decode().strip()

    def wait_until_idle(self):
        self.wait(lambda: set(self.ask('sinfo', '-h', '-N', '-o', '%T').split()) == {'idle'}, 'slurmd')

    def run_batch(self, script, *options, environment=None, seconds=120):
        """Runs a batch script to its end; gives the number of the job."""
        done = subprocess.run(['sbatch', '--parsable', *options, script], env={**(environment or os.environ), 'SLURM_CONF': self.conf},
                              capture_output=True, timeout=60, check=False, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(f'sbatch: {done.stderr}')
        number = done.stdout.decode().strip().split(';')[0]
        self.wait(lambda: not self.ask('squeue', '-h', '-j', number), f'job {number}', seconds)
        return number

    def stop(self):
        self.ask('scancel', '--signal=KILL', '--user=root')
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
