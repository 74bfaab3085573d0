#!/usr/bin/env python3
"""test_programs.py MPI: programs whose ranks do not all do the same. Two runs of each have the same model, and its replay
and its prediction end, with the program's operations.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

import harness  # noqa: E402
from random_case import LAUNCHERS  # noqa: E402

RANKS = (4, 9)
MANY_RANKS = 16  # of the programs below whose ranks differ most
WITH_MANY = {'nodes', 'turns_own'}
SECONDS = 60  # for a replay, however busy the machine is

# name, program, options; sizes are small, as all ranks may have two cores
PROGRAMS = {
    'look': ('first', '--mode look --size 4k --steps 2'),
    'header_posix': ('first', '--mode posix --size 4k --steps 2'),
    'header_stdio': ('first', '--mode stdio --size 4k --steps 2'),
    'halves': ('groups', '--mode halves --size 4k'),
    'nodes': ('groups', '--mode nodes --size 4k'),
    'again': ('groups', '--mode again --size 4k --steps 2'),
    'between': ('groups', '--mode between --size 4k --steps 2'),
    'spawn': ('groups', '--mode spawn --size 4k --steps 2'),
    'turns_shared': ('turns', '--files shared --size 4k'),
    'turns_own': ('turns', '--files own --size 4k --at-once 2'),
    'variables': ('variables', '--size 4k --records 2'),
    'hdf5_collective': ('hdf5', '--metadata collective --rows 4 --columns 16'),
    'hdf5_independent': ('hdf5', '--metadata independent --data independent --rows 4 --columns 16'),
}


class Programs(harness.CommandLineTest):
    """Holds what each MPI must do; main chooses one."""
    mpi = None

    def record_run(self, name, ranks, number):
        program, options = PROGRAMS[name]
        path = os.path.join(harness.BUILD, 'examples', f'{program}-{self.mpi}')
        if not os.path.exists(path) or not shutil.which(LAUNCHERS[self.mpi][0]):
            self.skipTest(f'no {program}-{self.mpi}')
        where = self.path(f'run{number}')
        os.mkdir(where)
        return self.record(*LAUNCHERS[self.mpi], '-n', str(ranks), path, *options.split(), name=f'{number}.ioseer', cwd=where)

    def check(self, name):
        if name == 'spawn' and self.mpi == 'mpich':
            self.skipTest('MPICH 4.0 over UCX has no dynamic processes')
        for ranks in (*RANKS, *[MANY_RANKS] * (name in WITH_MANY)):
            with self.subTest(ranks=ranks):
                self.check_ranks(name, ranks)
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)

    def check_ranks(self, name, ranks):
        logs = [self.record_run(name, ranks, number) for number in range(2)]
        self.assertTrue(self.json('diff', '--json', *logs)['equal'], 'two runs, two models')
        model, target = self.path('model'), self.path('target')
        os.mkdir(target)
        self.expect(0, 'model', '-q', logs[0], '-o', model)
        found = harness.json.loads(self.expect(0, 'replay', model, '--on', target, '--json', '--verify',
                                               timeout=SECONDS).stdout)
        self.assertEqual((found['similarity'], found['difference'], found['wrong_bytes']), (1, None, 0))
        found = harness.json.loads(self.expect(0, 'predict', model, '--on', target, '--json', '--repeat', '1', '-q',
                                               timeout=SECONDS).stdout)
        self.assertEqual([row['name'] for row in found['targets']], [target])
        self.assertEqual(os.listdir(target), [], 'left behind')


    def test_transfers_that_end_together(self):
        """Each rank posts five transfers and waits for all of them at once."""
        log, model = self.record_run('variables', 4, 0), self.path('model')
        self.expect(0, 'model', '-q', log, '-o', model)
        with open(model, encoding='utf-8') as file:
            families = harness.json.load(file)['observed']['families']
        ahead = [row['ahead'] for family in families for row in family.get('think', []) if 'ahead' in row]
        self.assertTrue(ahead)
        for row in ahead:
            self.assertEqual(row, [4, 3, 2, 1, 0])


def add_tests():
    for name in PROGRAMS:
        setattr(Programs, f'test_{name}', lambda self, name=name: self.check(name))


if __name__ == '__main__':
    Programs.mpi = sys.argv.pop(1)
    add_tests()
    harness.main()
