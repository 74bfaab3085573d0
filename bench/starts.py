#!/usr/bin/env python3
"""bench/starts.py BUILD [ROUNDS [SCALE]]: what recording adds to programs that start many processes, or use many small files.

The bare and the recorded program alternate. The program times itself, so the log's making is not in it. SCALE divides the numbers of
processes and files; ratios hardly depend on them.
"""
import os
import shutil
import statistics
import sys

from common import Place, machine, quartiles, table

# (kind of starts.c, how often, what it is, goal: times the bare program)
KINDS = [
    ('fork', 1000, 'fork, open, write, _exit', 1.3),
    ('vfork', 1000, 'vfork and exec of true', 1.3),
    ('spawn', 1000, 'posix_spawn of true', 1.3),
    ('threads', 200, 'processes of 20 threads', 1.2),
    ('tests', 12000, 'tests of two processes', 1.1),
    ('files', 100000, 'small files', 1.03),
]


def once(place, kind, count, is_recorded):
    folder = os.path.join(place.folder, 'files')
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    command = [place.starts, kind, str(count), folder]
    printed = place.run(place.recorded(command) if is_recorded else command)
    return [float(word) for word in printed.split()]


def row(place, kind, count, what, goal, rounds):
    pairs = []
    for number in range(rounds):
        order = [False, True] if number % 2 == 0 else [True, False]
        results = {is_recorded: once(place, kind, count, is_recorded) for is_recorded in order}
        pairs.append((results[False], results[True]))
    cells = [f'{count:,} {what}', f'{statistics.median(bare[0] for bare, _ in pairs):.2f}']
    for which in (0, 1):
        low, median, high = quartiles([recorded[which] / bare[which] for bare, recorded in pairs])
        cells += [f'{median:.2f}', f'{low:.2f} to {high:.2f}']
    return [*cells, goal]


def main():
    place = Place(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    scale = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(machine())
    table(f'Programs with many processes or files, times the bare program: {rounds} rounds, in memory',
          ['program', 'bare, s', 'wall', 'quartiles', 'processor', 'quartiles', 'goal'],
          [row(place, kind, count // scale, what, goal, rounds) for kind, count, what, goal in KINDS])


main()
