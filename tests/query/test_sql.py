"""SQL against a second, slow way to the same answers: Python over the JSON of the other verbs."""
import collections
import csv
import io
import json
import math

import logs
from logs import Logs, harness

# Keys of events in JSON that are no columns: they are lists and objects, or rarely of use.
NO_COLUMNS = {'selection', 'inside', 'dataset', 'hints', 'view', 'datatype', 'amode', 'whence', 'pieces', 'file_size', 'comm',
              'comm_size', 'etype_bytes', 'filetype_bytes', 'filetype_extent', 'mapped_read', 'mapped_dirty', 'mapped_copied'}


def close(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return a == b


def key_of(row):
    return [(value is None, str(type(value)), value if value is not None else 0) for value in row]


def group(events, key):
    groups = collections.defaultdict(list)
    for event in events:
        groups[key(event)].append(event)
    return groups


def total(events, key):
    """As SQL's sum(): NULL without values."""
    values = [event[key] for event in events if event[key] is not None]
    return (math.fsum(values) if isinstance(values[0], float) else sum(values)) if values else None


def middle(events):
    starts = [event['start'] for event in events]
    return starts[len(starts) // 3], starts[len(starts) * 2 // 3]


# Each form of condition that the log's index knows, and some that it does not: a statement, and the same in Python. {f} is
# a file of the log, {r} a rank (or NULL), {p} a pid, {a} and {b} are times, {i} is an id.
CONDITIONS = [
    ('start >= {a}', lambda e, v: e['start'] >= v['a']),
    ('start > {a}', lambda e, v: e['start'] > v['a']),
    ('start < {b}', lambda e, v: e['start'] < v['b']),
    ('start <= {b}', lambda e, v: e['start'] <= v['b']),
    ('start = {a}', lambda e, v: e['start'] == v['a']),
    ('start BETWEEN {a} AND {b}', lambda e, v: v['a'] <= e['start'] <= v['b']),
    ('start > {a} AND start > {b}', lambda e, v: e['start'] > max(v['a'], v['b'])),
    ('{a} < start AND start < {b}', lambda e, v: v['a'] < e['start'] < v['b']),
    ('start > -5', lambda e, v: True),
    ('start < 0', lambda e, v: False),
    ("start > 'text'", lambda e, v: False),
    ('start < 1e300', lambda e, v: True),
    ('start > NULL', lambda e, v: False),
    ('rank = {r}', lambda e, v: v['r'] is not None and e['rank'] == v['r']),
    ('rank = 1.0', lambda e, v: e['rank'] == 1),
    ("rank = '1'", lambda e, v: e['rank'] == 1),
    ('rank = -1', lambda e, v: False),
    ('rank = 1 AND rank = 2', lambda e, v: False),
    ('rank IN (0, 2)', lambda e, v: e['rank'] in (0, 2)),
    ('rank < 2', lambda e, v: e['rank'] is not None and e['rank'] < 2),
    ('rank IS NULL', lambda e, v: e['rank'] is None),
    ('rank IS NOT NULL', lambda e, v: e['rank'] is not None),
    ('pid = {p}', lambda e, v: e['pid'] == v['p']),
    ('pid <> {p}', lambda e, v: e['pid'] != v['p']),
    ('pid = 99999999999', lambda e, v: False),
    ('tid = {p}', lambda e, v: e['tid'] == v['p']),
    ("layer = 'posix'", lambda e, v: e['layer'] == 'posix'),
    ("layer = 'POSIX'", lambda e, v: False),
    ("layer = 'posix' COLLATE NOCASE", lambda e, v: e['layer'] == 'posix'),
    ("layer COLLATE NOCASE = 'POSIX'", lambda e, v: e['layer'] == 'posix'),
    ("layer IN ('posix', 'mpiio', 'none')", lambda e, v: e['layer'] in ('posix', 'mpiio')),
    ("layer = 'posix' AND layer = 'mpiio'", lambda e, v: False),
    ("layer = 'disk'", lambda e, v: e['layer'] == 'disk'),
    ("class = 'write'", lambda e, v: e['class'] == 'write'),
    ("class IN ('read', 'open')", lambda e, v: e['class'] in ('read', 'open')),
    ("class = 'sync' AND layer = 'posix'", lambda e, v: e['class'] == 'sync' and e['layer'] == 'posix'),
    ("op = 'write'", lambda e, v: e['op'] == 'write'),
    ("op = '*'", lambda e, v: False),
    ("op LIKE '%OPEN%'", lambda e, v: 'open' in e['op'].lower()),
    ("op IN ('write', 'pwrite', 'read')", lambda e, v: e['op'] in ('write', 'pwrite', 'read')),
    ('file = {f}', lambda e, v: e['file'] == v['f']),
    ('file <> {f}', lambda e, v: e['file'] is not None and e['file'] != v['f']),
    ("file = '/no/such/file'", lambda e, v: False),
    ("file LIKE '%A[B]*?'", lambda e, v: e['file'] is not None and e['file'].endswith('a[b]*?')),
    ("file GLOB '*.d*t'", lambda e, v: e['file'] is not None and e['file'].endswith('t') and '.d' in e['file']),
    ('file IS NULL', lambda e, v: e['file'] is None),
    ('id = {i}', lambda e, v: e['id'] == v['i']),
    ('id = {i} AND start < {b}', lambda e, v: e['id'] == v['i'] and e['start'] < v['b']),
    ('id = -1', lambda e, v: False),
    ('id IN ({i}, {i} + 1)', lambda e, v: e['id'] in (v['i'], v['i'] + 1)),
    ('parent = {i}', lambda e, v: e['parent'] == v['i']),
    ('server = 1', lambda e, v: e.get('server') == 1),
    ('server IS NULL', lambda e, v: e.get('server') is None),
    ('errno <> 0', lambda e, v: e['errno'] != 0),
    ('size > 200 AND size < 1000', lambda e, v: e['size'] is not None and 200 < e['size'] < 1000),
    ("rank = {r} AND class = 'write' AND start > {a} AND file = {f}",
     lambda e, v: v['r'] is not None and e['rank'] == v['r'] and e['class'] == 'write' and e['start'] > v['a'] and
     e['file'] == v['f']),
    ("rank = {r} OR class = 'write'", lambda e, v: (v['r'] is not None and e['rank'] == v['r']) or e['class'] == 'write'),
    ('NOT collective AND offset >= 0', lambda e, v: not e['collective'] and e['offset'] is not None),
]

# Whole statements.
QUESTIONS = [
    ('SELECT count(*), total(size), total(result), sum(duration), min(start), max(start) FROM events',
     lambda es: [[len(es), float(total(es, 'size')), float(total(es, 'result')), total(es, 'duration'),
                  min(e['start'] for e in es), max(e['start'] for e in es)]]),
    ('SELECT rank, class, count(*), total(size), max(duration) FROM events GROUP BY rank, class',
     lambda es: [[*k, len(g), float(total(g, 'size') or 0), max(e['duration'] for e in g)]
                 for k, g in group(es, lambda e: (e['rank'], e['class'])).items()]),
    ("SELECT file, count(*) FROM events WHERE class = 'open' AND errno = 0 GROUP BY file HAVING count(*) > 1",
     lambda es: [[k, len(g)] for k, g in
                 group([e for e in es if e['class'] == 'open' and not e['errno']], lambda e: e['file']).items() if len(g) > 1]),
    ('SELECT count(DISTINCT file), count(DISTINCT tid), count(parent) FROM events',
     lambda es: [[len({e['file'] for e in es} - {None}), len({e['tid'] for e in es}),
                  sum(e['parent'] is not None for e in es)]]),
    ("SELECT p.op, c.op, count(*) FROM events c JOIN events p ON c.parent = p.id GROUP BY 1, 2",
     lambda es: [[*k, len(g)] for k, g in
                 group([e for e in es if e['parent'] is not None],
                       lambda e, by={e['id']: e for e in es}: (by[e['parent']]['op'], e['op'])).items()]),
]


class Events(logs.QueryTest):
    def test_every_column_of_every_event_is_that_of_dump(self):
        for log in self.each_log():
            events = self.json('dump', '--json', log)
            rows = self.table(log, 'SELECT * FROM events')
            self.assertEqual(len(rows), len(events))
            self.assertFalse(set().union(*events) - set(rows[0]) - NO_COLUMNS)
            for row, event in zip(rows, events):
                self.assertEqual({key: bool(value) if key == 'collective' else value for key, value in row.items()},
                                 {key: event.get(key) for key in row})

    def values(self, events):
        with_file = [event for event in events if event['file'] and event['class'] == 'write']
        a, b = middle(events)
        return {'a': a, 'b': b, 'p': events[-1]['pid'], 'i': events[len(events) // 2]['id'],
                'f': with_file[len(with_file) // 2]['file'], 'r': max((e['rank'] for e in events if e['rank'] is not None), default=None)}

    def test_conditions(self):
        for log in self.each_log():
            events = self.json('dump', '--json', log)
            values = self.values(events)
            texts = {key: 'NULL' if value is None else "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
                     for key, value in values.items()}
            passed = 0
            for condition, passes in CONDITIONS:
                with self.subTest(condition=condition):
                    found = self.sql(log, f'SELECT id FROM events WHERE {condition.format(**texts)} ORDER BY start')
                    expected = [event['id'] for event in events if passes(event, values)]
                    self.assertEqual([row[0] for row in found], expected)
                    passed += bool(expected)
            self.assertGreater(passed, len(CONDITIONS) // 3)

    def test_questions(self):
        for log in self.each_log():
            events = self.json('dump', '--json', log)
            for statement, answer in QUESTIONS:
                with self.subTest(statement=statement):
                    found, expected = sorted(self.sql(log, statement), key=key_of), sorted(answer(events), key=key_of)
                    self.assertEqual(len(found), len(expected))
                    for one, other in zip(found, expected):
                        self.assertTrue(all(map(close, one, other)), (one, other))

    def test_order(self):
        for log in self.each_log():
            events = self.json('dump', '--json', log)
            for order, key, reverse in (('start', 'start', False), ('start DESC', 'start', True),
                                        ('duration DESC', 'duration', True), ('size', 'size', False)):
                found = [row[0] for row in self.sql(log, f'SELECT {key} FROM events WHERE {key} IS NOT NULL ORDER BY {order}')]
                self.assertEqual(found, sorted((e[key] for e in events if e[key] is not None), reverse=reverse))
            for column in ('rank', 'pid', 'class', 'layer'):
                for condition, passes in (('1', lambda e: True), ("class IN ('read', 'write')", lambda e: e['class'] in ('read', 'write')),
                                          ("layer = 'posix' AND class <> 'seek'", lambda e: e['layer'] == 'posix' and e['class'] != 'seek'),
                                          ("class = 'read' AND class = 'write'", lambda e: False),
                                          ("file LIKE '%a%'", lambda e: e['file'] and 'a' in e['file'].lower()),
                                          ('rank >= 1', lambda e: e['rank'] is not None and e['rank'] >= 1)):
                    chosen = group([e for e in events if passes(e)], lambda e: e[column])
                    keys = sorted(chosen, key=lambda key: (key is not None, key))
                    found = self.sql(log, f'SELECT {column}, count(*), max(id) FROM events WHERE {condition} GROUP BY {column}')
                    self.assertEqual(found, [[key, len(chosen[key]), max(e['id'] for e in chosen[key])] for key in keys])
                    found = self.sql(log, f'SELECT {column} FROM events WHERE {condition} ORDER BY {column}')
                    self.assertEqual(found, [[key] for key in keys for _ in chosen[key]])
            found = self.sql(log, "SELECT start FROM events WHERE class IN ('read', 'write') ORDER BY start")
            self.assertEqual(found, [[e['start']] for e in events if e['class'] in ('read', 'write')])
            limited = self.sql(log, 'SELECT id FROM events ORDER BY start LIMIT 3 OFFSET 2')
            self.assertEqual([row[0] for row in limited], [event['id'] for event in events[2:5]])


class OtherTables(logs.QueryTest):
    def check(self, rows, objects, key=None):
        """Each column is the member of that name."""
        key = key or (lambda row: 0)
        rows, objects = sorted(rows, key=key), sorted(objects, key=key)
        self.assertEqual(len(rows), len(objects))
        for row, found in zip(rows, objects):
            for column, value in row.items():
                if column in found:
                    expected = found[column]
                    if column == 'command' and isinstance(expected, list):
                        expected = ' '.join(expected)
                    if isinstance(expected, (list, dict)):
                        self.assertEqual(value, value.strip())
                        value = json.loads(value)
                    self.assertTrue(close(value, int(expected) if isinstance(expected, bool) else expected),
                                    (column, value, expected))
        return set(rows[0]) - set(objects[0]) if rows else set()

    def test_processes(self):
        for log in self.each_log():
            more = self.check(self.table(log, 'SELECT * FROM processes'), self.json('info', '--json', log)['processes'],
                              lambda row: (row['pid'], row['start']))
            self.assertEqual(more, {'ranks', 'members', 'slowest_rank', 'fastest_rank'})  # of `group`

    def test_columns_without_a_pass_are_the_same_later(self):
        for log in self.each_log():
            rows = self.sql(log, 'SELECT pid, program FROM processes UNION ALL SELECT pid, program FROM '
                                 '(SELECT pid, program, max(io_time, 0) FROM processes)')
            self.assertEqual(rows[:len(rows) // 2], rows[len(rows) // 2:])

    def test_files(self):
        for log in self.each_log():
            more = self.check(self.table(log, 'SELECT * FROM files'), self.json('info', '--json', log)['files'],
                              lambda row: row['name'])
            self.assertEqual(more, {'mount', 'file_system', 'block_size'})

    def test_devices(self):
        for log in self.each_log():
            self.assertEqual(self.check(self.table(log, 'SELECT * FROM devices'),
                                        self.json('info', '--json', log)['devices']), set())

    def test_phases_and_operations(self):
        for log in self.each_log():
            phases = self.json('phases', '--json', log)['phases']
            self.assertEqual(self.check(self.table(log, 'SELECT * FROM phases'), phases), set())
            self.check(self.table(log, 'SELECT * FROM operations'),
                       [{**op, 'phase': phase['id']} for phase in phases for op in phase['ops']])
            moved = self.sql(log, 'SELECT p.id, sum(o.bytes) FROM phases p JOIN operations o ON o.phase = p.id GROUP BY 1')
            self.assertEqual(dict(moved), {phase['id']: sum(op['bytes'] for op in phase['ops'])
                                           for phase in phases if phase['ops']})

    def test_findings(self):
        for log in self.each_log():
            self.expect(0, 'report', '-q', log, '-o', self.path('report.json'))
            with open(self.path('report.json'), encoding='utf-8') as made:
                findings = json.load(made)['findings']
            self.assertEqual(self.check(self.table(log, 'SELECT * FROM findings'), findings), set())

    def test_servers(self):
        for log in self.each_log():
            stack = self.json('info', '--json', log)['stack']
            rows = self.table(log, 'SELECT * FROM servers')
            self.assertEqual(self.check(rows, stack['servers'] if stack else []), set())
            self.assertTrue(all(row['down'] == '[]' for row in rows))

    def test_counters(self):
        for log in self.each_log():
            expected = [[record['layer'], record['rank'], record['file'], record.get('object'), name, value]
                        for record in self.json('stats', '--json', log)['records']
                        for name, value in record['counters'].items()]
            found = self.sql(log, 'SELECT layer, rank, file, object, counter, value FROM counters')
            self.assertEqual(found, expected)

    def test_joins_find_rows_by_value(self):
        for log in self.each_log():
            events = self.json('dump', '--json', log)
            files = {file['name'] for file in self.json('info', '--json', log)['files']}
            found = self.sql(log, 'SELECT f.name, count(*) FROM events e JOIN files f ON e.file = f.name GROUP BY 1')
            self.assertEqual({row[0]: row[1] for row in found},
                             {name: len(g) for name, g in group(events, lambda e: e['file']).items() if name in files})
            found = self.sql(log, 'SELECT count(*) FROM events e LEFT JOIN processes p ON p.pid = e.pid AND p.rank IS e.rank')
            self.assertGreaterEqual(found[0][0], len(events))
            for value in ("'x'", '1', '1.0', "'1'", 'NULL', '-1', '9223372036854775807', "x'00'"):
                for column in ('name', 'opens'):
                    both = self.sql(log, 'WITH copy AS MATERIALIZED (SELECT name, opens FROM files) '
                                         f'SELECT (SELECT count(*) FROM files WHERE {column} = {value}), '
                                         f'(SELECT count(*) FROM copy WHERE {column} = {value})')[0]
                    self.assertEqual(both[0], both[1], (column, value))


class Output(logs.QueryTest):
    STATEMENT = "SELECT file, size, duration, errno, parent FROM events"

    def test_csv_says_the_same_as_json(self):
        log = Logs.find('plain')
        made = self.expect(0, 'query', log, '--csv', '--sql', self.STATEMENT).stdout
        rows = list(csv.reader(io.StringIO(made.decode('utf-8', 'surrogateescape'), newline='')))
        self.assertEqual(rows[0], ['file', 'size', 'duration', 'errno', 'parent'])
        expected = self.sql(log, self.STATEMENT)
        self.assertEqual(len(rows) - 1, len(expected))
        for row, values in zip(rows[1:], expected):
            self.assertEqual(row, ['' if value is None else row[i] if isinstance(value, float) else str(value)
                                   for i, value in enumerate(values)])
            self.assertEqual(float(row[2]), values[2])
        self.assertIn(b'\r\n', made)

    def test_text(self):
        log = Logs.find('plain')
        text = self.expect(0, 'query', log, '--sql', "SELECT 1 AS a, 'x' AS \"b c\", NULL AS n, 0.5 AS r, x'00ff' AS z").stdout
        self.assertEqual(text.decode(), "a  b c  n    r  z\n1  x    -  0.5  x'00ff'\n")
        self.assertEqual(self.expect(0, 'query', log, '--sql', 'SELECT 1 AS a WHERE 0').stdout, b'a\n')
        self.assertIn(b'0.0000123', self.expect(0, 'query', log, '--sql', 'SELECT 0.0000123').stdout)

    def test_long_tables_are_printed_piece_by_piece(self):
        count = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n'
        lines = self.expect(0, 'query', Logs.find('plain'), '--sql', count).stdout.decode().split('\n')
        self.assertEqual([line.strip() for line in lines], ['i', *map(str, range(1, 5001)), ''])

    def test_output_files_appear_whole(self):
        log = Logs.find('plain')
        self.expect(0, 'query', log, '--json', '-o', self.path('a.json'), '--sql', 'SELECT 1')
        with open(self.path('a.json'), encoding='utf-8') as made:
            self.assertEqual(json.load(made), {'columns': ['1'], 'rows': [[1]]})
        self.expect_error(2, 'query', log, '--csv', '-o', self.path('b.csv'), '--sql', 'SELECT nothing')
        with self.assertRaises(FileNotFoundError):
            open(self.path('b.csv'), encoding='utf-8')

    def test_many_columns(self):
        log = Logs.find('plain')
        many = 'SELECT ' + ', '.join(map(str, range(70)))
        self.assertIn('--json', self.expect_error(1, 'query', log, '--sql', many))
        self.assertEqual(self.sql(log, many), [list(range(70))])

    def test_tables(self):
        tables = self.json('query', '--tables', '--json')['tables']
        text = self.expect(0, 'query', '--tables').stdout.decode()
        log = Logs.find('plain')
        for table in tables:
            self.assertIn(f'{table["name"]}: {table["meaning"]}\n', text)
            columns = self.json('query', log, '--json', '--sql', f'SELECT * FROM {table["name"]}')['columns']
            self.assertEqual(columns, [column['name'] for column in table['columns']])

    def test_a_spill_directory_and_an_empty_log(self):
        log = self.record('true')
        self.assertEqual(self.sql(log, 'SELECT count(*) >= 0 FROM events'), [[1]])


class Mistakes(logs.QueryTest):
    def error(self, statement, status=2):
        return self.expect_error(status, 'query', Logs.find('plain'), '--sql', statement)

    def test_an_error_points_at_the_place(self):
        self.assertIn('near "x": syntax error, at "x y" (character 27)', self.error('SELECT 1 FROM events FRMO x y'))
        line = self.error('SELECT rnk, count(*) FROM events')
        self.assertIn('no such column: rnk, at "rnk, count(*) FROM events" (character 8)', line)
        self.assertIn('no such table', self.error('SELECT 1 FROM nowhere'))
        self.assertIn('empty', self.error('  ;'))

    def test_command_lines(self):
        log = Logs.find('plain')
        self.expect_error(2, 'query', log, '--csv', '--json', '--sql', 'SELECT 1')
        self.expect_error(2, 'query', '--sql', 'SELECT 1')
        self.expect_error(2, 'query', '--tables', log)
        self.expect_error(1, 'query', self.path('none'), '--sql', 'SELECT 1')


harness.main()
