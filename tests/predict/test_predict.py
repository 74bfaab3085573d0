#!/usr/bin/env python3
"""test_predict.py: profiles of storage, predictions by every method, and the output of evaluate.

These tests do not compare measured times with expected ones (bench/predict.py does). They check that all members exist,
that the arithmetic is right where it can be repeated, that nothing is faster than the storage, and that nothing is left
behind.
"""
import json
import os
import resource
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'target'))

from harness import BUILD, IOSEER, CommandLineTest, main  # noqa: E402
import place  # noqa: E402

MIB = 1 << 20
MPICH = ['mpiexec.mpich', '-n', '2', os.path.join(BUILD, 'examples', 'ior-mpich')]
POINT_KEYS = {'op', 'size', 'mode', 'np', 'shared', 'collective', 'cache', 'bandwidth', 'low', 'high', 'latency_p50',
              'latency_p99'}


def point(op, size, bandwidth, **more):
    return {'op': op, 'size': size, 'mode': 'sequential', 'np': 1, 'shared': False, 'collective': False,
            'cache': 'cold', 'bandwidth': bandwidth, 'low': bandwidth, 'high': bandwidth, **more}


class PredictTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target = self.path('target')
        os.mkdir(self.target)

    def write(self, name, value):
        with open(self.path(name), 'w', encoding='utf-8') as out:
            json.dump(value, out)
        return self.path(name)

    def system(self, name, *points):
        return self.write(name, {'ioseer_system': 1, 'storage': {}, 'peak': {}, 'points': points})

    def bare_model(self, log):
        """What the program does, without what was observed."""
        self.expect(0, 'model', log, '-o', self.path('model'))
        with open(self.path('model'), encoding='utf-8') as file:
            model = json.load(file)
        del model['observed']
        return self.write('bare', model)

    def dd(self, name='dd.ioseer', size='64k', count=20):
        """Writes sequentially."""
        return self.record('dd', 'if=/dev/zero', 'of=' + self.path('x'), f'bs={size}', f'count={count}', 'status=none',
                           name=name)


