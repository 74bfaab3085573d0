"""IOPro's questions against slow answers in Python, what is refused, and charts."""
import collections
import math
import os
import re
import subprocess

import logs
from logs import Logs, harness
from tree import DOWNWARDS, load

FORMS = ('Latency Breakdown Inclusive', 'Latency Breakdown Exclusive', 'Latency Operation List', 'Latency Operation Max',
         'Latency Operation Min', 'Latency Operation Avg', 'Throughput', 'Energy 20 5', 'Call')
# Fields as they are written, and whether a number is one of them.
ALL = ('-', lambda n: True)
SOME = [
    (ALL, ALL, ALL, ALL),
    (('0', lambda n: n == 0), ALL, ALL, ALL),
    (('[0-1]', lambda n: n in (0, 1)), ('[1–10]', lambda n: n is not None and 1 <= n <= 10), ('[-]', ALL[1]), ('[1-2]', lambda n: n in (1, 2))),
    (('[ 0, 2 - 3 ]', lambda n: n in (0, 2, 3)), ('0,2,4-6', lambda n: n in (0, 2, 4, 5, 6)), ('0', lambda n: n == 0), ('−', ALL[1])),
    (('99999', lambda n: n == 99999), ALL, ALL, ALL),
]


def busy(events):
    """Nanoseconds with a call under way."""
    total, until = 0, -10**18
    for start, end in sorted((event['from'], event['from'] + event['ns']) for event in events):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def group(events, *keys):
    groups = collections.defaultdict(list)
    for event in events:
        groups[tuple(event[key] for key in keys)].append(event)
    return groups


class Slow:
    """The answers of one log."""

    def __init__(self, tree, run_seconds, servers):
        self.tree, self.run, self.servers = tree, run_seconds, servers
        self.process = 'rank' if any(event['rank'] is not None for event in tree.events) else 'pid'
        self.place = 'server' if tree.has_below else 'layer'

    def tops(self, fields):
        return [event for event in self.tree.events if event[self.process] is not None and fields[0][1](event[self.process]) and
                fields[1][1](event['call'])]

    def chosen(self, fields, layer):
        events = [event for event in self.tops(fields) if fields[2] in (ALL, ('[-]', ALL[1])) or fields[2][1](event['part'])]
        if self.place == 'layer':
            return events
        return [event for event in events if event['layer'] == layer and fields[3][1](event['server'])]

    def breakdown(self, fields, which):
        wanted = {event['id'] for event in self.tops(fields)}
        rows = []
        for (top, layer), row in self.tree.layers().items():
            event = self.tree.by_id[top]
            if top in wanted:
                rows.append([event['from'], top, DOWNWARDS.index(layer), event[self.process], event['call'], event['op'], layer,
                             row[0], row[3 + which] / 1e9])
        return [row[3:] for row in sorted(rows, key=lambda row: (row[3], row[0], row[1], row[2]))]

    def latency_breakdown_inclusive(self, fields):
        return self.breakdown(fields, 0)

    def latency_breakdown_exclusive(self, fields):
        return self.breakdown(fields, 1)

    def latency_operation_list(self, fields):
        rows = []
        for key, events in group(self.chosen(fields, 'server'), self.process, self.place).items():
            times = [event['ns'] for event in events]
            rows.append([*key, len(times), sum(times) / 1e9, min(times) / 1e9, sum(times) / len(times) / 1e9, max(times) / 1e9])
        return sorted(rows)

    def extreme(self, fields, choose):
        """Which of several equal calls is shown is not said."""
        chosen = self.chosen(fields, 'server')
        keys = ('top',) if self.place == 'server' else ('top', 'layer')
        rows = [['process', choose(event['ns'] for event in events)] for events in group(chosen, *keys).values()]
        rows += [[self.place, choose(event['ns'] for event in events)] for events in group(chosen, self.place).values()]
        return sorted([view, time / 1e9] for view, time in rows)

    def latency_operation_max(self, fields):
        return self.extreme(fields, max)

    def latency_operation_min(self, fields):
        return self.extreme(fields, min)

    def latency_operation_avg(self, fields):
        keys = (self.process, 'call', 'top') + (('layer',) if self.place == 'layer' else ())
        return [[*key, len(events), sum(event['ns'] for event in events) / len(events) / 1e9]
                for key, events in group(self.chosen(fields, 'server'), *keys).items()]

    def throughput(self, fields):
        rows = []
        for view, keys in (('process', (self.process, 'call', 'top', self.place)), (self.place, (self.place,))):
            for key, events in group(self.chosen(fields, 'disk'), *keys).items():
                moved, time = sum(event['bytes'] for event in events), busy(events) / 1e9
                place = [*key[:2], key[3]] if view == 'process' else [None, None, *key]
                if moved or view != 'process':
                    rows.append([view, *place, moved, time, moved / time if time else None])
        return rows

    def energy_20_5(self, fields):
        chosen, rows = self.chosen(fields, 'disk'), []
        for key, events in group(chosen, self.process, self.place).items():
            active = busy(events) / 1e9
            during = sum(self.tree.by_id[top]['ns'] for top in {event['top'] for event in events} - {None}) / 1e9
            rows.append(['process', *key, active, max(0, during - active)])
        by_place = group(chosen, self.place)
        places = [(server,) for server in self.servers if fields[3][1](server)] if self.place == 'server' else by_place
        for key in places:
            active = busy(by_place.get(key, [])) / 1e9
            rows.append([self.place, None, *key, active, self.run - active])
        return [[*row, 20 * row[3] + 5 * row[4]] for row in rows]

    def call(self, fields):
        rows = []
        for view, keys in (('process', (self.process, self.place)), (self.place, (self.place,))):
            for key, events in group(self.chosen(fields, 'server'), *keys).items():
                moved = [sum(event['bytes'] for event in events if event['class'] == kind) for kind in ('read', 'write')]
                rows.append([view, *([None] * (2 - len(key))), *key, len(events), *moved])
        return rows


