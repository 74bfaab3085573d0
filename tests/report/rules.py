"""What the tests of findings share: the rules that hold for all findings, and storage of a known speed."""
import importlib.util
import os
import re
import shlex
import tempfile

from place import harness

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'target', 'place.py')
spec = importlib.util.spec_from_file_location('target_place', TARGET)
target = importlib.util.module_from_spec(spec)
spec.loader.exec_module(target)


SUM = re.compile(r'^(?P<calls>[\d,]+) calls? takes? .*?(?P<each>[\d.]+) (?P<unit>s|ms|us)(?: of each)? is at stake$')
UNITS = {'s': 1, 'ms': 1e-3, 'us': 1e-6}


class RulesTest(harness.CommandLineTest):
    def findings(self, log):
        """The findings, by id. Whatever they are, they keep the rules for all of them."""
        page = self.json('report', '--json', log)
        summary, findings = page['summary'], page['findings']
        others = sum(process['io_time'] or 0 for process in self.json('info', '--json', log)['processes'] if process['rank'] is None)
        most = max(summary['io_seconds'], summary['io_seconds_max'] + (others if page['job']['ranks'] else 0))
        self.assertLessEqual(sum(finding['seconds'] for finding in findings), most + 1e-6)
        self.assertLessEqual(sum(finding['share'] for finding in findings), 1)
        self.assertEqual(len({finding['id'] for finding in findings}), len(findings))
        for finding in findings:
            if finding['severity'] != 'low':
                self.assertGreaterEqual(finding['seconds'], 0.01)
                self.assertGreaterEqual(finding['share'], 0.01)
            for key in ('title', 'advice', 'reason', 'basis', 'evidence'):
                self.assertTrue(finding[key], key)
            self.check_sum(finding)
            for text in (item['text'] for item in finding['evidence']):
                self.assertNotRegex(text, r'^0 ')
                for part, of in re.findall(r'([\d,]+) out of ([\d,]+)', text):
                    self.assertLessEqual(int(part.replace(',', '')), int(of.replace(',', '')), text)
            self.check(finding, log)
        return findings

    def check_sum(self, finding):
        """A reader can do the sum behind the stake again, and is told why a large stake is ranked low."""
        texts = [item['text'] for item in finding['evidence']]
        if finding['seconds']:
            found = [match for match in map(SUM.search, texts) if match]
            self.assertEqual(len(found), 1, texts)
            calls, each = int(found[0]['calls'].replace(',', '')), float(found[0]['each']) * UNITS[found[0]['unit']]
            self.assertAlmostEqual(calls * each, finding['seconds'], delta=0.006 * finding['seconds'] + 1e-9 * calls)
        by_time = finding['seconds'] >= 0.01 and finding['share'] >= 0.01
        if by_time and finding['severity'] == 'low':
            self.assertTrue(any(text.startswith('ranked low: ') for text in texts), texts)

    def check(self, finding, log):
        """The command succeeds, and shows calls, all of the file that it names."""
        words = shlex.split(finding['check'])
        self.assertEqual((words[0], words[-1]), ('ioseer', log))
        if words[1] != 'dump':
            self.expect(0, *words[1:])
            return
        events = self.json(*words[1:], '--json')
        self.assertTrue(events, finding['check'])
        named = {item['file'] for item in finding['evidence'] if item['file']}
        shown = {event['file'] for event in events}
        self.assertTrue(named <= shown or '--file' not in words, (named, finding['check']))

    def assert_first(self, wanted, log):
        findings = self.findings(log)
        told = [(finding['id'], finding['severity'], finding['seconds'], finding['title']) for finding in findings]
        self.assertTrue(findings and findings[0]['id'] == wanted, told)
        return findings[0]

    def assert_absent(self, unwanted, log):
        # Python itself looks for its modules. Opens of MPI-IO are collective, and ranks never come at the same moment.
        may_be_low = unwanted in ('metadata', 'collective', 'collective-wait', 'processors')
        told = [(finding['id'], finding['severity'], finding['seconds'], finding['title']) for finding in self.findings(log)
                if finding['id'] == unwanted and not (may_be_low and finding['severity'] == 'low')]
        self.assertEqual(told, [])


class FindingsTest(RulesTest, target.StorageTest):
    """With storage of a known speed."""

    def memory(self):
        folder = tempfile.TemporaryDirectory(prefix='ioseer-test-', dir='/dev/shm')
        self.addCleanup(folder.cleanup)
        return folder.name

    @staticmethod
    def why_not():
        return target.why_no_mount()