class Measure(PredictTest):
    def measure(self, *options):
        # MPI processes that wait for each other take minutes if other work uses the processors.
        done = self.expect(0, 'measure', '--json', '--quick', '--time', '1s', '--sizes', '4k,64k', '--np', '2', *options,
                           self.target, timeout=400)
        found = json.loads(done.stdout)
        self.assertEqual(os.listdir(self.target), [], 'left behind')
        return found

    def check(self, system, mpi):
        self.assertEqual(system['ioseer_system'], 1)
        self.assertEqual(system['storage']['directory'], self.target)
        ways = set()
        for one in system['points']:
            self.assertLessEqual(POINT_KEYS, one.keys())
            self.assertTrue(0 <= one['low'] <= one['bandwidth'] <= one['high'], one)
            self.assertTrue(0 < one['latency_p50'] <= one['latency_p99'], one)
            ways.add((one['op'], one['size'], one['mode'], one['np'], one['shared'], one['collective'], one['cache']))
        self.assertEqual(len(ways), len(system['points']))
        for op in 'read', 'write':
            for size in 4096, 65536:
                for mode in 'sequential', 'strided', 'random':
                    self.assertIn((op, size, mode, 1, False, False, 'cold'), ways)
                    self.assertIn((op, size, mode, 2, True, False, 'cold'), ways)
                self.assertEqual((op, size, 'strided', 2, True, True, 'cold') in ways, mpi)
            self.assertIn(system['peak'][op], [one['bandwidth'] for one in system['points'] if one['op'] == op])
        for one in system['rested']:
            self.assertGreater(one['pause'], 0)
            self.assertIn((one['op'], one['size'], one['mode'], one['np'], one['shared'], one['collective'], one['cache']),
                          ways)
        self.assertGreaterEqual(len(system['rested']), 8)
        for call in 'create', 'stat', 'open', 'unlink':
            self.assertGreater(system['metadata'][call], 0)
        self.assertEqual(bool(system['mpi']['latency']), mpi)

    def test_with_mpi(self):
        if not os.path.exists(MPICH[-1]) or not shutil.which('mpiexec.mpich'):
            self.skipTest('no MPICH')
        self.check(self.measure('--launcher', 'mpiexec.mpich -n {np}'), True)

    def test_servers(self):
        """The peak of a parallel file system is the sum of its servers' peaks."""
        names = [self.write(f'server{i}', {'ioseer_system': 1, 'storage': {'host': f's{i}', 'directory': '/brick'},
                                           'peak': {'read': 1e12 + i, 'write': 2e12 + i}, 'points': []}) for i in (1, 2)]
        peak = self.measure('--node', names[0], '--node', names[1])['peak']
        self.assertEqual((peak['read'], peak['write']), (2e12 + 3, 4e12 + 3))
        self.assertEqual([node['name'] for node in peak['nodes']], ['s1:/brick', 's2:/brick'])
        self.expect_error(1, 'measure', '--node', self.path('missing'), self.target)
        self.expect_error(1, 'measure', '--node', self.write('wrong', {}), self.target)

    def test_without_mpi(self):
        path = os.path.dirname(shutil.which('rm'))
        tools = self.path('tools')
        os.mkdir(tools)
        for name in 'sh', 'rm':
            os.symlink(os.path.join(path, name), os.path.join(tools, name))
        done = self.expect(0, 'measure', '--json', '--quick', '--time', '1s', '--sizes', '4k,64k', '--np', '2',
                           self.target, env={'PATH': tools})
        self.check(json.loads(done.stdout), False)

    def test_errors(self):
        self.assertIn('No such file', self.expect_error(1, 'measure', self.path('missing')))
        self.assertIn('Not a directory', self.expect_error(1, 'measure', self.dd()))
        self.expect_error(2, 'measure')
        self.assertIn('no/where', self.expect_error(1, 'measure', self.path('missing'), '-o', self.path('no/where')))
        self.assertIn('Is a directory', self.expect_error(1, 'measure', self.path('missing'), '-o', self.target))
        self.expect_error(2, 'measure', '--sizes', '4k,x', self.target)
        self.expect_error(2, 'measure', '--sizes', '1000', self.target)
        self.expect_error(2, 'measure', '--np', '0', self.target)
        self.assertIn('no-such-launcher',
                      self.expect_error(1, 'measure', '--launcher', 'no-such-launcher', self.target))
        self.assertEqual(os.listdir(self.target), [])


    def test_small_storage(self):
        """Requests that do not fit are left out."""
        words = f'mount -t tmpfs -o size=8M none {self.target} && exec "$@"'
        if subprocess.run(['unshare', '-m', 'sh', '-c', words, 'sh', 'true'], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest('no mounts')
        command = [IOSEER, 'measure', '--json', '--quick', '--time', '1s', '--np', '1', self.target, '--sizes']
        done = subprocess.run(['unshare', '-m', 'sh', '-c', words, 'sh', *command, '4k,4M'], check=True,
                              stdout=subprocess.PIPE)
        self.assertEqual({one['size'] for one in json.loads(done.stdout)['points']}, {4096})
        done = subprocess.run(['unshare', '-m', 'sh', '-c', words, 'sh', *command, '4M'], check=False,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'No space left', done.stderr)


class MeasureEmulated(place.MountTest):
    """Storage of known speed: a profile may say less on a busy machine, but never more."""

    def test_not_faster_than_it_is(self):
        latency = 0.01
        self.emulate('--read-bw', '40M', '--write-bw', '20M', '--latency', '10ms')
        found = self.json('measure', '--json', '--quick', '--time', '1s', '--sizes', '4k,64k', '--np', '1', self.above)
        self.assertEqual(found['storage']['cache'], 'direct')
        for one in found['points']:
            self.assertGreater(one['latency_p50'], latency * 0.95, one)
            self.assertLess(one['bandwidth'], one['size'] / latency * 1.05, one)


class Predict(PredictTest):
    def test_replay(self):
        other = self.path('other')
        os.mkdir(other)
        log = self.dd()
        found = self.json('predict', log, '--on', self.target, '--on', other, '--repeat', '3', '--json')
        self.assertEqual([target['name'] for target in found['targets']], [self.target, other])
        phases = self.json('phases', '--json', log)['phases']
        for target in found['targets']:
            self.assertEqual((target['method'], target['runs']), ('replay', 3))
            self.assertEqual([phase['id'] for phase in target['phases']], [phase['id'] for phase in phases])
            for one in [dict(target, time=target['total']), *target['phases']]:
                self.assertTrue(0 <= one['low'] < one['time'] < one['high'], one)
            self.assertEqual(target['predictable'], target['cv'] <= 0.1)
            self.assertEqual(target['reason'] is None, target['predictable'])
        first, second = found['targets']
        best = [name for name, a, b in ((self.target, first, second), (other, second, first)) if a['high'] < b['low']]
        self.assertEqual(found['best'], best[0] if best else None)
        self.assertEqual(os.listdir(self.target) + os.listdir(other), [])

    def test_parallel(self):
        if not os.path.exists(MPICH[-1]) or not shutil.which('mpiexec.mpich'):
            self.skipTest('no MPICH')
        log = self.record(*MPICH, '--block', '64k', '--transfer', '16k', '--collective', cwd=self.folder)
        found = self.json('predict', log, '--on', self.target, '--method', 'replay,mendez,meswani', '--reference',
                          self.folder, '--repeat', '2', '--json')
        self.assertEqual([target['method'] for target in found['targets']], ['replay', 'mendez', 'meswani'])
        for target in found['targets']:
            self.assertEqual(len(target['phases']), 2)
            self.assertTrue(all(phase['time'] > 0 for phase in target['phases']), target)
        self.assertEqual(os.listdir(self.target), [])

    def test_other_number_of_processes(self):
        if not os.path.exists(MPICH[-1]) or not shutil.which('mpiexec.mpich'):
            self.skipTest('no MPICH')
        log = self.record(*MPICH, '--block', '64k', '--transfer', '16k', cwd=self.folder)
        weight = sum(phase['weight'] for phase in self.json('phases', '--json', log)['phases'])
        points = [point(op, 16384, 16 * MIB, np=np, shared=True) for op in ('read', 'write') for np in (2, 3)]
        found = self.json('predict', log, '--on', self.target, '--system', self.system('three', *points), '--np', '3',
                          '--method', 'replay,mendez,analytic', '--repeat', '2', '--json')
        self.assertEqual([target['method'] for target in found['targets']], ['replay', 'mendez', 'analytic', 'mendez'])
        for target in found['targets'][:2]:
            self.assertTrue(all(phase['time'] > 0 for phase in target['phases']), target)
        self.assertAlmostEqual(found['targets'][2]['total'], weight / 2 * 3 / (16 * MIB))
        self.assertIn('meswani', self.expect_error(2, 'predict', log, '--on', self.target, '--np', '3', '--method',
                                                   'meswani', '--reference', self.folder))

    def test_pauses(self):
        """20 requests of 64 KiB, each after a pause of 1 s: predicted from the points with pauses."""
        with open(self.bare_model(self.dd()), encoding='utf-8') as file:
            model = json.load(file)
        family, = model['structure']['families']
        model['observed'] = {'families': [{'family': family['family'], 'think': [
            {'part': 1, 'op': 1, 'count': 20, 'mean': 1, 'quartiles': [1] * 5}]}]}
        rested = point('write', 65536, 40 * MIB, pause=0.00625)
        system = self.write('rested', {'ioseer_system': 1, 'storage': {}, 'peak': {},
                                       'points': [point('write', 65536, 10 * MIB)], 'rested': [rested]})
        target, = self.json('predict', self.write('paused', model), '--system', system, '--json')['targets']
        self.assertAlmostEqual(target['total'], 20 * 65536 / (40 * MIB))
        self.assertIn('after pauses', target['phases'][0]['points'])

    def test_arithmetic_of_profiles(self):
        """20 requests of 64 KiB, at known bandwidths."""
        log = self.dd()
        recorded = self.json('phases', '--json', log)['phases'][0]['duration']
        slow = self.system('slow', point('write', 65536, 10 * MIB), point('write', MIB, 20 * MIB),
                           point('read', 4096, 1))
        fast = self.system('fast', point('write', 65536, 40 * MIB))
        found = self.json('predict', log, '--system', slow, '--system', fast, '--method', 'analytic,mendez,meswani',
                          '--reference', slow, '--json')
        times = {(os.path.basename(target['name']), target['method']): target for target in found['targets']}
        for method in 'analytic', 'mendez':
            self.assertAlmostEqual(times['slow', method]['total'], 20 * 65536 / (10 * MIB))
            self.assertAlmostEqual(times['fast', method]['total'], 20 * 65536 / (40 * MIB))
        self.assertAlmostEqual(times['slow', 'meswani']['total'], recorded)
        self.assertAlmostEqual(times['fast', 'meswani']['total'], recorded / 4)
        self.assertEqual(found['best'], fast)
        self.assertEqual(times['slow', 'analytic']['phases'][0]['points'], 'write 64 KiB sequential, 1 process')
        self.assertFalse(times['slow', 'analytic']['phases'][0]['extrapolated'])
        text = self.expect(0, 'predict', log, '--system', slow, '--system', fast).stdout.decode()
        self.assertIn(f'Run it on {fast}: 4.0', text)
        text = self.expect(0, 'predict', log, '--system', slow, '--system', slow).stdout.decode()
        self.assertIn('no difference larger than the uncertainty', text)

    def test_directory_against_profile(self):
        """Each target is compared by its own first method."""
        forever = self.system('forever', point('write', 65536, 1))
        log = self.dd()
        found = self.json('predict', log, '--on', self.target, '--system', forever, '--repeat', '2', '--json')
        self.assertEqual([target['method'] for target in found['targets']], ['replay', 'analytic'])
        self.assertEqual(found['best'], self.target)
        text = self.expect(0, 'predict', log, '--on', self.target, '--system', forever, '--repeat', '1').stdout.decode()
        self.assertIn(f'Run it on {self.target}', text)
        for _ in range(5):  # such short runs vary
            text = self.expect(0, 'predict', log, '--on', self.target, '--system', forever, '--repeat', '2').stdout.decode()
            self.assertNotEqual('not predictable: ' in text, '±' in text)
            self.assertNotRegex(text, r' 0(\.0+)? u?m?s - ')  # no interval begins at 0

    def test_one_run(self):
        found = self.json('predict', self.dd(), '--on', self.target, '--repeat', '1', '--json')['targets'][0]
        self.assertIsNone(found['cv'])
        self.assertIn('not known', found['reason'])

    def test_quick(self):
        """One run, with an interval for runs that vary."""
        log = self.dd()
        found = self.json('predict', log, '--on', self.target, '--quick', '--json')['targets'][0]
        self.assertEqual((found['runs'], found['precision']), (1, None))
        self.assertIn('the interval allows for 10 %', found['reason'])
        self.assertGreater(found['high'], 1.25 * found['total'])
        self.expect_error(2, 'predict', log, '--on', self.target, '--quick', '--repeat', '2')

    def test_precision(self):
        """Runs end when the time is known, when a target is the fastest, or after the most of them."""
        log = self.dd()
        found = self.json('predict', log, '--on', self.target, '--precision', '99%', '--json')
        target, = found['targets']
        self.assertEqual(found['precision'], 0.99)
        self.assertLessEqual(2, target['runs'])
        self.assertEqual(found['ended'] == 'precise', target['precision'] <= 0.99)
        self.assertEqual([phase['runs'] for phase in target['phases']], [target['runs']] * len(target['phases']))
        found = self.json('predict', log, '--on', self.target, '--precision', '0.01%', '--json')
        self.assertEqual((found['ended'], found['targets'][0]['runs']), ('most runs', 30))
        self.assertGreater(found['targets'][0]['precision'], 0.0001)
        forever = self.system('forever', point('write', 65536, 1))
        found = self.json('predict', log, '--on', self.target, '--system', forever, '--precision', '0.01%', '--json')
        self.assertEqual((found['ended'], found['best'], found['targets'][0]['runs']), ('told apart', self.target, 2))
        found = self.json('predict', log, '--on', self.target, '--repeat', '3', '--json')
        self.assertEqual((found['ended'], found['precision'], found['targets'][0]['runs']), (None, None, 3))
        for wrong in 'x', '0%', '100%', '-5%', '5%%':
            self.expect_error(2, 'predict', log, '--on', self.target, '--precision', wrong)

    def test_many_runs(self):
        """Nothing stays open from one run to the next."""
        limit = (48, 48)
        log = self.record_python('import os; os.write(os.open("x", os.O_WRONLY | os.O_CREAT), bytes(10000))')
        self.expect(0, 'predict', log, '--on', self.target, '--repeat', '40',
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))

    def test_output_of_a_script(self):
        """The shell opens the file, another program writes it."""
        log = self.record('sh', '-c', f'head -c 100000 /dev/zero > {self.path("x")}')
        found = self.json('predict', log, '--on', self.target, '--repeat', '1', '--json')
        self.assertGreater(found['targets'][0]['total'], 0)

    def test_short_transfers(self):
        """A request takes as long as what it moves, not as what it asks for."""
        with open(self.path('little'), 'wb') as out:
            out.write(bytes(4096))
        log = self.record('dd', 'if=' + self.path('little'), 'of=/dev/null', 'bs=1M', 'count=1', 'status=none')
        system = self.system('s', point('read', 4096, MIB), point('read', MIB, 100 * MIB))
        found = self.json('predict', log, '--system', system, '--json')
        self.assertAlmostEqual(found['targets'][0]['total'], 4096 / MIB)

    def test_says_where_it_extrapolates(self):
        found = self.json('predict', self.dd(), '--system', self.system('s', point('write', 4096, MIB)), '--json')
        phase = found['targets'][0]['phases'][0]
        self.assertTrue(phase['extrapolated'])
        self.assertIn('larger than any point', phase['points'])
        self.assertIn('like no point', found['targets'][0]['reason'])

    def test_without_transfers(self):
        """Times are those of transfers: without transfers nothing is predicted."""
        log = self.record('mkdir', self.path('new'))
        words = 'predict', log, '--system', self.system('s', point('write', 4096, MIB))
        found, = self.json(*words, '--json')['targets']
        self.assertEqual((found['predictable'], found['reason']), (False, 'no transfers: not predicted'))
        self.assertEqual([phase['predicted'] for phase in found['phases']], [False])
        text = self.expect(0, *words).stdout.decode()
        self.assertIn('phase 1: no transfers', text)
        self.assertNotIn('0.000', text)

    def test_metadata(self):
        """A call takes as long as in the measurement: the number of processes by their rate."""
        script = 'import os\nfor i in range(40): os.mkdir(f"d{i}")\nfor i in range(40): os.rmdir(f"d{i}")\n'
        log = self.record('/usr/bin/python3', '-c', script, cwd=self.folder)
        plain = self.system('plain', point('write', 4096, MIB))
        found, = self.json('predict', log, '--system', plain, '--json')['targets']
        self.assertEqual((found['predictable'], found['reason']),
                         (False, 'no transfers, and no rates of metadata: not predicted'))
        for processes, seconds in (1, [2, 4]), (2, [4, 8]):
            rates = {'np': processes, 'create': 20, 'stat': 1, 'open': 1, 'unlink': 10}
            system = self.write('rates', {'ioseer_system': 1, 'storage': {}, 'peak': {}, 'metadata': rates,
                                          'points': [point('write', 4096, MIB)]})
            found, = self.json('predict', log, '--system', system, '--json')['targets']
            self.assertEqual([phase['time'] for phase in found['phases']], seconds)
            self.assertEqual(found['total'], sum(seconds))
            self.assertEqual([phase['extrapolated'] for phase in found['phases']], [processes == 2] * 2)
            self.assertIn('20 names created per second', found['phases'][0]['points'])

    def test_metadata_of_ranks_that_differ(self):
        """They make their calls at the same time, as those with equal numbers do."""
        script = """import os
for rank in range(4):
    if os.fork() == 0:
        for i in range(40 + rank): os.mkdir(f'{rank}-{i}')
        os._exit(0)
for rank in range(4): os.wait()
"""
        log = self.record('/usr/bin/python3', '-ISc', script, cwd=self.folder)
        rates = {'np': 4, 'create': 40, 'stat': 40, 'open': 40, 'unlink': 40}
        system = self.write('rates', {'ioseer_system': 1, 'storage': {}, 'peak': {}, 'metadata': rates,
                                      'points': [point('write', 4096, MIB)]})
        found, = self.json('predict', log, '--system', system, '--json')['targets']
        self.assertAlmostEqual(found['total'], (40 + 41 + 42 + 43) / 40, delta=0.3)

    def test_of_several_programs(self):
        log = self.record('sh', '-c', 'dd if=/dev/zero of=x bs=1k count=9 status=none; mkdir new', cwd=self.folder)
        words = 'predict', log, '--system', self.system('s', point('write', 1024, MIB))
        self.assertRegex(self.expect(0, *words).stdout.decode(),
                         r'^Of \d programs in the log, dd \(phase \d\) moved the most bytes and is predicted\.\n')
        self.assertEqual(os.path.basename(self.json(*words, '--json')['executable']), 'dd')

    def test_errors(self):
        log = self.dd()
        for option in '--np', '--repeat':
            self.assertIn('1 or more', self.expect_error(2, 'predict', log, '--on', self.target, option, '0'))
        self.expect_error(2, 'predict', log)
        self.expect_error(2, 'predict', '--on', self.target)
        self.expect_error(2, 'predict', log, '--on', self.target, '--method', 'guess')
        self.expect_error(2, 'predict', log, '--on', self.target, '--method', 'meswani')
        self.expect_error(2, 'predict', log, '--on', self.target, '--method', 'analytic')
        self.expect_error(1, 'predict', log, '--on', self.path('missing'))
        self.expect_error(1, 'predict', log, '--system', self.path('missing'))
        self.expect_error(1, 'predict', log, '--system', log)
        reads = self.system('reads', point('read', 4096, 1))
        self.assertIn('no points of writing', self.expect_error(1, 'predict', log, '--system', reads))
        self.assertIn('no recorded times', self.expect_error(
            1, 'predict', self.bare_model(log), '--on', self.target, '--method', 'meswani', '--reference', self.target))
        self.assertIn('no/where', self.expect_error(1, 'predict', self.path('missing'), '--on', self.target, '-o',
                                                    self.path('no/where')))
        for wrong in ({}, {'ioseer_system': 99, 'points': []}, {'ioseer_system': 1, 'points': [{}], 'peak': {}},
                      {'ioseer_system': 1, 'peak': {}, 'points': [point('write', 0, 1)]},
                      {'ioseer_system': 1, 'peak': {}, 'points': [point('append', 1, 1)]},
                      {'ioseer_system': 1, 'peak': {}, 'points': [point('write', 1, -1)]},
                      {'ioseer_system': 1, 'peak': {}, 'points': [point('write', 1, 1, mode='backwards')]}):
            self.expect_error(1, 'predict', log, '--system', self.write('wrong', wrong))


