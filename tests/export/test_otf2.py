"""Archives of OTF2: its tools read them without a warning, with every call and all bytes, nested as the calls were."""
import collections
import json
import os
import shutil

import exports
from exports import PYTHON, Logs, harness

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'read_otf2.py')
MODES = {'read': 'READ', 'write': 'WRITE', 'sync': 'FLUSH'}


def ns(seconds):
    return round(seconds * 1e9)


class Otf2(exports.ExportTest):
    @classmethod
    def setUpClass(cls):
        if not shutil.which('otf2-print') or harness.run(PYTHON, '-c', 'import otf2').returncode:
            raise harness.unittest.SkipTest('otf2-tools or python3-otf2 is not here')
        done = harness.ioseer('export', Logs.find('plain'), '--format', 'otf2', '-o', os.path.join(Logs.folder, 'probe'))
        if b'built without' in done.stderr:
            raise harness.unittest.SkipTest('built without libopen-trace-format2-dev')

    def read(self, log):
        folder = self.path('archive')
        shutil.rmtree(folder, ignore_errors=True)
        anchor = os.path.join(self.export(log, 'otf2', 'archive'), 'traces.otf2')
        shown = harness.run('otf2-print', '--silent', '-Werror', anchor)
        self.assertEqual((shown.returncode, shown.stderr), (0, b''))
        done = harness.run(PYTHON, READER, anchor)
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        return json.loads(done.stdout)

    def check(self, log):
        trace, events = self.read(log), {event['id']: event for event in self.events(log)}
        last, stacks, seen = collections.Counter(), collections.defaultdict(list), {}
        counts = collections.Counter(record['location'] for record in trace['records'])
        self.assertEqual(dict(counts), {one['id']: one['records'] for one in trace['locations'] if one['records']})
        for record in trace['records']:
            self.assertGreaterEqual(record['time'], last[record['location']])
            last[record['location']] = record['time']
            stack = stacks[record['location']]
            if record['kind'] == 'Enter':
                event = events[record['attributes']['id']]
                self.assertEqual((record['region'], record['attributes'].get('parent')), (event['op'], event['parent']))
                if stack:
                    self.assertEqual(stack[-1], event['parent'])
                self.assertNotIn(event['id'], seen)
                seen[event['id']] = record['time']
                stack.append(event['id'])
            elif record['kind'] == 'Leave':
                event = events[stack.pop()]
                self.assertEqual((record['region'], record['time'] - seen[event['id']]), (event['op'], ns(event['duration'])))
        self.assertEqual(set(seen), set(events))
        self.assertFalse(any(stacks.values()))
        self.check_operations(trace['records'], events)
        return trace

    def check_operations(self, records, events):
        begun = {record['matching_id']: record for record in records if record['kind'] == 'IoOperationBegin'}
        ended = {record['matching_id']: record for record in records if record['kind'] == 'IoOperationComplete'}
        self.assertEqual(set(begun), {number for number, event in events.items() if event['class'] in MODES and event['file']})
        self.assertEqual(set(begun), set(ended))
        for number, record in begun.items():
            event = events[number]
            self.assertEqual(record['mode'], MODES[event['class']])
            if event['class'] == 'sync':
                continue
            self.assertEqual((record['bytes_request'], record['attributes'].get('offset')), (event['size'] or 0, event['offset']))
            self.assertEqual(ended[number]['bytes_result'], max(event['result'] or 0, 0))

    def check_handles(self, records):
        """A handle that was made is used only until it is destroyed."""
        made, gone = {}, set()
        for record in records:
            if record['kind'] == 'IoCreateHandle':
                self.assertNotIn(record['handle'], made)
                made[record['handle']] = record['file']
            elif record['kind'] == 'IoDestroyHandle':
                self.assertNotIn(record['handle'], gone)
                gone.add(record['handle'])
        return made, gone

    def test_logs(self):
        for log in self.each_log():
            made, gone = self.check_handles(self.check(log)['records'])
            self.assertTrue(made and gone)

    def test_calls_that_overlap(self):
        trace = self.check(Logs.find('overlapping'))
        self.assertGreater(len(trace['locations']), 1)

    def test_ranks_are_groups(self):
        try:
            trace = self.check(Logs.find('mpich'))
        except harness.unittest.SkipTest as why:
            self.skipTest(str(why))
        groups = {one['group'] for one in trace['locations']}
        self.assertLessEqual({f'MPI Rank {rank}' for rank in range(4)}, groups)

    def test_no_room(self):
        mounted = harness.run('mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', self.folder)
        if mounted.returncode:
            self.skipTest('only root can mount a small file system')
        try:
            line = self.expect_error(1, 'export', Logs.find('big'), '--format', 'otf2', '-o', self.path('x'))
            self.assertIn('No space', line)
            self.assertEqual(os.listdir(self.folder), [])
        finally:
            harness.run('umount', self.folder)

    def test_folders_are_never_overwritten(self):
        self.expect_error(2, 'export', Logs.find('plain'), '--format', 'otf2', '--force', '-o', self.folder)
        self.expect_error(2, 'export', Logs.find('plain'), '--format', 'otf2', '-o', '-')
        self.assertEqual(os.listdir(self.folder), [])

    def test_damaged_log(self):
        log = self.damaged(Logs.find('plain'))
        self.assertEqual(sum(record['kind'] == 'Enter' for record in self.read(log)['records']), len(self.events(log)))


harness.main()
