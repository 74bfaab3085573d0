"""Traces for Perfetto: every call as a slice, nested only in the call that made it, tied to it otherwise."""
import os

from exports import BIG_EVENTS, Logs, harness
from perfetto import Trace
from perfetto_checks import Checks


class Perfetto(Checks):
    def test_logs(self):
        for log in self.each_log():
            self.check(log)

    def test_calls_that_overlap(self):
        log = Logs.find('overlapping')
        self.assertIn('aio_write', {event['op'] for event in self.events(log)})
        self.check(log)

    def test_many_events(self):
        """More than are kept in memory before they are written."""
        trace = self.trace_of(Logs.find('big'))
        writes = [part for part in trace.slices if part.op == 'pwrite']
        self.assertEqual(len(writes), BIG_EVENTS)
        self.assertEqual(sum(part.result for part in writes), sum(i % 7 for i in range(BIG_EVENTS)))

    def test_standard_output(self):
        log = Logs.find('plain')
        with open(self.export(log, 'perfetto', 'trace'), 'rb') as file:
            self.assertEqual(self.expect(0, 'export', log, '--format', 'perfetto', '-o', '-').stdout, file.read())

    def test_damaged_log(self):
        log = self.damaged(Logs.find('big'))
        done = self.expect(0, 'export', log, '--format', 'perfetto', '-o', self.path('trace'))
        self.assertIn(b'not all of it could be read', done.stderr)
        self.assertEqual(len(Trace(self.path('trace')).slices), len(self.events(log)))

    def test_full_disk(self):
        self.assertIn('No space', self.expect_error(1, 'export', Logs.find('big'), '--format', 'perfetto', '-o', '/dev/full'))
        self.assertEqual(os.listdir(self.folder), [])


harness.main()
