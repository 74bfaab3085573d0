"""The tables `calls` and `layers` against the same figures in Python, and against those of `info`."""
import collections

import logs
from logs import harness
from tree import DOWNWARDS, load, ns

PLACES = ('id', 'parent', 'top', 'rank', 'pid', 'call', 'part', 'depth', 'layer', 'op', 'class', 'file', 'server', 'bytes')


class TreeTest(logs.QueryTest):
    def rows(self, log, statement):
        answer = load(self.expect(0, 'query', log, '--json', '--sql', statement).stdout)
        return [dict(zip(answer['columns'], row)) for row in answer['rows']]

    def test_calls(self):
        for name, log, tree in self.each_tree():
            with self.subTest(log=name):
                rows = self.rows(log, 'SELECT * FROM calls ORDER BY start')
                self.assertEqual([row['start'] for row in rows], sorted(row['start'] for row in rows))
                found = {row['id']: [row[key] for key in PLACES] + [ns(row['start']), ns(row['duration'])] for row in rows}
                wanted = {event['id']: [event[key] for key in PLACES] + [event['from'], event['ns']] for event in tree.events}
                self.assertEqual(found, wanted)
                self.assertEqual(len(rows), len(tree.events))

    def test_layers(self):
        for name, log, tree in self.each_tree():
            with self.subTest(log=name):
                wanted = tree.layers()
                found = {}
                for row in self.rows(log, 'SELECT * FROM layers WHERE top IS NOT NULL'):
                    top = tree.by_id[row['top']]
                    self.assertEqual([row[key] for key in ('rank', 'pid', 'call', 'op')],
                                     [top[key] for key in ('rank', 'pid', 'call', 'op')])
                    self.assertEqual((ns(row['start']), row['level']), (top['from'], DOWNWARDS.index(row['layer'])))
                    found[row['top'], row['layer']] = [row['calls'], row['bytes_read'], row['bytes_written'],
                                                       ns(row['inclusive']), ns(row['exclusive'])]
                self.assertEqual(found, {key: row for key, row in wanted.items() if tree.by_id[key[0]]['top']})

    def test_sums_are_those_of_info(self):
        for name, log, tree in self.each_tree():
            if not tree.has_below:
                continue
            with self.subTest(log=name):
                sums = {row['layer']: row for row in self.rows(log, '''SELECT layer, sum(calls) AS calls, sum(bytes_read) AS bytes_read,
                    sum(bytes_written) AS bytes_written, sum(inclusive) AS inclusive, sum(exclusive) AS exclusive FROM layers GROUP BY 1''')}
                info = load(self.expect(0, 'info', '--json', log).stdout)['stack']['layers']
                self.assertEqual(set(sums), {row['layer'] for row in info})
                for row in info:
                    for key in ('calls', 'bytes_read', 'bytes_written'):
                        self.assertEqual(sums[row['layer']][key], row[key], (row['layer'], key))
                    for key in ('inclusive', 'exclusive'):
                        self.assertEqual(ns(sums[row['layer']][key]), ns(row[key]), (row['layer'], key))

    def test_conditions(self):
        """Those that reach the log leave out nothing that the others would find."""
        for name, log, tree in self.each_tree():
            event = tree.events[len(tree.events) * 2 // 3]
            deep = max(tree.events, key=lambda other: other['depth'])
            conditions = {
                f"pid = {event['pid']}": lambda e: e['pid'] == event['pid'],
                f"pid = {event['pid']} AND call = {event['call'] or 0}": lambda e: (e['pid'], e['call']) == (event['pid'], event['call'] or 0),
                f"rank = 1 AND layer = '{deep['layer']}'": lambda e: e['rank'] == 1 and e['layer'] == deep['layer'],
                f"rank IN (0, 3) AND start <= {event['start']}": lambda e: e['rank'] in (0, 3) and e['from'] <= event['from'],
                "layer = 'posix'": lambda e: e['layer'] == 'posix',
                "layer = 'nothing'": lambda e: False,
                "layer = 'POSIX' COLLATE NOCASE AND part = 0": lambda e: e['layer'] == 'posix' and e['part'] == 0,
                'server = 2': lambda e: e['server'] == 2,
                "rank = '1'": lambda e: e['rank'] == 1,
                'rank = NULL': lambda e: False,
                'rank = 1 AND rank = 2': lambda e: False,
                f"top = {event['top']}": lambda e: e['top'] == event['top'],
            }
            for condition, holds in conditions.items():
                with self.subTest(log=name, condition=condition):
                    found = collections.Counter(row['id'] for row in self.rows(log, f'SELECT id FROM calls WHERE {condition}'))
                    self.assertEqual(found, collections.Counter(e['id'] for e in tree.events if holds(e)))
            ranks = self.rows(log, 'SELECT * FROM layers WHERE rank = 1')
            self.assertEqual(ranks, [row for row in self.rows(log, 'SELECT * FROM layers') if row['rank'] == 1])


harness.main()