class PredictEmulated(place.MountTest):
    """Storage on which equal phases take equally long."""

    DUMPS = 20

    def predict(self, model):
        # On a busy machine they differ all the same.
        found = self.json('predict', model, '--on', self.above, '--precision', '90%', '--json')
        return found['targets'][0]

    def test_equal_phases(self):
        """After the first run, the first phases of a family stand for all, unless others use what these write."""
        program = os.path.join(BUILD, 'examples', 'btio-mpich')
        if not os.path.exists(program) or not shutil.which('mpiexec.mpich'):
            self.skipTest('no MPICH')
        words = 'mpiexec.mpich', '-n', '1', program, '--grid', '12', '--steps', str(self.DUMPS), '--interval', '1'
        log = self.record(*words, cwd=self.folder)
        self.expect(0, 'model', log, '-o', self.path('model'))
        with open(self.path('model'), encoding='utf-8') as file:
            model = json.load(file)
        # Without the phase that reads everything at the end.
        structure, observed = model['structure'], model['observed']
        self.assertEqual([family['phases'] for family in structure['families']], [self.DUMPS, 1])
        structure['programs'][0]['order'].pop()
        for part in structure['families'], observed['families'], observed['phases']:
            part.pop()
        with open(self.path('writes'), 'w', encoding='utf-8') as file:
            json.dump(model, file)
        self.emulate('--latency', '10ms')
        found = self.predict(self.path('writes'))
        kept = self.DUMPS - found['left_out']
        self.assertIn(kept, (4, 8))
        self.assertLessEqual(found['left_out_error_pct'], 45)
        self.assertEqual([phase['runs'] == found['runs'] for phase in found['phases']],
                         [number < kept for number in range(self.DUMPS)])
        self.assertTrue(all(phase['time'] > 0.009 for phase in found['phases']), found)
        found = self.predict(log)
        self.assertEqual(found['left_out'], 0)
        self.assertEqual([phase['runs'] for phase in found['phases']], [found['runs']] * (self.DUMPS + 1))


