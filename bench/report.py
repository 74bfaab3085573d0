#!/usr/bin/env python3
"""bench/report.py BUILD [EVENTS]: how long reports of large logs take, how large they are, and how soon `view` shows
one.

The logs are synthetic logs of MPI jobs. Wall times depend on how busy the machine is; the best of the runs counts.
"""
import json
import os
import subprocess
import sys
import time
import urllib.request

from common import Place, machine, table

PROCESSES = 64
PATTERNS = ['dumps', 'random', 'mixed', 'different']
EVENTS, TARGET_SECONDS, TARGET_MIB = 1_000_000, 3, 500
MANY_EVENTS, MANY_SECONDS, MANY_MIB = 50_000_000, 60, 1024
MANY_PROCESSOR_SECONDS = 13.35  # half of what it took when every block was decoded up to seven times
VIEW_SECONDS = 3
RUNS = 3


def make_log(place, pattern, events):
    place.run([place.synthetic, place.log, pattern, str(PROCESSES), str(events)])


def measured(place, name, runs):
    page = os.path.join(place.folder, 'x.json')
    results = [place.measure([place.ioseer, 'report', '-q', '--format', 'json', '-o', page, place.log])
               for _ in range(runs)]
    wall, processor = (min(result[i] for result in results) for i in (0, 1))
    peak = max(result[2] for result in results) / 1024
    return [name, f'{wall:.2f}', f'{processor:.2f}', f'{peak:.0f}', f'{os.path.getsize(page) / 1e6:.2f}']


def opened(place):
    """Seconds until `view` has given the first document, and then a part of the timeline."""
    start = time.monotonic()
    with subprocess.Popen([place.ioseer, 'view', '-q', place.log], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            with urllib.request.urlopen(address + 'data/0') as answer:
                document = json.load(answer)
            first = time.monotonic() - start
            end = document['timeline']['to']
            start = time.monotonic()
            with urllib.request.urlopen(f'{address}timeline/0?from={end * .5}&to={end * .505}&width=1000') as answer:
                json.load(answer)
            return first, time.monotonic() - start
        finally:
            server.terminate()


def main():
    place = Place(sys.argv[1])
    many = int(sys.argv[2]) if len(sys.argv) > 2 else MANY_EVENTS
    print(machine())
    rows = []
    for pattern in PATTERNS:
        make_log(place, pattern, EVENTS)
        rows.append(measured(place, pattern, RUNS))
    make_log(place, 'dumps', many)
    rows.append(measured(place, f'dumps, {many:,}', 1))
    table(f'Reports of {EVENTS:,} events of {PROCESSES} processes (at most {TARGET_SECONDS} s and {TARGET_MIB} MiB), and '
          f'of {many:,} (at most {MANY_SECONDS} s, {MANY_PROCESSOR_SECONDS} s of processor time and {MANY_MIB} MiB)',
          ['events', 'wall s', 'processor s', 'peak MiB', 'data MB'], rows)
    first, zoom = opened(place)
    print(f'\nview of {many:,} events: the first document after {first:.2f} s (at most {VIEW_SECONDS}), half a percent of '
          f'the timeline in {zoom:.2f} s')


main()
