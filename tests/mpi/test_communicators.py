#!/usr/bin/env python3
"""What a log says about the communicators of communicators.c and .f90, and who communicates with whom. Speaks TAP; takes
the name of a class."""
import json
import os
import subprocess
import sys

import job_case
from job_case import LAUNCHERS, harness, program

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden', 'decode.py')
RANKS = 4
ROUNDS = 50    # of each thread
MANY = 100000  # that one process makes
LIMIT = 65536  # that a log has of a process
HALVES = {0: '2,0', 1: '3,1'}  # ranks backwards


def expected_communicators():
    """Origin, members, how many, processes; of four ranks."""
    yield from (('world', '0-3', 1, 4), ('dup', '0-3', 2, 4), ('shared', '0-3', 1, 4),
                ('split', '2', 1, 1), ('create', '3,1', 1, 2), ('group', '3,1', 1, 2),
                ('topology', '0-3', 4, 4), ('merge', '2-3,0-1', 1, 4))
    yield from (('dup', str(rank), 1, 1) for rank in range(RANKS))
    yield from (('split', members, 1, 2) for members in HALVES.values())
    for members in '0-1', '2-3':
        yield from (('topology', members, 1, 2), ('split', members, 1, 2))
    yield 'inter', {'0-1', '2-3'}, 1, 4


def expected_opens(rank):
    """Number of the communicator and its size, in order."""
    made = iter(range(3, 100))

    def number(is_member=True):
        return next(made) if is_member else None
    dup, _, idup, half = number(), number(), number(), number()
    alone, shared = number(rank == 2), number()
    create, group = number(rank % 2), number(rank % 2)
    grid, row = number(), number()
    graphs = [number() for _ in range(3)]
    _, _, merged = number(), number(), number()
    opens = [(1, 4), (dup, 4), (idup, 4), (half, 2), (alone, 1), (shared, 4), (create, 2), (group, 2), (row, 2), (grid, 4),
             *((graph, 4) for graph in graphs), (merged, 4), (2, 1), (1, 4), (2, 1)]
    return [pair for pair in opens if pair[0]]


def expected_talk(rank):
    after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    return [(1, 'all', None, 4), (1, 'from_root', 2, 1), (1, 'to_root', 1, 1), (1, 'send', after, 2),
            (1, 'receive', before, 2), (1, 'send', before, 1), (1, 'receive', after, 1)]


def as_rows(partners):
    return [(partner['comm'], partner['role'], partner['peer'], partner['calls']) for partner in partners]


WRITTEN = 56  # partners before an event


class Communicators(job_case.JobTest):
    def record(self, ranks, *words, name='communicators'):
        if not os.path.exists(program(name, self.mpi)):
            self.skipTest('no compiler for this language')
        self.both([*LAUNCHERS[self.mpi], '-n', str(ranks), program(name, self.mpi), self.folder, *words])

    def communicators(self):
        found = self.json('info', '--json', self.log)['communicators']
        for comm in found:
            self.assertEqual(comm['world'], 0)
        return found

    def opens(self, rank):
        events = self.json('dump', '--json', '--layer', 'mpiio', '--class', 'open', '--rank', str(rank), self.log)
        return [event for event in events if event['file'].startswith(self.folder)]

    def partners_before(self, event):
        rows = self.json('dump', '--comm', '--json', self.log)
        return [as_rows(row['partners']) for row in rows if row['before'] == event['id'] and row['partners']]

    def test_every_origin(self):
        self.record(RANKS)
        found = []
        for comm in self.communicators():
            is_inter = comm['origin'] == 'inter'
            members = {comm['members'], comm['remote_members']} if is_inter else comm['members']
            found.append((comm['origin'], members, comm['communicators'], comm['processes']))
        self.assertCountEqual(found, list(expected_communicators()))

    def test_opens_and_partners(self):
        self.record(RANKS)
        for rank in range(RANKS):
            opens = self.opens(rank)
            known = [(event['comm'], event['comm_size']) for event in opens if 'comm' in event]
            self.assertEqual(known, expected_opens(rank))
            failed = [event for event in opens if event['errno']]
            self.assertEqual(['comm' in event for event in failed], [True, False][:len(failed)])
            self.assertGreater(len(failed), 0)
            self.assertEqual(self.partners_before(opens[-1]), [expected_talk(rank)])
        # Across the inter-communicator rank 0 is the root; rank 1 takes no part.
        for rank, last in ((0, (0, 1)), (1, None), (2, (0, 1)), (3, (0, 1))):
            inter = [event for event in self.opens(rank) if event['file'] == self.path(f'own.{rank}')][0]
            roots = [row[2:] for rows in self.partners_before(inter) for row in rows if row[1] == 'from_root']
            self.assertEqual(roots, [last] if last else [])

    def test_second_decoder(self):
        self.record(RANKS)
        done = subprocess.run([sys.executable, DECODER, '--comm', self.log], capture_output=True, check=True)
        theirs, ours = json.loads(done.stdout), self.json('dump', '--comm', '--json', self.log)
        self.assertGreater(len(ours), RANKS)

        def rows(found):
            return sorted((row['pid'], row['before'] or 0, row['kind'], row['count'], as_rows(row['partners']))
                          for row in found)
        self.assertEqual(rows(ours), rows(theirs))

    def test_threads(self):
        self.record(2, 'threads')
        found = {(comm['origin'], comm['members']): comm['communicators'] for comm in self.communicators()}
        if ('split', '0-1') in found:  # this MPI takes several threads
            self.assertEqual(found, {('world', '0-1'): 1, ('split', '0-1'): 2, ('dup', '0-1'): 2 * ROUNDS})

    def test_handles_used_again(self):
        self.record(1, 'many')
        info = self.json('info', '--json', self.log)
        made = [comm['communicators'] for comm in info['communicators'] if comm['origin'] == 'dup']
        self.assertEqual(made, [LIMIT - 2])
        self.assertEqual(sum(loss['events'] for loss in info['losses']), MANY - (LIMIT - 2))
        self.assertEqual(info['lost_events'], 0)
        own, = self.opens(0)
        self.assertEqual(own['comm'], 2)
        rows, = self.partners_before(own)
        self.assertEqual(sum(calls for *_, calls in rows), 2 * MANY)
        # The first ones are kept, whatever the handles of this run are.
        numbers = [comm for comm, *_ in rows[:-1]]
        self.assertEqual((len(numbers), numbers, rows[-1][1]), (WRITTEN, sorted(numbers), 'more'))

    def test_fortran(self):
        self.record(2, name='communicators-f08')
        found = {(comm['origin'], comm['members']): comm['communicators'] for comm in self.communicators()}
        self.assertEqual(found, {('world', '0-1'): 1, ('split', '0'): 1, ('split', '1'): 1, ('dup', '0'): 1,
                                 ('dup', '1'): 1})
        for rank in range(2):
            opens = self.opens(rank)
            self.assertEqual([(event['comm'], event['comm_size']) for event in opens], [(4, 1), (2, 1)])
            talk = {0: [(1, 'send', 1, 2), (1, 'receive', 1, 1)], 1: [(1, 'send', 0, 1), (1, 'receive', 0, 2)]}
            self.assertEqual(self.partners_before(opens[1]), [talk[rank]])


class Mpich(Communicators):
    mpi = 'mpich'


class OpenMpi(Communicators):
    mpi = 'openmpi'


del Communicators
harness.main()
