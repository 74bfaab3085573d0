#!/usr/bin/env python3
"""bench/query.py BUILD [EVENTS]: how fast `ioseer query` answers on a large log, beside sqlite3 on the same data.

Times of whole commands, opening the log included: the median of the runs, in wall time and in processor time, and the peak
of memory. sqlite3 gets the events as CSV, with an index for each column that a statement has a condition on; what that
takes is in the first line. On a busy machine wall times are far above processor times.
"""
import os
import shutil
import statistics
import sys

from common import Place, machine, table

EVENTS = 10_000_000
PROCESSES = 16
RUNS = 7
TYPES = {'id': 'INTEGER', 'rank': 'INTEGER', 'pid': 'INTEGER', 'layer': 'TEXT', 'op': 'TEXT', 'class': 'TEXT', 'file': 'TEXT',
         'offset': 'INTEGER', 'size': 'INTEGER', 'result': 'INTEGER', 'start': 'REAL', 'duration': 'REAL'}
INDEXES = ('id', 'rank', 'start', 'class')

# Goals on two cores: conditions that the index knows in 0.3 s, a scan with a sum in 2 s and 300 MB.
STATEMENTS = [
    ('one event', 'SELECT op, offset FROM events WHERE id = (3 << 32) + 30000'),
    ('one moment', 'SELECT count(*), sum(size) FROM events WHERE start BETWEEN 0.1 AND 0.101'),
    ('one rank', 'SELECT count(*), sum(size) FROM events WHERE rank = 3'),
    ('a class that nothing has', "SELECT count(*) FROM events WHERE class = 'sync'"),
    ('the first events', 'SELECT op, start FROM events ORDER BY start LIMIT 10'),
    ('count of all', 'SELECT count(*) FROM events'),
    ('sum over all', 'SELECT sum(size) FROM events'),
    ('sum per rank', 'SELECT rank, sum(size) FROM events GROUP BY rank'),
    ('sum per class', 'SELECT class, sum(size) FROM events GROUP BY class'),
    ('the longest', 'SELECT id, duration FROM events ORDER BY duration DESC LIMIT 10'),
    ('join with files', 'SELECT count(*) FROM events JOIN files ON file = name'),
]


def median(place, command):
    runs = [place.measure(command) for _ in range(RUNS)]
    return [statistics.median(values) for values in zip(*runs)]


def import_events(place, database):
    """The events in a database of sqlite3. The seconds of wall time that it took."""
    copy = os.path.join(place.folder, 'events.csv')
    place.run([place.ioseer, 'query', place.log, '--csv', '-o', copy, '--sql', f'SELECT {", ".join(TYPES)} FROM events'])
    columns = ', '.join(f'{name} {kind}' for name, kind in TYPES.items())
    script = [f'CREATE TABLE events({columns})', f'.import --csv --skip 1 {copy} events']
    script += [f'CREATE INDEX by_{column} ON events({column})' for column in INDEXES]
    script += ["CREATE TABLE files(name PRIMARY KEY)", 'INSERT INTO files SELECT DISTINCT file FROM events', 'ANALYZE']
    wall, _, _ = place.measure(['sqlite3', database, *script])
    os.unlink(copy)
    return wall


def show(place, events):
    database = os.path.join(place.folder, 'events.db')
    place.run([place.synthetic, place.log, 'mixed', str(PROCESSES), str(events)])
    print(f'{events:,} events of {PROCESSES} processes, a log of {os.path.getsize(place.log) / 1e6:.1f} MB')
    has_sqlite = shutil.which('sqlite3')
    if has_sqlite:
        wall = import_events(place, database)
        print(f'sqlite3: import and indexes took {wall:.1f} s, {os.path.getsize(database) / 1e6:.0f} MB')
    rows = []
    for name, statement in STATEMENTS:
        wall, processor, peak = median(place, [place.ioseer, 'query', place.log, '--sql', statement])
        row = [name, f'{wall:.2f}', f'{processor:.2f}', f'{peak / 1024:.0f}']
        if has_sqlite:
            wall, processor, peak = median(place, ['sqlite3', database, statement])
            row += [f'{wall:.2f}', f'{processor:.2f}']
        rows.append(row)
    table('Seconds, and MiB of memory', ['statement', 'wall', 'processor', 'MiB', *(['sqlite3 wall', 'processor'] if has_sqlite else [])],
          rows)


def show_second(place):
    """The same statement a second time in one session."""
    once, twice = (median(place, ['sh', '-c', f'echo "{"SELECT sum(size) FROM events;" * count}" | {place.ioseer} query {place.log}'])
                   for count in (1, 2))
    table('The second statement of a session (sum over all)', ['statement', 'wall', 'processor'],
          [['first', f'{once[0]:.2f}', f'{once[1]:.2f}'],
           ['second', f'{twice[0] - once[0]:.2f}', f'{twice[1] - once[1]:.2f}']])


def main():
    place = Place(sys.argv[1])
    events = int(sys.argv[2]) if len(sys.argv) > 2 else EVENTS
    print(machine())
    show(place, events)
    show_second(place)


main()
