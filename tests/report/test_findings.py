#!/usr/bin/env python3
"""Findings of recorded programs: a planted fault is named first, a good program has none that is medium or high, and each
finding fires where its fault is and is silent in two programs that look alike.

Storage of a known speed is emulated: each request takes at least its latency, even on a busy machine.
"""
import collections
import os

import faults
import figures
import rules
from faults import FAULTS, LATENCY
from rules import harness


class FindingsTest(rules.FindingsTest):
    def storage(self, options):
        """A folder on storage with these options. It holds `data`."""
        folder = self.below if options else self.folder
        with open(os.path.join(folder, 'data'), 'wb') as out:
            out.write(os.urandom(faults.DATA_BYTES))
        if not options:
            return self.folder
        self.emulate(*options)
        return self.above

    def record_program(self, program, folder, *more):
        cap = ('--file-cap', '100') if 'past the cap' in program else ()
        before = {'preexec_fn': faults.interrupt} if 'interrupted' in program else {}
        return self.record_python(faults.START + faults.PROGRAMS[program], folder, *more, options=(*cap, '--force'), **before)

    def test_planted_faults(self):
        for wanted, (program, options), *_ in FAULTS:
            with self.subTest(fault=program, storage=options):
                self.assert_first(wanted, self.record_program(program, self.storage(options)))
            self.unmount()

    def test_programs_that_look_alike(self):
        for unwanted, _, *others in FAULTS:
            for program, options in others:
                with self.subTest(finding=unwanted, program=program, storage=options):
                    self.assert_absent(unwanted, self.record_program(program, self.storage(options)))
                self.unmount()

    def test_titles_and_advice_are_about_these_calls(self):
        first = self.assert_first('small-requests', self.record_program('tiny writes', self.folder))
        self.assertRegex(first['title'], r'^100,\d{3} small writes of 16 B')
        self.assertIn(first['severity'], ('medium', 'high'))
        self.assertIn('1 ns per byte', first['basis'])  # an assumption is told
        first = self.assert_first('failed', self.record_program('failed writes', self.folder))
        self.assertIn('EFBIG', str(first['evidence']))
        self.assertNotIn('--failed', first['check'])  # one write moved a part
        first = self.assert_first('failed', self.record_program('interrupted writes', self.folder))
        self.assertEqual(first['title'], '50,000 calls were interrupted by signals before they moved anything')
        self.assertIn('dump --failed --class write', first['check'])
        self.assertIn('SA_RESTART', first['advice'])
        first = self.assert_first('opens', self.record_program('opens in a loop', self.folder))
        self.assertIn('20,000 times', str(first['evidence']))
        first = self.assert_first('metadata', self.record_program('opens of many files', self.folder))
        self.assertNotIn('server', first['reason'])
        self.assertEqual(first['severity'], 'low')  # served from memory

    def durations(self, log, name, wanted):
        """In nanoseconds, of the calls of this class on the file; of stats and opens the repeated ones."""
        return [figures.ns(e['duration']) for e in figures.load(self.expect(0, 'dump', '--json', log).stdout)
                if e['file'] and os.path.basename(e['file']) == name and wanted(e)]

    @staticmethod
    def typical(durations):
        """What the faster nineteen of twenty calls take on average: without the pauses of a busy machine."""
        kept = sorted(durations)[:len(durations) - len(durations) // 20]
        return sum(kept) / len(kept)

    def assert_stake(self, finding, log, stake):
        """ioseer sorts the times into bins a quarter wide."""
        first = self.assert_first(finding, log)
        with self.subTest(finding=finding):
            self.assertTrue(0.98 * stake <= first['seconds'] * 1e9 <= 1.25 * stake, (first['seconds'], stake))
        self.unmount()
        return first

    def test_stakes_of_repeated_calls(self):
        """At stake are those after the first, but what is typical comes from all of them."""
        for finding, program, options, name, classes in (
                ('stats', 'stats of one file', faults.HERE_ONLY, 'x', ('meta',)),
                ('opens', 'opens in a loop', faults.HERE_ONLY, 'opened', ('open', 'close')),
                ('syncs', 'syncs', faults.CACHED, 'synced', ('sync',))):
            log, stake = self.record_program(program, self.storage(options)), 0
            for kind in classes:
                first_ns, *all_ns = self.durations(log, name, lambda e: e['class'] == kind)
                stake += min(self.typical([first_ns, *all_ns]) * len(all_ns), sum(all_ns))
            first = self.assert_stake(finding, log, stake)
            if finding == 'syncs':
                each = figures.time_text(sum(all_ns) // len(all_ns)) + ' each on average'
                self.assertEqual(first['title'], f'{len(all_ns)} syncs of files that had been synced before, {each}')

    def test_stakes_of_requests(self):
        """Those that move the same bytes again, after the first; or what small ones take beyond a copy in memory."""
        for finding, program, options, name, kind, first, copy_ns in (
                ('read-again', 'read again', LATENCY, 'data', 'read', 1, 0),
                ('written-again', 'written again', LATENCY, 'over', 'write', 1, 0),
                ('small-requests', 'tiny writes', faults.HERE_ONLY, 'tiny', 'write', 0, 16),
                ('small-requests', 'small writes', LATENCY, 'small', 'write', 0, 4096)):
            log = self.record_program(program, self.storage(options))
            all_ns = self.durations(log, name, lambda e: e['class'] == kind)[first:]
            self.assert_stake(finding, log, min((self.typical(all_ns) - copy_ns) * len(all_ns), sum(all_ns)))

    def test_the_stake_of_failed_calls(self):
        log = self.record_program('failed writes', self.folder)
        failed = self.durations(log, 'full', lambda e: e['class'] == 'write' and (e['errno'] or e['result'] < e['size']))
        self.assertAlmostEqual(self.assert_first('failed', log)['seconds'] * 1e9, sum(failed), delta=1.5)  # rounded down

    def test_slow_file(self):
        fast, slow = self.memory(), self.storage(LATENCY)  # on a disk, a file may be slow by chance
        first = self.assert_first('slow-file', self.record_program('one slow file', fast, slow))
        self.assertEqual(os.path.basename(first['evidence'][0]['file']), 'file3')
        for folder in (fast, slow):
            self.assert_absent('slow-file', self.record_program('one slow file', folder, folder))

    def test_every_finding_has_cases(self):
        """One in which it must fire and two or more in which it must not."""
        cases = collections.defaultdict(set)
        for finding, *runs in FAULTS + faults.RANK_FAULTS + faults.LIBRARY_FAULTS + faults.LIBRARY_RANK_FAULTS:
            cases[finding].update(runs)
            self.assertGreaterEqual(len(set(runs)), 3, finding)
        self.assertEqual(set(cases) | faults.OTHERS, set(faults.ids_in_the_code()))


harness.main()
