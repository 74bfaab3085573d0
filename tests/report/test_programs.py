#!/usr/bin/env python3
"""Every figure that ioseer tells about a log, in text, JSON and the page, is the one that figures.py computes from the
events: for programs that people use, for programs that end badly, and for the MPI examples."""
import os
import re
import shlex
import shutil
import subprocess
import sys

import figures
import place
from figures import bytes_text, count_text, ns, percent_text, rate_text, time_text
from place import harness

DATA = re.compile(rb'<script type="application/json" id="ioseer-data">(.*?)</script>', re.S)
EXAMPLES = os.path.join(harness.BUILD, 'examples')
MPIEXEC = {'mpich': ('mpiexec.mpich', '-n'), 'openmpi': ('mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '-n')}
SHOWN = 10  # rows of the tables in text
TIMES = ('READ', 'WRITE', 'META')


def lines(text):
    return {' '.join(line.split()) for line in text.decode('utf-8', 'surrogateescape').split('\n')}


class Comparison(harness.CommandLineTest):
    def load(self, *words):
        return figures.load(self.expect(0, *words).stdout)

    def compare(self, log):
        """Compares all verbs. What a trace did not see (`cut`) cannot be computed from its events."""
        self.log, self.info = log, self.load('info', '--json', log)
        self.page = self.load('report', '--json', log)
        self.told = figures.Figures(self.load('dump', '--json', log), self.load('dump', '--comm', '--json', log), self.info)
        self.text = lines(self.expect(0, 'report', log).stdout)
        self.info_text = lines(self.expect(0, 'info', '--all', log).stdout)
        self.counters = self.told.counters(self.told.events)
        self.own_counters = self.told.counters(self.told.of_program(self.told.events))
        for check in (self.check_job, self.check_processes, self.check_ranks, self.check_files, self.check_coverage,
                      self.check_summary, self.check_sentences, self.check_findings, self.check_layers, self.check_calls,
                      self.check_timeline, self.check_page_files, self.check_counters, self.check_call_list,
                      self.check_phases, self.check_model, self.check_page):
            with self.subTest(figures=check.__name__):
                check()

    def line(self, *words, among=None):
        """The text has a line that begins like this."""
        wanted, found = ' '.join(map(str, words)), self.text if among is None else among
        self.assertTrue(any(line == wanted or line.startswith(wanted + ' ') for line in found),
                        (wanted, sorted(line for line in found if line.split()[-1:] == wanted.split()[-1:])))

    # --- info

    def check_job(self):
        self.assertEqual((self.info['events'], self.info['lost_events']), (len(self.told.events), 0))
        layers = {e['layer'] for e in self.told.events}
        self.assertEqual(set(self.info['layers']), layers)
        self.line(f'Events {count_text(len(self.told.events))}, none lost', among=self.info_text)

    def check_processes(self):
        for image in self.info['processes']:
            io_ns, calls, read, written = self.told.process([image])
            self.assertEqual((ns(image['io_time']), image['calls'], image['bytes_read'], image['bytes_written']),
                             (io_ns, calls, read, written), image['program'])
        for row in self.info['busiest']:
            chain = next(c for c in self.told.chains if c[0]['pid'] == row['pid'] and len(c) == row['images'] and
                         sum(ns(p['run_time']) for p in c) == ns(row['run_time']))
            io_ns, calls, read, written = self.told.process(chain)
            self.assertEqual((ns(row['io_time']), row['calls'], row['bytes_read'], row['bytes_written']),
                             (io_ns, calls, read, written))
            share = min(io_ns / ns(row['run_time']), 1)
            self.assertEqual(float(row['share']), share)
            rank = [row['rank'] if row['rank'] is not None else '-'] if self.told.has_ranks else []
            shown = [time_text(ns(row['run_time'])), time_text(io_ns), percent_text(share), bytes_text(read), bytes_text(written)]
            self.line(*rank, row['pid'], *shown, among=self.info_text)
            who = row['pid'] if row['rank'] is None else f'rank {row["rank"]}'
            if row in [r for r in self.info['busiest'] if not r['launcher']][:SHOWN] and len(self.info['busiest']) > 1:
                self.line(who, *shown, row['program'])
        times = [(not self.told.counts(row), row['launcher'], -row['io_time']) for row in self.info['busiest']]
        self.assertEqual(times, sorted(times))
        self.assertEqual(self.page['job']['busiest'], self.info['busiest'][:200])

    def check_ranks(self):
        for row in self.info['ranks']:
            image = next(p for p in self.told.images if p['pid'] == row['pid'] and p['rank'] == row['rank'])
            run_ns, io_ns = ns(image['run_time']), self.told.process([image])[0]
            comm_ns = sum(ns(c['time']) for c in self.told.comm if c['pid'] == row['pid'])
            times = [run_ns, io_ns, comm_ns, max(run_ns - io_ns - comm_ns, 0)]
            self.assertEqual([ns(row[key]) for key in ('run', 'io', 'communication', 'rest')], times)
            self.line(row['rank'], *map(time_text, times), among=self.info_text)

    def check_files(self):
        told = {}
        for (layer, name), counters in self.counters.items():
            row = told.setdefault(name, {'bytes': [0, 0], 'opens': 0, 'processes': set(), 'ranks': set()})
            row['processes'] |= counters.processes
            row['ranks'] |= counters.ranks
            if layer in ('posix', 'stdio'):
                row['bytes'] = [a + b for a, b in zip(row['bytes'], counters.bytes)]
                row['opens'] += counters.count['OPENS']
        self.assertEqual({file['name'] for file in self.info['files']}, set(told))
        for file in self.info['files']:
            row = told[file['name']]
            self.assertEqual((file['bytes_read'], file['bytes_written'], file['opens'], file['processes'], file['ranks']),
                             (*row['bytes'], row['opens'], len(row['processes']),
                              len(row['ranks']) if self.told.has_ranks else None), file['name'])
            self.line(*map(bytes_text, row['bytes']), count_text(row['opens']), file['name'], among=self.info_text)
        self.line(f'Files {count_text(len(told))}' + (', most bytes first' if told else ''), among=self.info_text)

    def check_coverage(self):
        coverage = self.info['coverage']
        for key, kind, index in (('read', 'read', 0), ('write', 'written', 1)):
            captured, uncounted, asked, kernel, total = (
                coverage[f'{name}_{key}'] for name in ('captured', 'uncounted', 'stdio_asked', 'stdio_kernel', 'total'))
            self.assertEqual(captured + uncounted + asked - kernel, sum(f[f'bytes_{kind}'] for f in self.info['files']))
            self.assertEqual(asked, sum(c.bytes[index] for (layer, _), c in self.counters.items() if layer == 'stdio'))
            if not total:
                continue
            left_out = sum(part['bytes'] for part in coverage['left_out'] if part['direction'] == key)
            share = (captured + left_out) / total
            self.assertEqual(float(coverage[key]), share)
            unseen = [part['bytes'] for part in coverage['unseen'] if part['direction'] == key]
            self.assertEqual(sum(unseen), max(total - captured - left_out, 0))
            self.assertTrue(any(f'{percent_text(share)} of the bytes {kind}' in line for line in self.info_text))
            if sum(unseen):
                self.line('unseen', bytes_text(sum(unseen)), kind, among=self.info_text)

    # --- the report

    def check_summary(self):
        summary, told = self.page['summary'], self.told
        rows = [told.process(chain) for chain in told.application()]
        io_ns, self.moving_ns = told.io_ns(), figures.union(told.transfers)
        self.assertEqual([ns(summary[key]) for key in ('io_seconds', 'io_seconds_max', 'run_seconds', 'transfer_seconds')],
                         [io_ns, max(row[0] for row in rows), told.run_ns, self.moving_ns])
        self.assertEqual(float(summary['io_share']), min(io_ns / told.run_ns, 1))
        self.assertEqual((summary['processes'], summary['calls']), (sum(row[1] > 0 for row in rows), len(told.own)))
        self.assertEqual([summary['bytes_read'], summary['bytes_written']], figures.directions(told.transfers))
        if self.moving_ns:
            self.assertEqual(float(summary['bandwidth']), sum(figures.directions(told.transfers)) / (self.moving_ns / 1e9))

    def check_sentences(self):
        summary, told = self.page['summary'], self.told
        text = ' '.join(summary['sentences'])
        nprocs, read, written = self.info['job']['nprocs'], summary['bytes_read'], summary['bytes_written']
        share, io = percent_text(float(summary['io_share'])), time_text(told.io_ns())
        run = f' ran for {time_text(told.run_ns)} as {count_text(nprocs, "rank" if told.has_ranks else "process")}'
        if told.has_ranks or nprocs == 1:
            self.assertIn(f'{run} and spent {share} of that in I/O: {io}', text)
        else:
            self.assertIn(f'{run}. For {share} of that time at least one of them was in I/O: {io}.', text)
        row = next((r for r in self.info['busiest'] if not r['launcher'] and r['calls']), None)
        if nprocs > 1 and row:
            who = f'process {row["pid"]}' if row['rank'] is None else f'rank {row["rank"]}'
            self.assertIn(f'{row["program"]} ({who}): {time_text(ns(row["io_time"]))} of its {time_text(ns(row["run_time"]))} '
                          f'in I/O, {percent_text(float(row["share"]))}.', text)
        if read + written:
            self.assertIn(f'The job made {count_text(len(told.own), "call")}, read {bytes_text(read)} and wrote {bytes_text(written)}, '
                          f'at {rate_text((read + written) * 1e9 / self.moving_ns)} while any transfer was in progress '
                          f'({time_text(self.moving_ns)}).', text)
        ended = re.search(r'The command (?:was killed by signal (\d+) \(|failed with exit status (\d+)\.)', text)
        self.assertEqual(self.info['job']['exit_status'],
                         0 if not ended else 128 + int(ended[1]) if ended[1] else int(ended[2]))
        self.check_largest_file(text)
        flat = ' '.join(self.expect(0, 'report', self.log).stdout.decode('utf-8', 'surrogateescape').split())
        for sentence in summary['sentences'] + summary['not_captured']:
            self.assertIn(' '.join(sentence.split()), flat)

    def check_largest_file(self, text):
        """Its bytes are those of transfers that reach the file system, of stdio and of asynchronous calls; names without a
        folder, and those of files past the cap, stand for several files."""
        found = re.search(r'The file with the most bytes is (.*?), (\d\S* \S*B)(, .*? through stdio)?(, .*? asynchronously)?'
                          r'(?:(?::|; besides,) ([\d,]+ requests?) by [\d,]+ process\w*)?[.,;:]', text)
        files, groups = {}, {file['name'] for file in self.info['files'] if file['stands_for'] is not None}
        for event in self.told.of_program(self.told.events):
            is_stdio, is_async = event['layer'] == 'stdio', 'call_time' in event
            is_one = (event['file'] or '').startswith('/') and event['file'] not in groups
            is_request = event['layer'] == 'posix' and event['offset'] is not None and not is_async
            kind = 0 if is_request else 1 if is_stdio else 2 if is_async and event['layer'] == 'posix' else None
            if event['class'] in figures.MOVES and kind is not None and figures.moved(event) and is_one:
                files.setdefault(event['file'], ([], [], []))[kind].append(event)
        bytes_of = {name: [sum(map(figures.moved, some)) for some in kinds] for name, kinds in files.items()}
        most = max(map(sum, bytes_of.values()), default=0)
        is_told = most >= sum(map(sum, bytes_of.values())) // 10 and most > 0
        self.assertEqual(bool(found), is_told)
        share = lambda part: 'all' if part == most else percent_text(part / most)
        told = [(os.path.basename(name), bytes_text(most), f', {share(moved[1])} of that through stdio' if moved[1] else None,
                 f', {share(moved[2])} of that asynchronously' if moved[2] else None,
                 count_text(len(files[name][0]), 'request') if files[name][0] else None)
                for name, moved in bytes_of.items() if sum(moved) == most]
        if is_told:
            self.assertIn(found.groups(), told)

    def check_findings(self):
        findings, summary = self.page['findings'], self.page['summary']
        most = ns(max(summary['io_seconds_max'], 0 if self.told.has_ranks else summary['io_seconds']))
        self.assertLessEqual(sum(ns(f['seconds']) for f in findings), most + len(findings))
        for finding in findings:
            share = ns(finding['seconds']) / self.told.run_ns
            self.assertEqual(float(finding['share']), share)
            most_severe = 'low' if share < 0.01 or ns(finding['seconds']) < 10e6 else 'medium' if share < 0.1 else 'high'
            self.assertIn(finding['severity'], {most_severe, 'low'})  # low if it is in doubt
            words = shlex.split(finding['check'])
            if words[1] == 'dump':  # no more than the calls that it shows
                shown = {event['id'] for event in self.load(*words[1:], '--json')}
                self.assertLessEqual(ns(finding['seconds']), figures.union([e for e in self.told.events if e['id'] in shown]))
            if ns(finding['seconds']):
                self.line(f'{time_text(ns(finding["seconds"]))} at stake, {percent_text(share)} of the run time '
                          f'({finding["severity"]})')

    def check_layers(self):
        """Time in calls of a layer, and the same without the calls below."""
        below, layers = self.told.children(), self.page['layers']
        sums, used = {}, set()
        by_pid = {}  # a process may execute several programs
        for image in self.told.images:
            by_pid.setdefault(image['pid'], []).extend(self.told.of_program(image.get('events', [])))
        for pid, events in by_pid.items():
            times = {}
            for event in events:
                if self.told.is_part(event):
                    continue
                row = times.setdefault(event['layer'], [0, 0, 0])
                inner = sum(e['duration'] for e in below[event['id']])
                for index, value in enumerate((event['duration'], event['duration'] - inner, 1)):
                    row[index] += value
            if not times:
                continue
            used.add(pid)
            for layer, row in times.items():
                sums[layer] = [a + b for a, b in zip(sums.get(layer, [0, 0, 0]), row)]
            shown = [{row['layer']: [ns(row['inclusive']), ns(row['exclusive']), row['calls']] for row in process['layers']}
                     for process in layers['ranks'] if process['pid'] == pid]
            self.assertIn({layer: [row[0], max(row[1], 0), row[2]] for layer, row in times.items()}, shown)
        self.assertEqual(len(layers['ranks']) + layers['ranks_left_out'], len(used))
        for layer, (inclusive, exclusive, calls) in sums.items():
            self.line(layer, time_text(inclusive // len(used)), time_text(exclusive // len(used)), count_text(calls))

    def check_calls(self):
        below, shown = self.told.children(), {(c['layer'], c['op']): c for c in self.page['layers']['calls']}
        of_program = {key: self.told.of_program(events) for key, events in self.told.calls().items()}
        self.assertEqual(set(shown), {key for key, events in of_program.items() if events})
        for key, row in shown.items():
            events = of_program[key]
            inner = [e for event in events for e in below[event['id']]]
            exclusive = sum(e['duration'] for e in events if not self.told.is_part(e)) - sum(e['duration'] for e in inner)
            self.assertEqual((row['calls'], ns(row['inclusive']), ns(row['exclusive']), ns(row['longest'])),
                             (len(events), sum(e['duration'] for e in events), max(exclusive, 0),
                              max(e['duration'] for e in events)), key)
            if row['class'] in figures.MOVES:
                self.assertEqual(row['bytes'], sum(map(figures.moved, events)))
            self.assertEqual(sum(ns(part['seconds']) for part in row['below']), sum(e['duration'] for e in inner))
        longest = sorted((e['duration'] for e in self.told.own), reverse=True)
        slowest = [ns(call['duration']) for call in self.page['layers']['slowest']]
        self.assertEqual(slowest, longest[:len(slowest)])

    def check_timeline(self):
        timeline, own = self.page['timeline'], self.told.own
        if not timeline['lanes_left_out']:
            self.assertEqual(sum(span[4] for span in timeline['spans']), len(own))
            self.assertEqual(sum(span[5] for span in timeline['spans']),
                             sum(figures.moved(e) for e in own if e['class'] in figures.MOVES))
            seconds = {}
            for event in own:
                key = event['image']['chain'], event['tid']
                seconds[key] = seconds.get(key, 0) + figures.in_calls(event)
            self.assertEqual(sorted(ns(lane['seconds']) for lane in timeline['lanes']), sorted(seconds.values()))
        bins, span_ns = timeline['bins'], ns(timeline['to']) - ns(timeline['from'])
        told = self.told.bins(ns(timeline['from']), figures.Fraction(span_ns, bins['count']), bins['count'])
        for key, label, row in zip(('read_bytes', 'write_bytes', 'other_calls'), ('read', 'write', 'other'), told):
            for value, exact in zip(bins[key], row):
                self.assertLessEqual(abs(value - exact), 0.5 + 1e-6)
            bars = [0] * 64
            for number, value in enumerate(row):
                bars[number * 64 // bins['count']] += value
            rate = float(max(bars)) / (span_ns / 1e9 / 64)
            shown = count_text(figures.math.floor(rate + 0.5), 'call') + '/s' if label == 'other' else rate_text(rate)
            self.assertTrue(any(line.startswith(f'{label} |') and line.endswith(f'| at most {shown}') for line in self.text), shown)

    def check_page_files(self):
        (times, users), sizes = self.told.file_times(), {f['name']: f for f in self.info['files']}
        nothing = {'bytes_read': 0, 'bytes_written': 0, 'opens': 0}  # no counter counts calls on it
        for file in self.page['files']:
            self.assertEqual([ns(file['seconds'][key]) for key in ('read', 'write', 'meta')], times[file['name']])
            kinds = [c for (layer, name), c in self.own_counters.items() if name == file['name'] and layer != 'mpiio']
            read, written = (sum(c.bytes[i] for c in kinds) for i in range(2))
            self.assertEqual((file['bytes_read'], file['bytes_written'], file['opens']),
                             (read, written, sum(c.count['OPENS'] for c in kinds)))
            self.assertEqual(file['processes'], len(users[file['name']]))
            heat = file['heat']
            own = self.own_counters.get(('mpiio', file['name']))
            self.assertEqual([sum(heat['read_bytes']), sum(heat['write_bytes'])], own.bytes if own else [read, written])
            self.assertEqual(sum(map(ns, heat['seconds'])), sum(times[file['name']]))
            if file in self.page['files'][:SHOWN]:
                self.line(bytes_text(read), bytes_text(written), time_text(sum(times[file['name']])),
                          len(users[file['name']]), file['name'])
        order = [sum(map(ns, file['seconds'].values())) for file in self.page['files']]
        self.assertEqual(order, sorted(map(sum, times.values()), reverse=True)[:len(order)])
        for name, seconds, read, written, opens in self.page['file_list']:
            self.assertEqual(ns(seconds), sum(times.get(name, [0])))
            self.assertEqual((read, written, opens), tuple(sizes.get(name, nothing)[key] for key in nothing))
        self.assertEqual(set(times) | set(sizes), {row[0] for row in self.page['file_list']})

    # --- stats

    def check_counters(self):
        told, sums = {}, {}
        for record in self.load('stats', '--json', self.log)['records']:
            names, prefix = record['counters'], record['layer'].upper()
            row = told.setdefault((record['layer'], record['file']), {})
            for name, value in names.items():
                row[name.removeprefix(prefix + '_')] = row.get(name.removeprefix(prefix + '_'), 0) + value
        self.assertEqual(set(told), set(self.counters))
        for (layer, name), row in told.items():
            counters = self.counters[layer, name]
            self.assertEqual([row['BYTES_READ'], row['BYTES_WRITTEN']], counters.bytes)
            for key in TIMES:
                self.assertEqual(round(row[f'F_{key}_TIME'] * figures.SECOND), counters.ns[key])
            if layer != 'mpiio':
                self.assertEqual((row['OPENS'], row['READS'], row['WRITES'], row['SEEKS']),
                                 (counters.opens(), *(counters.count[key] for key in ('READS', 'WRITES', 'SEEKS'))), name)
            values = sums.setdefault(layer, [0] * 8)
            more = counters.opens(), counters.count['READS'], counters.count['WRITES'], *counters.bytes, *(
                counters.ns[key] for key in TIMES)
            sums[layer] = [a + b for a, b in zip(values, more)]
        text = lines(self.expect(0, 'stats', self.log).stdout)
        for total in self.load('stats', '--json', '--sort', 'bytes', self.log)['totals']:
            row = [total[key] for key in ('opens', 'reads', 'writes', 'bytes_read', 'bytes_written')]
            row += [ns(total[f'{key.lower()}_time']) for key in TIMES]
            self.assertEqual(row, sums[total['layer']])
            self.line(*map(count_text, row[:3]), *map(bytes_text, row[3:5]), *map(time_text, row[5:]),
                      *(['total'] if total['files'] > 1 else []), among=text)

    def check_call_list(self):
        calls, text = self.told.calls(), lines(self.expect(0, 'stats', '--calls', self.log).stdout)
        rows = self.load('stats', '--calls', '--json', self.log)['calls']
        self.assertEqual({(row['layer'], row['op']) for row in rows}, set(calls))
        for row in rows:
            events = calls[row['layer'], row['op']]
            failed = sum('error' in e for e in events)
            self.assertEqual((row['count'], row['failed'], ns(row['time'])),
                             (len(events), failed, sum(e['duration'] for e in events)))
            moved = sum(figures.moved(e) for e in events if 'error' not in e) if row['class'] in figures.MOVES else 0
            self.assertEqual(row['bytes'], moved)
            for key, values, exact in (('duration', sorted(e['duration'] for e in events), ns),
                                       ('size', sorted(e['size'] for e in events if e['size'] is not None), int)):
                self.assertEqual(row[key] is None, not values)
                for name, part in (('min', 0), ('median', 0.5), ('p95', 0.95), ('p99', 0.99), ('max', 1)) if values else ():
                    true = values[max(figures.math.ceil(part * len(values)) - 1, 0)]
                    value = exact(row[key][name])
                    self.assertTrue(true <= value <= (true if part in (0, 1) else true * 33 / 32), (row['op'], name, value, true))
            times = [ns(row['time'])] + [ns(row['duration'][key]) for key in ('min', 'median', 'p95', 'p99', 'max')]
            self.line(row['layer'], row['op'], count_text(len(events)), count_text(failed), *map(time_text, times), among=text)

    # --- phases

    def check_phases(self):
        """The transfers of each phase are those of its processes on its file during its time."""
        self.phases = self.load('phases', '--json', self.log)
        phases, transfers = self.phases['phases'], self.told.transfers
        launched = sum(figures.moved(e) for e in self.told.events if e['image']['launcher'] and self.told.is_own_transfer(e))
        self.assertEqual(sum(phase['weight'] for phase in phases), self.phases['bytes'])
        self.assertEqual(self.phases['bytes'] + self.phases['unphased_bytes'],
                         sum(map(figures.moved, transfers)) + launched)
        self.assertEqual(sum(self.phases['unphased'].values()), self.phases['unphased_bytes'])
        self.compared = 0
        for phase in phases:
            first, last = ns(phase['start']), ns(phase['start']) + ns(phase['span'])
            self.assertEqual(sum(op['bytes'] for op in phase['ops']), phase['weight'])
            self.assertEqual(phase['bandwidth'] is None, not any(op['op'] in figures.MOVES for op in phase['ops']))
            if phase['bandwidth'] is not None and phase['duration']:
                self.assertEqual(float(phase['bandwidth']), phase['weight'] / (ns(phase['duration']) / 1e9))
            others = [p for p in phases if p is not phase and ns(p['start']) < last and ns(p['start']) + ns(p['span']) > first]
            mine = [e for e in transfers if first <= e['start'] and figures.end(e) <= last and e['file'] == phase['file']]
            # A pattern stands for several files, of which this phase may use one.
            is_known = phase['files'] == 1 and mine and not any(p['file'] == phase['file'] for p in others)
            if phase['bandwidth'] is None or not is_known:
                continue
            self.compared += 1
            self.assertEqual((len(mine), sum(map(figures.moved, mine))),
                             (sum(op['count'] for op in phase['ops'] if op['op'] in figures.MOVES), phase['weight']))
            of_process = {}
            # Both halves of a copy have its times.
            for process, _, duration in {(e['image']['chain'], e['start'], e['duration']) for e in mine}:
                of_process[process] = of_process.get(process, 0) + duration
            self.assertEqual(ns(phase['duration']), max(of_process.values()))
            self.assertEqual((first, last), (mine[0]['start'], max(map(figures.end, mine))))
        if len(phases) <= 500:
            self.assertEqual(self.page['phases'], self.phases)
        self.check_phase_text(phases)

    def check_phase_text(self, phases):
        text, all_ns = lines(self.expect(0, 'phases', self.log).stdout), sum(ns(p['duration']) for p in phases)
        runs = []
        for phase in phases:
            is_same = runs and phase['family'] is not None and runs[-1][-1]['family'] == phase['family']
            runs[-1].append(phase) if is_same else runs.append([phase])
        order = sorted(runs, key=lambda run: -sum(ns(p['duration']) for p in run))
        for run in runs:
            spent, weight = sum(ns(p['duration']) for p in run), sum(p['weight'] for p in run)
            name = f'{run[0]["id"]}-{run[-1]["id"]}' if len(run) > 1 else str(run[0]['id'])
            share = percent_text(spent / all_ns if all_ns else 0)
            if run[0]['bandwidth'] is not None and run[0]['ops']:
                rate = rate_text(weight / (spent / 1e9)) if spent else '0 B/s'
                op = run[0]['ops'][0]
                size = bytes_text(op['bytes'] * len(run)) if op['op'] in figures.MOVES else '-'
                shown = f'{size} {time_text(spent)} {rate} {share}'
                self.assertTrue(any(line.startswith(f'{name} ') and shown in line for line in text), (name, shown))
            if run in order[:SHOWN] and run[0]['ops']:
                ops, sizes = run[0]['ops'], {op['request'] for op in run[0]['ops'] if op['op'] in figures.MOVES}
                size = '-' if not sizes else 'varies' if None in sizes or len(sizes) > 1 else bytes_text(*sizes)
                files = f' ({count_text(run[0]["files"], "file")})' if run[0]['files'] > 1 else ''
                self.line(name, ', '.join(dict.fromkeys(op['op'] for op in ops)),
                          count_text(len(run) * sum(op['count'] for op in ops)), size,
                          bytes_text(weight) if run[0]['bandwidth'] is not None else '-', time_text(spent), share, run[0]['file'] + files)
        if phases:
            told = f'shares are of the {time_text(all_ns)} of all phases.'
            self.assertTrue(all(any(told in line for line in some) for some in (text, self.text)), told)
        is_short = any((op['request'] or 0) * op['count'] > op['bytes'] for p in phases for op in p['ops'] if op['op'] in figures.MOVES)
        self.assertEqual(is_short, any('moved less than their size' in line for line in text))

    def check_model(self):
        path = self.path('figures.model')
        self.expect(0, 'model', self.log, '-o', path)
        self.assertEqual(self.load('phases', '--json', path), self.phases)
        with open(path, encoding='utf-8') as file:
            observed = figures.load(file.read())['observed']
        self.assertEqual((observed['bytes'], observed['unphased_bytes']), (self.phases['bytes'], self.phases['unphased_bytes']))
        self.assertEqual(ns(observed['run_time']), self.told.run_ns)
        self.assertEqual([phase['duration'] for phase in observed['phases']], [p['duration'] for p in self.phases['phases']])

    def check_page(self):
        if place.has_page():
            html = self.expect(0, 'report', '--format', 'html', self.log).stdout
            self.assertEqual(figures.load(DATA.search(html)[1]), self.page)


SQL = ('create table t(a, b); begin; insert into t with recursive c(x) as (select 1 union all select x + 1 from c '
       'where x < 3000) select x, hex(randomblob(20)) from c; commit; create index i on t(b); select count(*) from t;')
NUMPY = ('import numpy\nnumpy.save("a.npy", numpy.arange(100000))\na = numpy.load("a.npy")\na.tofile("raw")\n'
         'numpy.savez("b.npz", a=a, b=a[:100])\nnumpy.fromfile("raw", dtype="u8")\n')
SMALL = ('import os\nfor i in range(2000):\n    fd = os.open(f"small{i}", os.O_CREAT | os.O_WRONLY)\n'
         '    os.write(fd, b"x" * 100)\n    os.close(fd)\n')
CRASH = ('import os, signal\nfd = os.open("data", os.O_CREAT | os.O_RDWR)\nfor i in range(100): os.write(fd, bytes(1000 + i))\n'
         'os.pread(fd, 5000, 100)\nos.kill(os.getpid(), signal.{})\n')


class Programs(Comparison):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('tree'))
        for i in range(40):
            with open(self.path(f'tree/file{i}'), 'wb') as out:
                out.write(os.urandom(20000 + i))

    def record_and_compare(self, *command, needs=None, **more):
        if not shutil.which(needs or command[0]):
            self.skipTest(f'no {needs or command[0]}')
        self.compare(self.record(*command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more))

    def test_git(self):
        self.record_and_compare('sh', '-c', 'git init -q . && git add tree && git -c user.name=a -c user.email=a@b commit -qm x',
                                needs='git')

    def test_sqlite(self):
        self.record_and_compare('sqlite3', 'data.db', SQL)

    def test_numpy(self):
        if subprocess.run(['/usr/bin/python3', '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest('no numpy')
        self.record_and_compare('/usr/bin/python3', '-I', '-c', NUMPY)

    def test_python(self):
        self.record_and_compare(sys.executable, '-I', '-S', '-c', place.PROGRAM, self.folder)

    def test_tar(self):
        self.record_and_compare('sh', '-c', 'tar cf tree.tar tree && mkdir new && tar xf tree.tar -C new', needs='tar')

    def test_gcc(self):
        with open(self.path('x.c'), 'w', encoding='ascii') as out:
            out.write('#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n')
        self.record_and_compare('gcc', '-O1', '-o', 'x', 'x.c')

    def test_rsync(self):
        self.record_and_compare('rsync', '-a', 'tree/', 'copy/')

    def test_find(self):
        self.record_and_compare('find', '.', '-type', 'f', '-size', '+1k')

    def test_cp(self):
        self.record_and_compare('cp', '-r', 'tree', 'copy')

    def test_dd(self):
        self.record_and_compare('dd', 'if=/dev/zero', 'of=out', 'bs=1310720', 'count=7')

    def test_many_small_files(self):
        self.record_and_compare(sys.executable, '-I', '-S', '-c', SMALL, options=('--file-cap', '500'))

    def test_crash(self):
        self.record_and_compare(sys.executable, '-I', '-S', '-c', CRASH.format('SIGSEGV'), status=139)

    def test_kill(self):
        self.record_and_compare('sh', '-c', '"$0" -I -S -c "$1"; exit 3', sys.executable, CRASH.format('SIGKILL'), status=3)

    def test_several_programs_of_one_process(self):
        self.record_and_compare('sh', '-c', 'echo x >f; cat f f; exec "$0" -I -S -c "open(\'f\').read(); open(\'g\', \'w\')"',
                                sys.executable)

    def test_checkpoint(self):
        program = os.path.join(EXAMPLES, 'checkpoint')
        self.record_and_compare(program, '-d', self.folder, '-s', '3', '-n', '4', '-b', '5000')


class Examples(Comparison):
    PROGRAMS = [
        ('ior', '--block', '256k', '--transfer', '64k', '--collective'),
        ('madbench', '--size', '100001'),
        ('madbench', '--size', '64k', '--api', 'async', '--work', '100'),
        ('btio', '--grid', '12', '--steps', '10'),
        ('metadata', '--files', '10'),
    ]

    def run_example(self, mpi):
        if not shutil.which(MPIEXEC[mpi][0]) or not os.path.exists(os.path.join(EXAMPLES, f'ior-{mpi}')):
            self.skipTest(f'no {mpi}')
        for name, *words in self.PROGRAMS:
            with self.subTest(program=name, words=words):
                program = os.path.join(EXAMPLES, f'{name}-{mpi}')
                self.compare(self.record(*MPIEXEC[mpi], '4', program, '--directory', self.folder, *words,
                                         options=('--force',), stdout=subprocess.DEVNULL))

    def test_mpich(self):
        self.run_example('mpich')

    def test_open_mpi(self):
        self.run_example('openmpi')


harness.main()