def alike(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    return a == b


def order(row):
    return [(value is None, str(value)) for value in row if not isinstance(value, float)]


class IOProTest(logs.QueryTest):
    def check(self, question, found, wanted):
        found, wanted = sorted(found, key=order), sorted(wanted, key=order)
        self.assertEqual(len(found), len(wanted), question)
        for row, other in zip(found, wanted):
            self.assertTrue(len(row) == len(other) and all(map(alike, row, other)), f'{question}: {row} is not {other}')

    def slow(self, log, tree):
        info = load(self.expect(0, 'info', '--json', log).stdout)
        return Slow(tree, float(info['job']['end'] - info['job']['start']), [server['id'] for server in (info.get('stack') or {}).get('servers', [])])

    def test_each_form(self):
        for name, log, tree in self.each_tree():
            slow = self.slow(log, tree)
            for form in FORMS:
                method = getattr(slow, form.lower().replace(' ', '_'))
                for fields in SOME:
                    words = [written for written, _ in fields[:2 if 'Breakdown' in form else 4]]
                    question = ' '.join([form, *words])
                    with self.subTest(log=name, question=question):
                        answer = self.json('query', '-q', log, '--json', question)
                        rows = answer['rows']
                        if form.endswith(('Max', 'Min')):
                            self.check_callers(answer, tree, slow)
                            found, wanted = sorted([row[0], row[-1]] for row in rows), method(fields)
                            self.assertTrue(len(found) == len(wanted) and all(map(alike, sum(found, []), sum(wanted, []))))
                        else:
                            self.check(question, rows, method(fields))

    def check_callers(self, answer, tree, slow):
        """The caller that is shown had that latency there."""
        known = {(event[slow.process], event['call'], event['part'], event[slow.place], event['op'], event['ns']) for event in tree.events}
        for _, *place, latency in answer['rows']:
            self.assertIn((*place, round(latency * 1e9)), known)

    def test_same_as_the_servers_of_info(self):
        for name, log, tree in self.each_tree():
            if not tree.has_below:
                continue
            with self.subTest(log=name):
                for question, key in (('Throughput', 'throughput'), ('Energy', 'energy')):
                    answer = self.json('query', log, '--json', question)
                    found = {row[answer['columns'].index('server')]: row[-1] for row in answer['rows'] if row[0] == 'server'}
                    wanted = {server['id']: server[key] for server in self.json('info', '--json', log)['stack']['servers'] if server['calls']}
                    for server, value in wanted.items():
                        self.assertTrue(math.isclose(found[server], value, rel_tol=1e-6), (question, server, found[server], value))

    def test_words(self):
        """Case, brackets, one word or several, and fields that are left out change nothing."""
        log = Logs.find('plain')
        wanted = self.json('query', '-q', log, '--json', 'Throughput [-] [-] [-] [-]')
        self.assertTrue(wanted['rows'])
        for words in (['throughput'], ['THROUGHPUT -'], ['Thru.', '-', '[–]'], ['Throughput[-][-]'], ['  Throughput\t-  ']):
            self.assertEqual(self.json('query', '-q', log, '--json', *words), wanted, words)

    def test_what_the_log_lacks(self):
        log = Logs.find('plain')
        done = self.expect(0, 'query', log, 'Call - - - 3')
        self.assertEqual(done.stderr.count(b'\n'), 1)
        self.assertIn(b'has no servers', done.stderr)
        self.assertGreater(done.stdout.count(b'\n'), 2)
        self.assertEqual(self.expect(0, 'query', '-q', log, 'Call').stderr, b'')
        self.assertIn(b'has no layers of a file system', self.expect(0, 'query', log, 'Latency Breakdown Exclusive').stderr)

    def test_the_statement_is_shown(self):
        for name, log, _ in self.each_tree():
            for form in FORMS:
                with self.subTest(log=name, form=form):
                    question = form + ' - 0-5'
                    statement = self.expect(0, 'query', log, '--show-sql', question).stdout.decode()
                    self.assertEqual(self.json('query', log, '--json', '--sql', statement), self.json('query', '-q', log, '--json', question))

    def test_formats(self):
        log = Logs.find('plain')
        answer = self.json('query', '-q', log, '--json', 'Call')
        lines = self.expect(0, 'query', '-q', log, '--csv', 'Call').stdout.decode().split('\r\n')
        self.assertEqual(lines[0].split(','), answer['columns'])
        self.assertEqual(len(lines), len(answer['rows']) + 2)

    # --- what is wrong

    def test_errors_point_at_the_word(self):
        log = Logs.find('plain')
        for question, at, marks, why in (
                ('', 0, 1, 'Latency, Throughput, Thru., Energy, Call'), ('Speed 1', 0, 5, 'Latency'), ('Latency', 7, 1, 'Breakdown, Operation'),
                ('Latency Down', 8, 4, 'Breakdown, Operation'), ('latency breakdown Max', 18, 3, 'Inclusive, Exclusive'),
                ('Latency Operation Sum', 18, 3, 'List, Max, Min, Avg'), ('Call x', 5, 1, 'process may be'), ('Call 0-', 5, 2, 'process may be'),
                ('Call 1 0-x', 7, 3, 'mpi_call may be'), ('Call – – 1–x', 9, 3, 'pvfs_call may be'), ('Call 1 2 3 [4,,5]', 12, 4, 'server may be'),
                ('Call 5-3', 5, 3, 'ends before it begins'), ('Call 99999999999999999999', 5, 20, 'process may be'), ('Call -1', 5, 2, 'process may be'),
                ('Call [0-4', 5, 4, 'must close'), ('Call [ ]', 5, 3, 'nothing is in the brackets'), ('Call 1 2 3 4 5', 13, 1, 'last field is server'),
                ('Latency Breakdown Inclusive 1 2 3', 32, 1, 'last field is mpi_call'), ('Energy x', 7, 1, 'active_watts'),
                ('Energy 1 -5', 9, 2, 'inactive_watts'), ('Call 0;DROP', 5, 6, 'process may be'), ("Call '0'", 5, 3, 'process may be'),
                ('Call ' + ','.join(['1'] * 65), 5, 129, 'more than 64')):
            with self.subTest(question=question):
                lines = self.expect(2, 'query', log, '--', question).stderr.decode().split('\n')
                self.assertRegex(lines[0], '^ioseer query: question: ')
                self.assertIn(why, lines[0])
                self.assertEqual(lines[1:], ['  ' + question, '  ' + ' ' * at + '^' * marks, ''])

    def test_terminals_get_no_escapes(self):
        error = self.expect(2, 'query', Logs.find('plain'), 'Call \x1b[31m\x07').stderr
        self.assertFalse(set(error) & set(b'\x1b\x07'))

    def test_usage(self):
        log = Logs.find('plain')
        for words in (['Call', '--sql', 'SELECT 1'], ['--chart', '--sql', 'SELECT 1'], ['--show-sql', '--sql', 'SELECT 1'], ['--chart', '--json', 'Call'],
                      ['--chart', '--csv', 'Call']):
            self.expect_error(2, 'query', log, *words)

    # --- charts

    def chart(self, log, question, **environment):
        return self.expect(0, 'query', '-q', log, '--chart', question,
                           env={'PATH': os.environ['PATH'], 'LANG': 'C', **environment}).stdout.decode()

    def test_charts(self):
        for name, log, _ in self.each_tree():
            for form in FORMS:
                for columns in ('80', '30', '200'):
                    with self.subTest(log=name, form=form, columns=columns):
                        chart = self.chart(log, form, COLUMNS=columns)
                        self.assertTrue(chart.isascii())
                        self.assertNotIn('\x1b', chart)
                        bars = [line for line in chart.split('\n') if re.search('(s|J|[0-9]) [#=+*o%x:~@.-]+$', line)]
                        self.assertTrue(bars)
                        if columns != '30':
                            self.assertLessEqual(max(map(len, bars)), int(columns))
                        self.assertGreaterEqual(max(map(len, bars)), int(columns) // 2)

    def test_lengths_of_bars(self):
        log = Logs.find('plain')
        answer = self.json('query', '-q', log, '--json', 'Call')
        counts = {row[2]: row[3] for row in answer['rows'] if row[0] == 'layer'}
        bars = {line.split()[1]: line.count('#') for line in self.chart(log, 'Call').split('\n') if line}
        self.assertEqual(set(bars), set(counts))
        longest = max(counts.values())
        for layer, count in counts.items():
            self.assertAlmostEqual(bars[layer], max(bars.values()) * count / longest, delta=1)
        self.assertIn('█', self.chart(log, 'Call', LC_ALL='C.UTF-8'))

    def test_colours(self):
        log = Logs.find('plain')
        for no_colour, has_colour in (({}, True), ({'NO_COLOR': '1'}, False), ({'NO_COLOR': ''}, True)):
            command = ['script', '-qec', f'{harness.IOSEER} query -q {log} --chart "Latency Breakdown Exclusive"', '/dev/null']
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                                  env={'PATH': os.environ['PATH'], 'LANG': 'C', 'TERM': 'xterm', **no_colour})
            self.assertEqual(b'\x1b[3' in done.stdout, has_colour, done.stdout)


harness.main()
