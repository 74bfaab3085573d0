#!/usr/bin/env python3
"""test_whatif.py: other ways to do a program's I/O.

No test compares times with expected ones (bench/collective.py does). They check what whatif prints, its arithmetic where it
can be repeated, that a program takes the hints that it writes, that --verify replays, and that nothing is left behind.
"""
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'target'))

import harness  # noqa: E402
from harness import BUILD  # noqa: E402
import place  # noqa: E402

MIB = 1 << 20
LAUNCHERS = {'mpich': ['mpiexec.mpich', '-n', '2'],
             'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', '2']}
BASIC = {'as-recorded', 'collective', 'independent', 'posix'}


def example(mpi, name, *options):
    path = os.path.join(BUILD, 'examples', f'{name}-{mpi}')
    return [*LAUNCHERS[mpi], path, *options] if os.path.exists(path) and shutil.which(LAUNCHERS[mpi][0]) else None


def point(op, size, np, seconds, cache='cold'):
    """Each request takes that long; those of several processes take turns."""
    bandwidth = size / seconds
    return {'op': op, 'size': size, 'mode': 'sequential', 'np': np, 'shared': np > 1, 'collective': False, 'cache': cache,
            'bandwidth': bandwidth, 'low': bandwidth, 'high': bandwidth, 'latency_p50': seconds * np, 'latency_p99': seconds * np}


class WhatifTest(place.StorageTest):
    @staticmethod
    def why_not():
        return place.why_no_mount()

    def profile(self, seconds, cached=None, memory=0, **mpiio):
        """A system whose requests all take as long, one after the other; `cached`: those to the page cache."""
        points = [point(op, size, np, seconds) for op in ('read', 'write') for size in (4096, MIB) for np in (1, 2)]
        if cached:
            points += [point(op, size, np, cached, 'warm') for op in ('read', 'write') for size in (4096, MIB) for np in (1, 2)]
        costs = {'per_call': 0, 'per_round': 0, 'per_byte': 0, 'per_piece': 0, 'error': 0}
        entry = {'name': 'MPICH', 'library': 'romio', 'np': 2, 'nodes': 1, 'within': {'start': 1e-6, 'per_byte': 1e-9}, 'between': None,
                 'sequential': {'read': 1e8, 'write': 1e8}, 'random': {'read': 1e7, 'write': 1e7, 'size': 65536},
                 'collective': {'read': costs, 'write': {**costs, **mpiio}},
                 'per_piece': {'read': 0, 'write': 0}, 'per_call': {'read': 0, 'write': 0}}
        path = self.path('system')
        with open(path, 'w', encoding='utf-8') as out:
            json.dump({'ioseer_system': 1, 'storage': {'memory': memory}, 'peak': {'read': 1e8, 'write': 1e8}, 'points': points, 'mpiio': [entry]}, out)
        return path

    def program(self, mpi, *options, name='ior'):
        command = example(mpi, name, *options)
        if not command:
            self.skipTest(f'no {mpi}')
        where = self.path('where')
        os.mkdir(where)
        log = self.record(*command, cwd=where)
        shutil.rmtree(where)
        return log

    def ask(self, *words, **more):
        return json.loads(self.expect(0, 'whatif', '-q', '--json', *words, timeout=600, **more).stdout)

    def check_shape(self, found):
        names = [option['name'] for option in found['options']]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn(found['best'], names)
        for option in found['options']:
            self.assertTrue(0 < option['low'] <= option['time'] <= option['high'], option)
            self.assertAlmostEqual(sum(option['parts'].values()), option['time'], delta=1e-6 * option['time'])
            self.assertTrue(0 <= option['crossing'] <= option['tau'] <= 1, option)
        best = min(found['options'], key=lambda option: option['time'])
        named = next(option for option in found['options'] if option['name'] == found['best'])
        self.assertLessEqual(named['time'], 1.03 * best['time'])
        for phase in found['phases']:
            self.assertEqual([option['name'] for option in phase['options']], names)
            self.assertIn(phase['best'], names)
        for place_, option in enumerate(found['options']):
            self.assertAlmostEqual(sum(phase['options'][place_]['time'] for phase in found['phases']), option['time'],
                                   delta=1e-6 * option['time'])


class OnDirectory(WhatifTest):
    def check_directory(self, mpi):
        log = self.program(mpi, '--collective', '--segments', '4', '--block', '64k', '--transfer', '64k')
        self.emulate('--read-bw', '200M', '--write-bw', '200M')
        launcher = ' '.join(LAUNCHERS[mpi][:-1]) + ' {np}'
        found = self.ask(log, '--on', self.above, '--launcher', launcher, '--verify', '--repeat', '1')
        self.check_shape(found)
        names = {option['name'] for option in found['options']}
        self.assertLessEqual(BASIC, names)
        verified = {option['name']: option['verified'] for option in found['options'] if option['verified']}
        self.assertLessEqual(BASIC | {found['best']}, set(verified))
        for one in verified.values():
            self.assertEqual(one['runs'], 1)
            self.assertGreater(one['time'], 0)
        self.assertEqual(os.listdir(self.above), [], 'left behind')
        self.stop()

    def test_mpich(self):
        self.check_directory('mpich')

    def test_openmpi(self):
        self.check_directory('openmpi')


