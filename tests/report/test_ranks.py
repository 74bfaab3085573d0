#!/usr/bin/env python3
"""Findings about ranks and MPI-IO, of a program that has one fault or none (ranks.c)."""
import math
import os
import shutil
import subprocess
import tempfile

import faults
import figures
import rules
from faults import PAIR
from rules import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ranks.c')
START = {'mpich': ('mpiexec.mpich',), 'openmpi': ('mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe')}


def use_few_processors():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PAIR])


class RanksTest(rules.FindingsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scratch = tempfile.TemporaryDirectory(prefix='ioseer-test-')
        cls.addClassCleanup(scratch.cleanup)
        cls.programs = {}
        for mpi, start in START.items():
            if shutil.which(f'mpicc.{mpi}') and shutil.which(start[0]):
                cls.programs[mpi] = os.path.join(scratch.name, mpi)
                subprocess.run([f'mpicc.{mpi}', '-O1', '-o', cls.programs[mpi], SOURCE], check=True)

    def run_ranks(self, fault, *folders, ranks=4, mpi='mpich', **more):
        if mpi not in self.programs:
            self.skipTest(f'no {mpi}')
        return self.record(*START[mpi], '-n', str(ranks), self.programs[mpi], fault, *folders, options=('--force',), **more)

    def run_undisturbed(self, *words, **more):
        """Other programs on the processors make ranks late: then it runs again, a few times at most."""
        for _ in range(5):
            log = self.run_ranks(*words, **more)
            if 'processors' not in [finding['id'] for finding in self.findings(log)]:
                break
        return log

    def storage(self, options):
        """Folders with this storage, the slower one last."""
        if options == faults.MEMORY:
            return self.memory(),
        if options == faults.HERE_ONLY:
            return self.folder,
        self.emulate(*(faults.SLOW if options == faults.HERE_AND_SLOW else options))
        return (self.folder, self.above) if options == faults.HERE_AND_SLOW else (self.above,)

    def run_case(self, fault, options, ranks, **more):
        folders = self.storage(options)
        run = self.run_undisturbed if fault == 'pieces' else self.run_ranks
        log = run(fault, *folders, ranks=ranks, **more)
        findings = self.findings(log)
        self.unmount()
        return log, findings

    def test_planted_faults(self):
        for wanted, run, *_ in faults.RANK_FAULTS:
            few = {'preexec_fn': use_few_processors} if wanted == 'processors' else {}
            with self.subTest(finding=wanted, run=run):
                self.log, findings = self.run_case(*run, **few)
                by_id = {finding['id']: finding for finding in findings}
                told = [(finding['id'], finding['severity'], finding['seconds']) for finding in findings]
                self.assertIn(wanted, by_id, told)
                if wanted not in faults.LATER:
                    self.assertEqual(findings[0]['id'], wanted, told)
                getattr(self, f'check_{wanted.replace("-", "_")}', lambda finding: None)(by_id[wanted])

    def test_programs_that_look_alike(self):
        for unwanted, _, *others in faults.RANK_FAULTS:
            for run in others:
                with self.subTest(finding=unwanted, run=run):
                    self.assert_absent(unwanted, self.run_case(*run)[0])

    # --- titles, evidence and advice are about these ranks

    def check_one_rank(self, finding):
        self.assertIn('Rank 0 does the I/O of all 4 ranks', finding['title'])
        self.assertEqual(finding['evidence'][0]['ranks'], [0])
        self.assertIn('--rank 0', finding['check'])

    def check_slow_rank(self, finding):
        self.assertEqual(finding['evidence'][0]['ranks'], [3])

    def check_waiting(self, finding):
        self.assertIn('while rank 0 does more I/O', finding['title'])
        self.assertNotEqual(finding['evidence'][1]['ranks'], [0])

    def check_contention(self, finding):
        self.assertIn('Processes that write one file at the same time are ', finding['title'])
        self.assertIn('--class write', finding['check'])
        self.assertAlmostEqual(finding['seconds'], self.contended_ns() / 1e9, delta=0.02 * finding['seconds'])

    def contended_ns(self):
        """How much longer periods with several ranks take than the same bytes of one alone; a busy machine keeps ranks from
        meeting. As far as the ranks' I/O is not at the same time, it counts as that of the rank with the most."""
        events = figures.load(self.expect(0, 'dump', '--json', self.log).stdout)
        own = sorted(({**e, 'start': figures.ns(e['start']), 'duration': figures.ns(e['duration'])} for e in events
                      if e['parent'] is None and e['rank'] is not None), key=figures.start)
        periods = []
        for event in (e for e in own if e['class'] == 'write' and os.path.basename(e['file']) == 'together.0'):
            if not periods or event['start'] >= max(map(figures.end, periods[-1])):
                periods.append([])
            periods[-1].append(event)
        sums = {True: [], False: []}
        for period in periods:
            span_ns = max(map(figures.end, period)) - period[0]['start']
            sums[len({e['rank'] for e in period}) > 1].append((span_ns, sum(map(figures.moved, period))))
        mean = {several: sum(math.log(moved / ns) for ns, moved in some) / len(some) for several, some in sums.items()}
        lost_ns = sum(ns for ns, _ in sums[True]) * (1 - math.exp(mean[True] - mean[False]))
        most_ns = max(figures.union([e for e in own if e['rank'] == rank]) for rank in {e['rank'] for e in own})
        return lost_ns * min(1, most_ns / figures.union(own))

    def check_data_sieving(self, finding):
        # Each piece would be a request of 5 ms.
        self.assertEqual((finding['advice'], finding['gains'][0]['variant']), ('Write whole regions of the file.', 'whole-regions'))
        self.assertGreater(finding['gains'][0]['low'], 0)
        self.assertGreater(finding['seconds'], 0.005 * 40 * 0.9)

    def check_independent(self, finding):
        self.assertIn('MPI-IO turns each call into 64 writes', finding['title'])

    def check_collective(self, finding):
        self.assertIn('romio_cb_write=disable', finding['advice'])
        self.assertIn('exchange of data', str(finding['evidence']))

    def check_collective_wait(self, finding):
        self.assertIn('mostly for rank 0', finding['title'])
        late = [evidence for evidence in finding['evidence'] if 'it is the last to arrive at' in evidence['text']]
        self.assertEqual([evidence['ranks'] for evidence in late], [[0]])

    def check_processors(self, finding):
        self.assertEqual(finding['title'], f'{2 * PAIR} ranks share {PAIR} processors')
        self.assertIn('runnable but not running', finding['evidence'][0]['text'])

    def test_ranks_that_come_late_in_open_mpi(self):
        log = self.run_ranks('late', self.memory(), ranks=PAIR, mpi='openmpi')
        self.assertIn('collective-wait', [finding['id'] for finding in self.findings(log)])

    def test_collective_calls_of_one_rank_wait_for_nobody(self):
        for mpi in self.programs:
            with self.subTest(mpi=mpi):
                log = self.run_ranks('alone', self.memory(), ranks=PAIR, mpi=mpi)
                self.assertTrue(self.json('dump', '--op', 'MPI_File_write_all', '--json', log))
                self.assertFalse({finding['id'] for finding in self.findings(log)} & {'collective', 'collective-wait'})

    def advice_on_collective_calls(self, fault, mpi, **variables):
        advice = []
        for _ in range(5):  # on a busy machine other findings may take the time
            log = self.run_ranks(fault, self.memory(), ranks=PAIR, mpi=mpi, env={**os.environ, **variables})
            advice += [finding['advice'] for finding in self.findings(log) if finding['id'] == 'collective']
        self.assertTrue(advice)
        return str(advice)

    def test_hints_are_for_the_library_that_ran(self):
        # By itself OMPIO writes such pieces without any exchange.
        rounds = {'OMPI_MCA_fcoll': 'two_phase', 'OMPI_MCA_io_ompio_bytes_per_agg': '128'}
        advice = self.advice_on_collective_calls('pieces', 'openmpi', **rounds)
        self.assertIn('--mca fcoll individual', advice)
        self.assertNotIn('romio_', advice)

    def test_hints_are_not_for_opens(self):
        advice = self.advice_on_collective_calls('reopened', 'mpich')
        self.assertIn('keep it open', advice)
        self.assertNotIn('romio_', advice)


harness.main()
