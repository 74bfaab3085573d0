#!/usr/bin/env python3
"""test_nests.py [CLASS...]: random nested loops over ranks, executed by nests.c under MPI, are found as phases with
the same ranks, repetitions and offsets.

The expected phases are derived from the plan, not from the log.
"""
import collections
import os
import random
import shutil

from tables import LAUNCHERS, TableTest, value_of  # finds the harness
from harness import BUILD, main

FILES = [('shared', 'open'), ('data', 'open'), ('part', 'own')]
FILE_BYTES = 1 << 28
SIZES = [256, 300, 512, 700, 1024, 1500]  # so that no size is small compared with another
UNIT = 64


class Transfer:
    """One operation of a plan: where it is depends on the rank, the loops around it and how often its phase came."""

    def __init__(self, choose, ranks, depth, shared):
        self.verb = choose.choice(['read', 'write'])
        self.size = choose.choice(SIZES)
        self.base = choose.randrange(1000) * UNIT
        self.per_rank = choose.randrange(1, 4000) * UNIT if shared else 0
        self.width, self.across, self.down = 1, 0, 0
        if shared and ranks in (8, 9, 12, 16) and choose.random() < 0.4:
            self.per_rank = 0
            self.width = {8: 4, 9: 3, 12: 4, 16: 4}[ranks]
            self.across, self.down = (choose.randrange(1, 500) * UNIT for _ in range(2))
        self.steps = [choose.randrange(1, 300) * UNIT for _ in range(depth)]

    def offset(self, rank, index=()):
        place = self.base + self.per_rank * rank + self.across * (rank % self.width) + self.down * (rank // self.width)
        return place + sum(step * number for step, number in zip(self.steps, index))

    def words(self, file):
        return [self.verb, file, self.size, self.base, self.per_rank, self.width, self.across, self.down, *self.steps]


class Phase:
    """A nest of loops: loops of loops, with one to three operations at some depths; repeated with data moving between."""

    def __init__(self, choose, ranks):
        self.file = choose.randrange(len(FILES))
        self.posix = choose.random() < 0.5
        self.members = range(ranks)
        if choose.random() < 0.25:
            self.members = choose.choice([range(1), range(0, ranks, 2), range(1, ranks), range(ranks // 2)])
        self.times = choose.choice([1, 1, 1, 2, 5])
        self.barriers = choose.random() < 0.3
        self.outer = 1 if self.times > 1 else 0  # loops around the nest
        shared = FILES[self.file][1] == 'open'
        self.body = self.make_body(choose, ranks, choose.choice([1, 1, 2, 2, 3]), self.outer, shared)

    def make_body(self, choose, ranks, levels, depth, shared):
        """[count, [Transfer or body, ...]]"""
        parts = []
        if levels > 1:
            parts.append(self.make_body(choose, ranks, levels - 1, depth + 1, shared))
        while not parts or (len(parts) < 3 and choose.random() < 0.4):
            parts.insert(choose.randrange(len(parts) + 1), Transfer(choose, ranks, depth + 1, shared))
        return [choose.randrange(5, 9) if levels == 1 else choose.randrange(3, 6), parts]

    def words(self):
        found = ['posix' if self.posix else 'mpiio', 'ranks', self.members.start, self.members.stop, self.members.step]
        if self.outer:
            found += ['loop', self.times, 'move']
        found += self.body_words(self.body)
        return found + (['end'] if self.outer else [])

    def body_words(self, body):
        count, parts = body
        found = ['loop', count]
        for part in parts:
            found += self.body_words(part) if isinstance(part, list) else part.words(self.file)
            found += ['barrier'] if self.barriers else []
        return found + ['end']

    def leaves(self, body=None, around=1):
        """(transfer, how often it is done) in order."""
        count, parts = body or self.body
        for part in parts:
            if isinstance(part, list):
                yield from self.leaves(part, around * count)
            else:
                yield part, around * count

    def rows(self):
        """As `phases` has them: {(operation, size): [rep, first transfer]}, in order."""
        found = {}
        for transfer, times in self.leaves():
            row = found.setdefault((transfer.verb, transfer.size), [0, transfer])
            row[0] += times
        return found

    def name(self):
        name, kind = FILES[self.file]
        return f'{name}.*.dat' if kind == 'own' and len(self.members) > 1 else None


class Dumps:
    """Each rank writes 8 KiB, one after the other; data moves before each dump."""

    def __init__(self, base, step, *counts):
        self.base, self.steps, self.counts = base, [0] * (len(counts) - 1) + [step], counts

    def words(self):
        loops = [word for count in self.counts for word in ('loop', count)]
        transfer = ['move', 'write', 0, 8192, self.base, 8192, 1, 0, 0, *self.steps]
        return ['posix', 'ranks', 0, 4, 1, *loops, *transfer, *['end'] * len(self.counts)]


class Nests(TableTest):
    mpi = 'mpich'

    def setUp(self):
        super().setUp()
        self.program = os.path.join(BUILD, 'tests', 'model', f'nests-{self.mpi}')
        if not os.path.exists(self.program) or not shutil.which(LAUNCHERS[self.mpi][0]):
            self.skipTest(f'nests was not built for {self.mpi}, or there is no {LAUNCHERS[self.mpi][0]}')

    def run_plan(self, plan, ranks):
        words = [word for name, kind in FILES for word in (kind, name, FILE_BYTES)]
        for phase in plan:
            words += ['move', *phase.words()]
        with open(self.path('plan'), 'w', encoding='ascii') as file:
            print(*words, file=file)
        command = [*LAUNCHERS[self.mpi], '-n', str(ranks), self.program, '--plan', 'plan']
        log = self.record(*command, cwd=self.folder, name='log', stdout=-3,
                          options=['--force', '--exclude', '*/plan'])
        return self.table(log, ranks)

    def check_phase(self, found, phase, ranks, time):
        self.assertEqual(found['ranks'], list(phase.members))
        rows = phase.rows()
        self.assertEqual([(row['op'], row['size'], row['rep']) for row in found['ops']],
                         [(*key, rep) for key, (rep, _) in rows.items()])
        for row, (rep, transfer) in zip(found['ops'], rows.values()):
            self.assertEqual(row['call'], ('p' if phase.posix else 'MPI_File_') + transfer.verb +
                             ('' if phase.posix else '_at'))
            index = [time] if phase.outer else []
            self.assertEqual([value_of(row, found, rank, ranks) for rank in phase.members],
                             [transfer.offset(rank, index) for rank in phase.members])

    def check_plan(self, seed, ranks, phases=8):
        choose = random.Random(seed)
        plan = [Phase(choose, ranks) for _ in range(phases)]
        table = self.run_plan(plan, ranks)
        found = iter(table['phases'])
        for number, phase in enumerate(plan):
            with self.subTest(seed=seed, phase=number, words=' '.join(map(str, phase.words()))):
                group = [next(found) for _ in range(phase.times)]
                for time, one in enumerate(group):
                    self.check_phase(one, phase, ranks, time)
                self.assertEqual(len({one['family'] for one in group}), 1)
                self.assertEqual([one['ph'] - group[0]['ph'] for one in group], list(range(phase.times)))
                if phase.times == group[-1]['ph']:  # no other phase of the plan looks the same
                    self.assertNotIn(None, [row['offset_expr'] for row in group[0]['ops']])
        self.assertEqual(list(found), [])

    def offsets(self, *plan):
        """The expressions of the families, each with its number of phases."""
        found = {}
        for phase in self.run_plan(plan, 4)['phases']:
            found.setdefault(phase['family'], []).append(phase['ops'][0]['offset_expr'])
        return [(rows[0], len(rows)) for rows in found.values()]

    def test_a_family_ends_where_its_rule_changes(self):
        self.assertEqual(self.offsets(Dumps(0, 4 * 8192, 10), Dumps(10000000, 4 * 8192, 7)),
                         [('idP*rs + np*rs*(ph-1)', 10), ('idP*rs + np*rs*(ph-1) + 10000000', 7)])
        self.assertEqual(self.offsets(Dumps(0, 0, 1), Dumps(8192 * 100, 8192 * 8, 6)),
                         [('idP*rs', 1), ('idP*rs + 2*np*rs*(ph-1) + 100*rs', 6)])

    def test_dumps_that_begin_again(self):
        self.assertEqual(self.offsets(Dumps(64, 4 * 8192, 3, 5)), [('idP*rs + np*rs*((ph-1)%5) + 64', 15)])

    def test_dumps_without_a_rule(self):
        self.assertEqual(self.offsets(*(Dumps(number * number * 31 % 97 * 8192, 0, 1) for number in range(9))),
                         [(None, 9)])

    def test_communication_comes_before_the_call_that_follows(self):
        """Wherever a chunk of the log ends: between the communication and the call, or the call and its child."""
        words = ['open', 'shared', FILE_BYTES, 'loop', 30000, 'move', 'write', 0, 64, 0, 0, 1, 0, 0, 64, 'end']
        with open(self.path('plan'), 'w', encoding='ascii') as file:
            print(*words, file=file)
        log = self.record(*LAUNCHERS[self.mpi], '-n', '1', self.program, '--plan', 'plan', cwd=self.folder, stdout=-3)
        op = {event['id']: event['op'] for event in self.json('dump', '--json', '--layer', 'mpiio', log)}
        moves = [row for row in self.json('dump', '--json', '--comm', log) if row['kind'] == 'moving' and row['before']]
        self.assertEqual(collections.Counter(op.get(row['before']) for row in moves), {'MPI_File_write_at': 30000})

    def test_4_ranks(self):
        for seed in range(4):
            self.check_plan(seed, 4)

    def test_6_ranks(self):
        self.check_plan(100, 6)

    def test_9_ranks(self):
        for seed in (200, 201):
            self.check_plan(seed, 9, phases=5)


class OpenMpi(Nests):
    mpi = 'openmpi'

    def test_4_ranks(self):
        for seed in range(1000, 1003):
            self.check_plan(seed, 4)

    def test_6_ranks(self):
        self.check_plan(1100, 6)

    def test_9_ranks(self):
        self.check_plan(1200, 9, phases=5)

    def test_16_ranks(self):
        self.check_plan(1300, 16, phases=4)


if __name__ == '__main__':
    main()