class OnProfile(WhatifTest):
    def test_counts(self):
        """What is calculated from a profile made by hand: 8 calls of 128 KiB, each in one request of 10 ms and 5 ms of agreeing."""
        log = self.program('mpich', '--collective', '--segments', '8', '--block', '64k', '--transfer', '64k')
        found = self.ask(log, '--system', self.profile(0.01, per_call=0.005))
        self.check_shape(found)
        option = next(option for option in found['options'] if option['name'] == 'collective')
        self.assertAlmostEqual(option['parts']['storage'], 2 * 8 * 0.01, delta=1e-6)
        self.assertAlmostEqual(option['parts']['agreeing'], 8 * 0.005, delta=1e-6)
        self.assertEqual(option['hints']['romio_cb_write'], 'enable')
        self.assertEqual((option['tau'], option['crossing']), (1, 0.5))
        self.assertIsNotNone(option['published'])
        self.assertIsNone(option['verified'])
        bandwidth = found['crossover']['bandwidth']
        self.assertTrue(bandwidth['collective_below'])
        self.assertGreater(bandwidth['crossing'], 1e8)

    def test_best_and_hints(self):
        """The printed hints are those of the best way, and are in force in a program that gets them."""
        log = self.program('mpich', '--collective', '--segments', '8', '--block', '64k', '--transfer', '64k')
        system, hints, chart = self.profile(0.01), self.path('hints'), self.path('chart.html')
        text = self.expect(0, 'whatif', '-q', log, '--system', system, '--variant', 'collective,cb_buffer_size=1M', '--hints', hints,
                           '--chart', chart).stdout.decode()
        self.assertIn('MPI_Info_set(info, "cb_buffer_size", "1048576")', text)
        self.assertIn("call MPI_Info_set(info, 'cb_buffer_size', '1048576', ierror)", text)
        self.assertIn('--mca io_ompio_bytes_per_agg 1048576', text)
        with open(chart, encoding='utf-8') as file:
            self.assertIn('<svg', file.read())
        where = self.path('again')
        os.mkdir(where)
        again = self.record(*example('mpich', 'ior', '--collective'), cwd=where, name='again.ioseer', env={'ROMIO_HINTS': hints})
        text = self.expect(0, 'model', '-q', again).stdout.decode()
        with open(hints, encoding='utf-8') as file:
            lines = [line.split() for line in file]
        self.assertIn(['cb_buffer_size', '1048576'], lines)
        in_force = json.loads(text)
        for name, value in lines:
            self.assertIn(f'"{name}"', text)
            self.assertIn(f'"{value}"', text)
        self.assertTrue(in_force)

    def test_overruled(self):
        """Hints that a program gives to MPI itself come before those of the file."""
        log = self.program('mpich', '--edge', '8', '--checkpoints', '1', '--mode', 'collective', name='s3d')
        system = self.profile(0.01, per_call=100)
        for sieving, said in (('on', True), ('off', False)):
            way = f'independent,sieving={sieving}'
            text = self.expect(0, 'whatif', '-q', log, '--system', system, '--variant', way).stdout.decode()
            self.assertIn(f'Best: {way}', text)
            self.assertEqual('asks for another romio_ds_write' in text, said, text)

    def test_page_cache(self):
        """What the program writes, and reads again, is in the page cache if that has room."""
        log = self.program('mpich', '--segments', '8', '--block', '64k', '--transfer', '64k')
        small, large = (self.ask(log, '--system', self.profile(0.01, 0.001, memory)) for memory in (MIB, 1 << 40))
        for found, seconds in ((small, 0.01), (large, 0.001)):
            self.check_shape(found)
            self.assertAlmostEqual(found['options'][0]['parts']['storage'], 2 * 2 * 8 * seconds, delta=0.05 * 32 * seconds)

    def test_least_change(self):
        """Ways that take as long are no better than the recorded one."""
        log = self.program('mpich', '--segments', '8', '--block', '64k', '--transfer', '64k')
        found = self.ask(log, '--system', self.profile(0.01), '--variant', 'posix', '--variant', 'independent,sieving=off')
        self.assertEqual(found['best'], 'as-recorded')

    def test_targets(self):
        log = self.program('mpich')
        system = self.profile(0.01)
        found = self.ask(log, '--system', system, '--system', system)
        self.assertEqual(len(found['targets']), 2)
        self.assertNotIn('options', found)
        for target in found['targets']:
            self.check_shape(target)
        self.assertEqual(*([option['time'] for option in target['options']] for target in found['targets']))

    def test_np(self):
        """Twice the processes make twice the requests."""
        log = self.program('mpich', '--segments', '4', '--block', '64k', '--transfer', '64k')
        system = self.profile(0.01)
        two, four = (self.ask(log, '--system', system, '--np', np, '--variant', 'posix') for np in ('2', '4'))
        self.assertEqual((two['np'], four['np']), (2, 4))
        self.assertAlmostEqual(four['options'][0]['time'], 2 * two['options'][0]['time'], delta=0.01 * four['options'][0]['time'])

    def test_errors(self):
        log, system = self.program('mpich'), self.profile(0.01)
        self.expect_error(2, 'whatif')
        self.expect_error(2, 'whatif', log)
        self.expect_error(2, 'whatif', log, '--system', system, '--verify')
        self.expect_error(2, 'whatif', log, '--system', system, '--variant', 'colective')
        self.expect_error(2, 'whatif', log, '--system', system, '--system', system, '--hints', self.path('hints'))
        self.assertIn('missing', self.expect_error(1, 'whatif', log, '--system', self.path('missing')))
        self.assertIn('missing', self.expect_error(1, 'whatif', log, '--on', self.path('missing')))
        self.assertIn('missing', self.expect_error(1, 'whatif', self.path('missing'), '--system', system))


harness.main()
