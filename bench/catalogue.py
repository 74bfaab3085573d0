#!/usr/bin/env python3
"""bench/catalogue.py BUILD [JOBS [LOGS]]: how fast a catalogue is filled and asked.

First real logs: copies of one that is recorded now are indexed, and once more without changes; the same as logs of Darshan. Then questions to a catalogue of
JOBS jobs that nobody ran, in SQLite and, if it is there, in a PostgreSQL of this script's own: times of whole commands, the
median of the runs. Processor time has that of PostgreSQL's processes for the question. On a busy machine wall times are far above.
"""
import os
import shutil
import statistics
import sys
import time

from common import Place, machine, table

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'catalogue'))
from catalogue_case import Server, server_programs  # noqa: E402

JOBS = 1_000_000
LOGS = 10_000
RUNS = 5
FOLDERS = 20

# Goal: each in less than a second.
QUESTIONS = [
    ('the last jobs', ['--top', '50']),
    ('the most bytes', ['--sort', 'bytes', '--top', '50']),
    ('the largest share of I/O', ['--sort', 'share', '--top', '50']),
    ('findings that would save most', ['--sort', 'findings', '--top', '50']),
    ('by the name of the user', ['--sort', 'user', '--top', '50']),
    ('a user, by bytes', ['--user', 'user1', '--sort', 'bytes', '--top', '50']),
    ('half of the users, by I/O time', ['--user', 'user[0-9][0-9]', '--sort', 'io', '--top', '50']),
    ('a program in one month, by time', ['--program', 'program7', '--since', '2025-03-01', '--until', '2025-04-01', '--sort', 'time',
                                         '--top', '50']),
    ('a year, by files', ['--since', '2024-06-01', '--until', '2025-06-01', '--sort', 'files', '--top', '50']),
    ('a finding, by bytes', ['--finding', 'finding-3', '--sort', 'bytes', '--top', '50']),
    ('a file system, the last jobs', ['--fs', '/fs2', '--top', '50']),
    ('by user', ['--by', 'user']),
    ('by program', ['--by', 'program']),
    ('by month', ['--by', 'month']),
    ('by file system', ['--by', 'fs']),
    ('the worst files', ['--by', 'file', '--top', '50']),
    ('the worst files of a user', ['--by', 'file', '--user', 'user1', '--top', '50']),
    ('the worst files of 6 weeks', ['--by', 'file', '--since', '2025-03-10', '--until', '2025-04-20', '--top', '50']),
    ('by finding', ['--by', 'finding']),
    ('by user, 6 weeks', ['--by', 'user', '--since', '2025-03-10', '--until', '2025-04-20']),
    ('statistics', ['--statistics']),
    ('statistics of a program', ['--statistics', '--program', 'program7']),
    ('statistics of a quarter', ['--statistics', '--since', '2024-10-15', '--until', '2025-01-15']),
    ('what got slower', ['--slower']),
    ('by day', ['--by', 'day']),
    ('by user, on a file system', ['--by', 'user', '--fs', '/fs2']),
    ('by month, with a finding', ['--by', 'month', '--finding', 'finding-3']),
    ('the worst files, on a file system', ['--by', 'file', '--fs', '/fs2', '--top', '50']),
    ('by finding, on a file system', ['--by', 'finding', '--fs', '/fs2']),
    ('statistics of a file system', ['--statistics', '--fs', '/fs2']),
    ('statistics of a finding', ['--statistics', '--finding', 'finding-3']),
    ('by user, on all of several file systems', ['--by', 'user', '--fs', '/fs*']),
    ('statistics, a file system and a finding', ['--statistics', '--fs', '/fs2', '--finding', 'finding-3']),
    ('by day, on a file system', ['--by', 'day', '--fs', '/fs2']),
    ('by day, 20 months', ['--by', 'day', '--since', '2024-03-02', '--until', '2025-11-11']),
    ('statistics of 23 months', ['--statistics', '--since', '2024-01-20', '--until', '2025-12-10']),
    ('statistics of a user, on a file system', ['--statistics', '--user', 'user1', '--fs', '/fs2']),
    ('statistics of a user, with a finding', ['--statistics', '--user', 'user1', '--finding', 'finding-3']),
]

