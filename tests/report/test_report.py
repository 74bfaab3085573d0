#!/usr/bin/env python3
"""`ioseer report`: its numbers are those of the other verbs, it stays small, and names cannot break out of it."""
import json
import os
import re
import shlex
import subprocess

import place
from place import harness

DATA = re.compile(rb'<script type="application/json" id="ioseer-data">(.*?)</script>', re.S)


class ReportTest(harness.CommandLineTest):
    def report(self, log, *options):
        return self.json('report', '--format', 'json', *options, log)

    def record_program(self, *more):
        return self.record_python(place.PROGRAM, self.folder, *more)

    def test_numbers_are_those_of_the_other_verbs(self):
        log = self.record_program()
        page, info, phases = self.report(log), self.json('info', '--json', log), self.json('phases', '--json', log)
        events = self.json('dump', '--json', log)
        self.assertEqual(page['version'], 1)
        self.assertEqual(page['job'], info)
        self.assertEqual(page['phases'], phases)
        own = [event for event in events if event['parent'] is None]
        moved = {kind: sum(e['result'] for e in own if e['class'] == kind) for kind in ('read', 'write')}
        self.assertEqual(page['summary']['bytes_read'], moved['read'])
        self.assertEqual(page['summary']['bytes_written'], moved['write'])
        self.assertEqual(page['summary']['calls'], len(own))
        self.assertEqual(page['summary']['cut'], [])
        timeline = page['timeline']
        self.assertTrue(timeline['complete'])
        spans = {span[8]: span for span in timeline['spans']}
        self.assertEqual(set(spans), {event['id'] for event in own})
        for event in own:
            lane, start, duration, kind, calls, size, name, file, _ = spans[event['id']]
            self.assertEqual((timeline['classes'][kind], calls, timeline['call_names'][name]),
                             (event['class'], 1, event['op']))
            self.assertEqual((start, duration), (event['start'], event['duration']))
            self.assertEqual(timeline['files'][file] if file >= 0 else None, event['file'])
            self.assertEqual(timeline['lanes'][lane]['tid'], event['tid'])
            self.assertEqual(size, event['result'] if event['class'] in moved else 0)
        for key, kind in (('read_bytes', 'read'), ('write_bytes', 'write')):
            # Each bin is rounded.
            self.assertAlmostEqual(sum(timeline['bins'][key]), moved[kind], delta=timeline['bins']['count'])
        posix, = (layer for process in page['layers']['ranks'] for layer in process['layers'] if layer['layer'] == 'posix')
        self.assertEqual(posix['calls'], sum(e['layer'] == 'posix' for e in events))
        self.assertAlmostEqual(posix['inclusive'], sum(e['duration'] for e in events if e['layer'] == 'posix'), places=6)
        self.assertEqual(sum(call['calls'] for call in page['layers']['calls']), len(events))
        longest = max(own, key=lambda e: e['duration'])
        self.assertEqual(page['layers']['slowest'][0]['duration'], longest['duration'])

    def test_files_have_their_counters(self):
        log = self.record_program()
        files = {file['name']: file for file in self.report(log)['files']}
        for record in self.json('stats', '--json', log)['records']:
            layers = {layer['layer']: layer['counters'] for layer in files[record['file']]['layers']}
            self.assertEqual(layers[record['layer']], record['counters'])
        mine = files[self.path('a')]
        self.assertEqual((mine['bytes_written'], mine['opens']), (20 * 1000 + (1 << 20) + 5 * 512, 2))
        self.assertEqual(sum(mine['sizes']['read']), 5)
        self.assertEqual(mine['common_sizes'][0], {'value': 1000, 'count': 20})
        self.assertEqual(sum(mine['heat']['write_bytes']), mine['bytes_written'])

    def test_points_are_transfers_with_their_phases(self):
        log = self.record_program()
        page = self.report(log)
        ids = {phase['id'] for phase in page['phases']['phases']}
        transfers = [e for e in self.json('dump', '--json', log) if e['class'] in ('read', 'write') and e['file']]
        self.assertEqual(len(page['space']['points']), len(transfers))
        self.assertFalse(page['space']['sampled'])
        self.assertTrue({point[0] for point in page['space']['points']} <= ids)
        self.assertEqual(sorted(point[3] for point in page['space']['points']), sorted(e['offset'] for e in transfers))

    def test_headline_agrees_with_itself(self):
        program = ('import os\nfor i in range(3):\n    if not os.fork():\n        os.execv("/bin/sh", ["sh", "-c", "echo x >n%d" % i])\n'
                   '    os.wait()\nif not os.fork():\n    os._exit(0)\nos.wait()')
        log = self.record_python(program)
        summary, info = self.report(log)['summary'], self.json('info', '--json', log)
        self.assertEqual(info['job']['nprocs'], 5)
        self.assertGreater(len(info['processes']), 5)
        self.assertAlmostEqual(summary['io_share'], summary['io_seconds'] / summary['run_seconds'], places=3)
        self.assertGreaterEqual(summary['io_seconds'], summary['io_seconds_max'])
        self.assertLessEqual(summary['processes'], 5)
        self.assertIn(' as 5 processes. ', summary['sentences'][0])
        alone = self.report(self.record('sh', '-c', 'exec sh -c "echo x >\'$0\'"', self.path('x'), name='alone.ioseer'))['summary']
        self.assertRegex(alone['sentences'][0], r' as 1 process and spent [\d.]+ % of that in I/O: [\d.]+ [mu]?s\.$')
        self.assertEqual(alone['processes'], 1)

    def test_text_tells_the_same(self):
        log = self.record_program()
        page, text = self.report(log), self.expect(0, 'report', log).stdout.decode()
        flat = ' '.join(text.split())
        for sentence in page['summary']['sentences']:
            self.assertIn(' '.join(sentence.split()), flat)
        for finding in page['findings']:
            self.assertIn(' '.join(finding['title'].split()), flat)
        self.assertIn(self.path('a'), text)

    def test_page_holds_the_data(self):
        if not place.has_page():
            self.skipTest('built without the page')
        log = self.record_program()
        out = self.path('x.html')
        self.expect(0, 'report', log, '-o', out)
        with open(out, 'rb') as file:
            html = file.read()
        self.assertEqual(json.loads(DATA.search(html)[1]), self.report(log))
        self.assertNotIn(b'@IOSEER_', html)
        self.assertLess(len(html), 4_000_000)

    def test_hostile_names_stay_inside(self):
        self.record_python('import os, sys\nfor n in map(os.path.abspath, sys.argv[1:]):\n'
                           '    os.makedirs(os.path.dirname(n), exist_ok=True)\n    open(n, "wb").write(b"x" * 100)',
                           *[os.fsdecode(name) for name in place.HOSTILE], name='hostile.ioseer')
        log = self.path('hostile.ioseer')
        raw = self.expect(0, 'report', '--format', 'json', log).stdout
        self.assertNotIn(b'<', raw)
        self.assertFalse(re.search(rb'[\x00-\x09\x0b-\x1f]', raw))
        page = json.loads(raw)
        names = {file['name'] for file in page['files']}
        for name in place.HOSTILE:
            self.assertIn(self.path(os.fsdecode(name)), names)
        text = self.expect(0, 'report', log).stdout
        self.assertFalse(re.search(rb'[\x00-\x09\x0b-\x1f\x7f]', text))
        if place.has_page():
            html = self.expect(0, 'report', '--format', 'html', log).stdout
            self.assertEqual(json.loads(DATA.search(html)[1]), page)
            plain = self.expect(0, 'report', '--format', 'html', self.record_program()).stdout
            self.assertEqual(html.count(b'<script'), plain.count(b'<script'))

    def test_it_stays_small_and_says_so(self):
        self.record_python('import os\nfor i in range(4000):\n    os.close(os.open("n" * 200 + str(i), os.O_CREAT | os.O_RDWR))',
                           name='many.ioseer')
        raw = self.expect(0, 'report', '--format', 'json', self.path('many.ioseer')).stdout
        page = json.loads(raw)
        self.assertLess(len(raw), 2_000_000)
        self.assertLess(len(page['files']), 4000)
        self.assertTrue(any(text.startswith('files') for text in page['summary']['cut']))
        self.assertFalse(page['timeline']['complete'])
        self.assertEqual(sum(span[4] for span in page['timeline']['spans']), page['summary']['calls'])

    def test_advice_where_each_process_reads_its_own_part(self):
        program = ('import os, sys\nsize = 4 << 20\nwith open(sys.argv[2], "wb") as out: out.write(bytes(4 * size))\n'
                   'for i in range(4):\n    if os.fork(): continue\n    fd = os.open(sys.argv[2], os.O_RDONLY)\n'
                   '    for j in range(20): os.pread(fd, size, i * size * int(sys.argv[1]))\n    os._exit(0)\n'
                   'for i in range(4): os.wait()\n')
        advice = {}
        for own in (0, 1):
            log = self.record_python(program, str(own), "data it's", name=f'own{own}.ioseer')
            finding, = (finding for finding in self.report(log)['findings'] if finding['id'] == 'read-again')
            advice[own] = finding['advice']
            command = f"""ioseer dump --class read --file '{self.folder}/data it'\\''s' {log}"""
            self.assertEqual(finding['command'], command)
            self.assertIn(f'check:    {command}\n', self.expect(0, 'report', log).stdout.decode())
            self.assertEqual(len(self.json(*shlex.split(command)[1:], '--json')), 80)
        self.assertIn('Let one process read', advice[0])
        self.assertEqual(advice[1], 'Keep data in memory if it is needed again.')

    def test_predictions(self):
        log = self.record_program()
        prediction = {'targets': [{'name': '<b>', 'method': 'replay', 'total': 1.5, 'low': 1.25, 'high': 2},
                                  {'name': 3, 'total': 'x'}], 'best': '<b>', 'recorded': 2.5}
        for name, text in (('good.json', json.dumps(prediction)), ('bad.json', '{"a": '), ('list.json', '[1]')):
            with open(self.path(name), 'w', encoding='utf-8') as out:
                out.write(text)
        self.assertEqual(self.report(log)['predictions'], [])
        self.assertNotIn('Predictions', self.expect(0, 'report', log).stdout.decode())
        self.assertEqual(self.report(log, '--prediction', self.path('good.json'))['predictions'], [prediction])
        for name in ('bad.json', 'list.json', 'nothing.json'):
            self.expect_error(1, 'report', '--prediction', self.path(name), log)
        os.rename(self.path('good.json'), log + '.predict.json')
        raw = self.expect(0, 'report', '--format', 'json', log).stdout
        self.assertEqual(json.loads(raw)['predictions'], [prediction])
        self.assertNotIn(b'<', raw)
        flat = ' '.join(self.expect(0, 'report', log).stdout.decode().split())
        self.assertIn('1.50 s 1.25 s - 2.00 s <b>, replay: the fastest', flat)
        self.assertIn('2.50 s as recorded', flat)
        self.assertNotIn('a target without a name: ', flat)

    def test_lines_of_the_program(self):
        log = self.record('dd', 'if=/dev/zero', f'of={self.path("out")}', 'bs=512', 'count=20', options=('--callsites',),
                          stderr=subprocess.DEVNULL)
        self.assertTrue(self.report(log)['files'])

    def test_without_a_trace(self):
        """Counters tell no phases and findings: that is not known, it is not nothing."""
        log = self.record('dd', 'if=/dev/zero', 'of=' + self.path('out'), 'bs=1k', 'count=50', options=('--trace-file', '/none'))
        self.assertIs(self.json('info', '--json', log)['job']['trace'], False)
        text = self.expect(0, 'report', log).stdout.decode()
        self.assertIn('Not known: findings come from a trace', text)
        self.assertIn('The log has no trace, only counters', text)
        for untrue in ('no known pattern', 'at most 0', 'No bytes'):
            self.assertNotIn(untrue, text)
        self.assertEqual(self.json('report', '--json', log)['timeline']['bins']['count'], 0)

    def test_usage(self):
        log = self.record_program()
        self.expect_error(2, 'report')
        self.expect_error(2, 'report', '--format', 'pdf', log)
        self.expect_error(2, 'report', log, log)
        for words in ((), ('--format', 'html')):
            line = self.expect_error(1, 'report', *words, self.path('nothing'))
            self.assertIn('No such file', line)
        self.assertEqual(self.json('report', '--json', log), self.report(log))
        self.expect_error(2, 'report', '--json', '--format', 'text', log)
        self.expect_error(2, 'report', '-o', log, '--format', 'json', log)

    def test_damaged_and_empty_logs(self):
        empty = self.record('true', name='empty.ioseer')
        self.assertEqual(self.report(empty)['findings'], [])
        self.expect(0, 'report', empty)
        log = self.record_program()
        with open(log, 'rb') as file:
            whole = file.read()
        cut = self.path('cut.ioseer')
        for part in (2, 3, 5):
            with open(cut, 'wb') as file:
                file.write(whole[:len(whole) * part // 6])
            done = harness.ioseer('report', '--format', 'json', cut)
            self.assertIn(done.returncode, (0, 1))
            if done.returncode == 0:
                self.assertTrue(json.loads(done.stdout)['summary']['not_captured'])


harness.main()
