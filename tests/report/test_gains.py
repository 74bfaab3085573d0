#!/usr/bin/env python3
"""What findings say their advice gains: on the storage of the log, on typical storage and on that of profiles."""
import json
import os
import shutil
import subprocess

import faults
import rules
from rules import harness

MPIEXEC, MPICC = 'mpiexec.mpich', 'mpicc.mpich'
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ranks.c')
TYPICAL = ['hdd', 'ssd', 'nvm']
HOSTILE = '<img src=x onerror=alert(1)>\n\x1b[31m.json'
TINY = 100000
SCATTERED = 'fd = new("scattered")\nfor i in range(200): os.pwrite(fd, b"x" * 4096, i * 8192)'


def point(op, size, seconds):
    """Each request takes that long."""
    bandwidth = size / seconds
    return {'op': op, 'size': size, 'mode': 'sequential', 'np': 1, 'shared': False, 'collective': False, 'cache': 'cold',
            'bandwidth': bandwidth, 'low': bandwidth, 'high': bandwidth, 'latency_p50': seconds, 'latency_p99': seconds}


class GainsTest(rules.FindingsTest):
    def profile(self, seconds, name='system.json'):
        points = [point(op, size, seconds) for op in ('read', 'write') for size in (16, 4096, 1 << 20)]
        with open(self.path(name), 'w', encoding='utf-8') as out:
            json.dump({'ioseer_system': 1, 'storage': {}, 'peak': {'read': 1e8, 'write': 1e8}, 'points': points}, out)
        return self.path(name)

    def told(self, log, wanted, *options):
        """The finding, and its gains by storage."""
        findings = {finding['id']: finding for finding in self.json('report', '--json', *options, log)['findings']}
        self.assertIn(wanted, findings, list(findings))
        for finding in findings.values():
            self.check_shape(finding)
        return findings[wanted], {gain['storage']: gain for gain in findings[wanted]['gains']}

    def check_shape(self, finding):
        self.assertEqual(bool(finding['gain']), bool(finding['gains']))
        for gain in finding['gains']:
            self.assertEqual(set(gain), {'storage', 'variant', 'seconds', 'low', 'high', 'reason'})
            self.assertTrue(gain['variant'])
            numbers = [gain[key] for key in ('low', 'seconds', 'high')]
            if gain['reason']:
                self.assertEqual(numbers, [None] * 3)
            else:
                self.assertEqual(numbers, sorted(numbers))
        if finding['gains']:
            self.assertEqual([gain['storage'] for gain in finding['gains']][:4], ['here', *TYPICAL])
            self.assertEqual(finding['predicted_seconds'], finding['gains'][0]['seconds'])
        known = [gain for gain in finding['gains'] if not gain['reason']]
        if known and all(gain['low'] <= 0 for gain in finding['gains'] if not gain['reason']):
            self.assertEqual(finding['severity'], 'low')
            self.assertIn('Leave these calls as they are', finding['advice'])

    def run_seconds(self, log):
        return self.json('report', '--json', log)['summary']['run_seconds']

    def record_program(self, program, folder):
        return self.record_python(faults.START + program, folder)

    def test_interleaved_pieces(self):
        """Collective calls save seeks of a disk. In memory there is nothing to save."""
        if not shutil.which(MPIEXEC) or not shutil.which(MPICC):
            self.skipTest('no MPICH')
        program = self.path('ranks')
        subprocess.run([MPICC, '-O1', '-o', program, SOURCE], check=True)
        self.emulate(*faults.SLOW)
        finding, gains = self.told(self.record(MPIEXEC, '-n', '4', program, 'rows', self.above), 'independent')
        self.assertEqual({gain['variant'] for gain in gains.values()}, {'collective'})
        self.assertIn('Use collective calls', finding['advice'])
        self.assertIn('collective writes', gains['here']['reason'])  # which the log has none of
        # 4 calls of 64 pieces of each rank, and each piece seeks.
        self.assertGreater(gains['hdd']['low'], 0)
        self.assertAlmostEqual(gains['hdd']['seconds'], 4 * 64 * 4 * 0.008, delta=0.5)
        self.assertLess(gains['nvm']['seconds'], 0.01 * gains['hdd']['seconds'])
        self.assertRegex(finding['gain'], r'^Collective calls: on a disk they would save \d+\.\d+ s, on SATA flash they would ')
        self.assertIn('What they would do here is not known: ', finding['gain'])

    def test_collective_calls_in_memory(self):
        """The log shows what its collective calls cost, and independent ones take a few microseconds."""
        if not shutil.which(MPIEXEC) or not shutil.which(MPICC):
            self.skipTest('no MPICH')
        program = self.path('ranks')
        subprocess.run([MPICC, '-O1', '-o', program, SOURCE], check=True)
        log = self.record(MPIEXEC, '-n', '2', program, 'pieces', self.memory())
        finding, gains = self.told(log, 'collective')
        here = gains['here']
        self.assertIsNone(here['reason'])
        self.assertLess(here['seconds'], self.run_seconds(log))
        self.assertEqual(here['variant'], 'independent')
        self.assertGreater(here['low'], 0)
        self.assertGreater(gains['ssd']['seconds'], 5)  # at most 4 requests of 100 us in each of 1,000 calls, instead of 64

    def test_small_requests(self):
        log = self.record_program(faults.PROGRAMS['tiny writes'], self.folder)
        profile = self.profile(0.001)
        finding, gains = self.told(log, 'small-requests', '--system', profile)
        self.assertEqual(list(gains), ['here', *TYPICAL, profile])
        requests = -(-TINY * 16 // (1 << 20))  # instead of so many writes, which each take a millisecond
        self.assertAlmostEqual(gains[profile]['seconds'], (TINY - requests) * 0.001, delta=0.02 * TINY * 0.001)
        self.assertGreater(gains['here']['low'], 0)
        self.assertLess(gains['here']['seconds'], 1.05 * self.run_seconds(log))
        text = ' '.join(self.expect(0, 'report', '--system', profile, log).stdout.decode().split())
        self.assertIn('gain: ' + ' '.join(finding['gain'].split()), text)

    def test_advice_that_gains_nothing(self):
        """Requests that do not follow each other cannot be merged."""
        self.emulate(*faults.LATENCY)
        finding, gains = self.told(self.record_program(SCATTERED, self.above), 'small-requests')
        self.assertEqual(finding['severity'], 'low')
        self.assertIn('ranked low: ', finding['evidence'][-1]['text'])
        self.assertEqual([gains[name]['seconds'] for name in TYPICAL], [0] * 3)
        self.assertIn('no clear difference', finding['gain'])

    def test_names_of_profiles_are_text(self):
        log = self.record_program(faults.PROGRAMS['tiny writes'], self.folder)
        profile = self.profile(0.001, HOSTILE)
        finding, gains = self.told(log, 'small-requests', '--system', profile)
        self.assertIn(profile, gains)
        self.assertIn('onerror', finding['gain'])
        self.assertNotRegex(finding['gain'], r'[\n\x1b]')
        self.assertNotIn('\x1b[31m', self.expect(0, 'report', '--system', profile, log).stdout.decode())
        page = self.path('page.html')
        self.expect(0, 'report', '-o', page, '--system', profile, log)
        with open(page, encoding='utf-8') as text:
            self.assertNotIn('<img src=x onerror', text.read())

    def test_errors(self):
        log = self.record_program(SCATTERED, self.folder)
        with open(self.path('bad'), 'w', encoding='utf-8') as out:
            out.write('{"ioseer_system": 1, "points": 5}')
        for verb, *words in (('report', '--system', self.path('bad'), log), ('report', '--system', self.path('none'), log),
                             ('report', '--system', self.path('none'), '--month', '2026-11', '-o', self.path('x.html'))):
            self.assertIn(f'ioseer {verb}: ', self.expect(2 if '--month' in words else 1, verb, *words).stderr.decode())


harness.main()