# What no sums are kept for: some seconds.
OTHERS = [
    ('statistics of some findings', ['--statistics', '--finding', 'finding-[34]']),
    ('statistics of many users, with a finding', ['--statistics', '--user', 'user1*', '--finding', 'finding-3']),
]


def seconds_of_children(process):
    """Processor time of the children that a process has waited for: in a PostgreSQL server, of sessions that have ended."""
    with open(f'/proc/{process}/stat', encoding='ascii', errors='replace') as file:
        fields = file.read().rpartition(') ')[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf('SC_CLK_TCK')


def median(place, command, server):
    """Wall and processor time, in seconds."""
    runs = []
    for _ in range(RUNS):
        before = seconds_of_children(server) if server else 0
        wall, processor, _ = place.measure(command)
        time.sleep(0.2 if server else 0)  # the session ends after its client
        runs.append((wall, processor + (seconds_of_children(server) - before if server else 0)))
    return [statistics.median(values) for values in zip(*runs)]


def index_logs(place, log, count):
    """Copies of a log."""
    tree, ending = os.path.join(place.folder, 'tree'), os.path.splitext(log)[1]
    for number in range(count):
        folder = os.path.join(tree, str(number % FOLDERS))
        os.makedirs(folder, exist_ok=True)
        shutil.copy(log, os.path.join(folder, f'{number}{ending}'))
    command = [place.ioseer, 'index', '-q', '--db', log + '.db', '-o', os.devnull, tree]
    rows = []
    for title in ('first', 'again, without changes'):
        wall, processor, peak = place.measure(command)
        rows.append([title, f'{wall:.2f}', f'{processor:.2f}', f'{peak / 1024:.0f}'])
    table(f'{count:,} logs of {os.path.getsize(log):,} bytes ({ending})', ['`ioseer index`', 'wall, s', 'processor, s', 'memory, MiB'], rows)
    shutil.rmtree(tree)


def ask(place, jobs, databases, server):
    rows = []
    for name, db in databases.items():
        wall, processor, _ = place.measure([os.path.join(place.build, 'bench', 'bench-catalogue'), db, str(jobs)])
        print(f'{name}: filled in {wall:.0f} s, {processor:.0f} s of processor time', flush=True)
    for title, options in QUESTIONS + OTHERS:
        row = [title]
        for db in databases.values():
            command = [place.ioseer, 'jobs', '--json', '-o', os.devnull, '--db', db, *options]
            wall, processor = median(place, command, server if '://' in db else None)
            row += [f'{wall:.2f}', f'{processor:.2f}']
        rows.append(row)
    header = [f'{name}, {what}' for name in databases for what in ('wall, s', 'processor, s')]
    table(f'{jobs:,} jobs', ['question', *header], rows)


def main():
    place = Place(sys.argv[1])
    jobs, logs = (int(word) for word in (*sys.argv[2:], *(str(n) for n in (JOBS, LOGS)[len(sys.argv) - 2:])))
    place.build = os.path.abspath(sys.argv[1])
    print(machine())
    place.run(place.recorded(place.calls_command('write', 500, 1)))
    darshan = os.path.join(place.folder, 'bench.darshan')
    place.run([place.ioseer, 'export', '--format', 'darshan', '-o', darshan, place.log])
    for log in (place.log, darshan):
        index_logs(place, log, logs)
    databases = {'SQLite': os.path.join(place.folder, 'jobs.db')}
    server = Server(place.folder) if server_programs() else None
    if server:
        databases['PostgreSQL'] = server.database('jobs')
    ask(place, jobs, databases, server and server.process.pid)


if __name__ == '__main__':
    main()
