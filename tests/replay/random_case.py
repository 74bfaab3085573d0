"""Random programs (random_program.c): a seed is recorded, modelled and replayed; what the replay did is compared.

A failure names the seed. `minimise` leaves out actions while it lasts.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))

from harness import BUILD, IOSEER  # noqa: E402

LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
}
MEMORY = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
REPLAY_SECONDS = 60


def program(mpi):
    return os.path.join(BUILD, 'tests', 'replay', f'random_program-{mpi}')


def mpis():
    return [mpi for mpi in LAUNCHERS if os.path.exists(program(mpi)) and shutil.which(LAUNCHERS[mpi][0])]


class Failure(Exception):
    pass


class Case:
    def __init__(self, seed, actions=40, only='', mpi=None, ranks=None):
        here = mpis()
        self.seed, self.actions, self.only = seed, actions, only
        self.mpi = mpi or here[seed % len(here)]
        self.ranks = ranks or 2 + seed // len(here) % 5

    def __str__(self):
        return f'seed {self.seed}, {self.ranks} ranks, {self.mpi}' + (f', --only {self.only}' if self.only else '')

    def command(self, *more):
        only = ['--only', self.only] if self.only else []
        return [*LAUNCHERS[self.mpi], '-n', str(self.ranks), program(self.mpi), '--seed', str(self.seed), '--actions',
                str(self.actions), *only, *more]

    def list_actions(self):
        return subprocess.run(self.command('--print'), check=True, capture_output=True, text=True).stdout

    def check(self):
        """Raises Failure with the first thing that is wrong."""
        with tempfile.TemporaryDirectory(prefix='ioseer-random-', dir=MEMORY) as folder:
            log, model, target = (os.path.join(folder, name) for name in ('log', 'model', 'target'))
            data, again = os.path.join(folder, 'data'), os.path.join(folder, 'again')
            os.mkdir(data)
            os.mkdir(target)
            run('record', '-q', '-o', log, '--', *self.command('--directory', data))
            calls = calls_of(log, data)
            if not calls:
                return
            run('model', '-q', log, '-o', model)
            found = json.loads(run('replay', model, '--on', target, '--json', '--log', again))
            if (found['similarity'], found['difference']) != (1, None):
                raise Failure(f'similarity {found["similarity"]}: {found["difference"]}')
            compare(calls, calls_of(again, target))


def run(verb, *words):
    """What ioseer prints. Whatever waits too long is ended, with its ranks."""
    with subprocess.Popen([IOSEER, verb, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            out, errors = process.communicate(timeout=REPLAY_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise Failure(f'{verb} did not end in {REPLAY_SECONDS} seconds') from None
    if process.returncode != 0:
        raise Failure(f'{verb}: status {process.returncode}: {errors.strip()[-2000:]}')
    return out


def calls_of(log, folder):
    """The program's own calls on files in a folder, by rank; files are numbered as the rank comes to them."""
    ranks, numbers = collections.defaultdict(list), {}
    for event in json.loads(run('dump', '--json', log)):
        if event['parent'] is not None or event['rank'] is None or not (event['file'] or '').startswith(folder):
            continue
        number = numbers.setdefault((event['rank'], event['file']), sum(rank == event['rank'] for rank, _ in numbers))
        moved = event['result'] if event['class'] in ('read', 'write') else None
        ranks[event['rank']].append((event['op'], number, event['offset'], event['size'], moved, event['errno']))
    return ranks


def compare(program_calls, replayed):
    for rank in sorted(program_calls):
        for number, (one, other) in enumerate(zip(program_calls[rank], replayed[rank])):
            if one != other:
                raise Failure(f'call {number} of rank {rank}: {one} was replayed as {other}')
        if len(program_calls[rank]) != len(replayed[rank]):
            raise Failure(f'rank {rank}: {len(program_calls[rank])} calls were replayed as {len(replayed[rank])}')


def failure_of(case):
    try:
        case.check()
    except Failure as failure:
        return str(failure)
    return None


def minimise(case, is_same=lambda failure: failure is not None):
    """The fewest actions with which it still fails: halves, quarters … are left out while it does."""
    left = list(range(case.actions))
    step = len(left) // 2
    while step:
        start = 0
        while start < len(left):
            fewer = left[:start] + left[start + step:]
            only = ','.join(map(str, fewer))
            if fewer and is_same(failure_of(Case(case.seed, case.actions, only, case.mpi, case.ranks))):
                left = fewer
            else:
                start += step
        step //= 2
    return Case(case.seed, case.actions, ','.join(map(str, left)), case.mpi, case.ranks)
