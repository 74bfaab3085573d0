"""The tables that `ioseer phases` prints, and what must be true of each of them, whatever the program."""
import collections
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

import operations  # noqa: E402
from harness import BUILD, CommandLineTest  # noqa: E402

ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe'],
}
OBSERVED = ('start', 'span', 'duration', 'bandwidth', 'rate', 'other')


def evaluate(expression, rank, ranks, ph=1, size=0):
    """Python's // and % round as those of the expressions do."""
    return eval(expression.replace('/', '//'), {'idP': rank, 'np': ranks, 'ph': ph, 'rs': size})


def structure(table, folder=None):
    """What must be the same when a program runs again, even in another folder."""
    phases = [{key: value for key, value in phase.items() if key not in OBSERVED} for phase in table['phases']]
    for phase in phases:
        if folder and phase['file']:
            phase['file'] = os.path.relpath(phase['file'], folder)
    return phases, [(family['family'], family['count']) for family in table['families']]


def value_of(row, phase, rank, ranks):
    """The offset that a row gives a rank; None if it gives none."""
    members = row.get('ranks', phase['ranks'])
    if row['offset_expr'] is not None:
        return evaluate(row['offset_expr'], rank, ranks, phase['ph'], row['size'])
    return row['offset_table'][members.index(rank)] if 'offset_table' in row else None


class Lane:
    """The transfers of one rank; its phases take them one after the other."""

    def __init__(self):
        self.events = []
        self.next = 0

    def take(self, count):
        self.next += count
        return self.events[self.next - count:self.next]


class TableTest(CommandLineTest):
    """Records programs and looks at their phases."""

    def example(self, program, mpi):
        path = os.path.join(BUILD, 'examples', f'{program}-{mpi}')
        if not os.path.exists(path) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'{program} was not built for {mpi}, or there is no {LAUNCHERS[mpi][0]}')
        return path

    def run_example(self, program, options, ranks, mpi='mpich', name='log', **more):
        """Records an example in a folder of its own; gives its table."""
        folder = more.pop('folder', None) or self.path(f'{name}.files')
        os.makedirs(folder, exist_ok=True)
        command = [*LAUNCHERS[mpi], '-n', str(ranks), self.example(program, mpi), *options.split()]
        log = self.record(*command, cwd=folder, name=name, stdout=-3, options=['--force'], **more)
        return self.table(log, ranks)

    def run_program(self, *command, name='log', **more):
        if not shutil.which(command[0]):
            self.skipTest(f'no {command[0]}')
        folder = more.pop('folder', None) or self.path(f'{name}.files')
        os.makedirs(folder, exist_ok=True)
        log = self.record(*command, cwd=folder, name=name, stdout=-3, options=['--force'], **more)
        return self.table(log, gap='10s')  # a busy machine adds pauses of its own

    def table(self, log, ranks=None, gap='200ms'):
        table = self.json('phases', '--json', '--gap', gap, log)
        self.check_sums(table, log)
        if ranks:
            self.check_rows(table, log, ranks)
        return table

    def check_sums(self, table, log):
        """Bytes in phases and unphased bytes together are those of the log; every transfer is in some row."""
        events = operations.run_json('dump', '--json', log)
        parents = {event['id']: event for event in events}
        chosen = [event for event in events if operations.is_chosen(event, parents, None)]
        moving = [event for event in chosen if event['class'] in operations.COUNTED and not event['errno']]
        weights = sum(phase['weight'] for phase in table['phases'])
        self.assertEqual(weights + table['unphased_bytes'], sum(max(event['result'] or 0, 0) for event in moving))
        self.assertEqual(sum(table['unphased'].values()), table['unphased_bytes'])
        for phase in table['phases']:
            self.assertEqual(phase['weight'], sum(row['bytes'] for row in phase['ops']))
            self.assertEqual([row['count'] for row in phase['ops']],
                             [row['rep'] * len(row.get('ranks', phase['ranks'])) for row in phase['ops']])

    def check_rows(self, table, log, ranks):
        """The operations of each rank in the log are those of its phases, in their order, and begin where the
        expressions say. For programs with one thread in each rank."""
        lanes = collections.defaultdict(Lane)
        events = operations.run_json('dump', '--json', log)
        parents = {event['id']: event for event in events}
        for event in events:
            if event['rank'] is not None and event['class'] in operations.COUNTED and event['file'] and \
                    not event['errno'] and operations.is_chosen(event, parents, None):
                lanes[event['rank']].events.append(event)
        for phase in table['phases']:
            for rank in phase['ranks']:
                rows = [row for row in phase['ops']
                        if rank in row.get('ranks', phase['ranks']) and row['op'] in ('read', 'write')]
                self.check_rank(phase, rows, lanes[rank].take(sum(row['rep'] for row in rows)), rank, ranks)
        for rank, lane in lanes.items():
            self.assertEqual(lane.next, len(lane.events), f'transfers of rank {rank}')

    def check_rank(self, phase, rows, events, rank, ranks):
        found = collections.Counter((event['class'], event['op']) for event in events)
        expected = collections.Counter()
        for row in rows:
            expected[row['op'], row['call']] += row['rep']
        self.assertEqual(found, expected, f'phase {phase["id"]}, rank {rank}')
        for row in rows:
            offset = value_of(row, phase, rank, ranks)
            alike = [event for event in events if event['op'] == row['call'] and row['size'] in (None, event['size'])]
            if offset is not None and (row['size'] is not None or found[row['op'], row['call']] == row['rep']):
                self.assertEqual(offset, alike[0]['offset'], f'phase {phase["id"]}, rank {rank}: {row}')