class Evaluate(PredictTest):
    def predicted(self, *times, low=0, high=100):
        phases = [{'id': number + 1, 'time': time, 'low': time, 'high': time} for number, time in enumerate(times)]
        return self.write('predicted', {'targets': [
            {'name': 'elsewhere', 'method': 'replay', 'predictable': True, 'total': 1, 'phases': []},
            {'name': 'there', 'method': 'analytic', 'predictable': True, 'total': 77, 'phases': phases},
            {'name': 'there', 'method': 'replay', 'predictable': True, 'total': sum(times), 'low': low, 'high': high,
             'phases': phases}], 'best': None})

    def test_errors_of_times(self):
        logs = [self.dd(f'{number}.ioseer') for number in range(3)]
        durations = sorted(self.json('phases', '--json', log)['phases'][0]['duration'] for log in logs)
        measured = durations[1]
        peak = {'read': 1, 'write': 2 * 20 * 65536 / measured}
        system = self.write('system', {'ioseer_system': 1, 'points': [], 'peak': peak})
        words = [word for log in logs for word in ('--measured', log)]
        replayed = ('--target', 'there', '--method', 'replay', *words, '--json')
        predicted = self.predicted(measured * 1.25, low=durations[1], high=durations[2])
        found = self.json('evaluate', '--predicted', predicted, *replayed, '--system', system)
        self.assertEqual((found['target'], found['method'], found['logs']), ('there', 'replay', 3))
        phase, = found['phases']
        self.assertAlmostEqual(phase['measured'], measured)
        self.assertAlmostEqual(phase['error_pct'], 25)
        self.assertAlmostEqual(phase['usage_pct'], 50)
        self.assertAlmostEqual(found['total_error_pct'], 25)
        self.assertEqual(found['inside_interval'], 2)
        found = self.json('evaluate', '--predicted', self.predicted(measured / 2), *replayed)
        self.assertAlmostEqual(found['phases'][0]['error_pct'], -50)
        self.assertAlmostEqual(found['phases'][0]['error_abs_pct'], 50)
        self.assertIsNone(found['phases'][0]['usage_pct'])
        self.assertAlmostEqual(found['phases_predicted'], measured / 2)
        self.assertAlmostEqual(found['phases_measured'], measured)

    def test_totals_that_are_no_sums_say_so(self):
        words = ('--predicted', self.predicted(2), '--target', 'there', '--measured', self.dd())
        text = self.expect(0, 'evaluate', *words, '--method', 'analytic').stdout.decode()
        self.assertRegex(text, r'The totals are medians of whole runs.* add up to 2(\.0+)? s predicted')
        self.assertNotIn('add up', self.expect(0, 'evaluate', *words, '--method', 'replay').stdout.decode())

    def test_what_predict_printed(self):
        log = self.dd()
        self.expect(0, 'predict', log, '--on', self.target, '--quick', '--json', '-o', self.path('p'))
        words = ('--predicted', self.path('p'), '--measured', log)
        found = self.json('evaluate', *words, '--target', self.target, '--json')
        self.assertAlmostEqual(found['phases'][0]['measured'],
                               self.json('phases', '--json', log)['phases'][0]['duration'])
        text = self.expect(0, 'evaluate', *words).stdout
        self.assertIn(b'ERROR\n', text)  # without a profile there is no further column
        self.assertNotIn(b' \n', text)

    def test_wrong(self):
        log = self.dd()
        self.expect_error(2, 'evaluate')
        self.expect_error(2, 'evaluate', '--predicted', self.predicted(1))
        self.expect_error(2, 'evaluate', '--predicted', self.predicted(1), log)
        self.expect_error(1, 'evaluate', '--predicted', log, '--measured', log)
        self.expect_error(1, 'evaluate', '--predicted', self.predicted(1), '--target', 'nowhere', '--measured', log)
        self.assertIn('no measured times', self.expect_error(
            1, 'evaluate', '--predicted', self.predicted(1), '--target', 'there', '--measured', self.bare_model(log)))
        words = ('--predicted', self.predicted(1, 2), '--target', 'there', '--measured', log)
        self.assertIn('has 1 phases, the prediction 2', self.expect_error(1, 'evaluate', *words))


if __name__ == '__main__':
    main()
