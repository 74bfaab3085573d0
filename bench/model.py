#!/usr/bin/env python3
"""bench/model.py BUILD [EVENTS]: how long it takes to find the phases in synthetic logs of MPI jobs, on one core.

Times are processor times of the best run.
"""
import sys

from common import Place, machine, table

EVENTS = 1_000_000
PROCESSES = [16, 64, 256, 1024]
PATTERNS = ['dumps', 'random', 'mixed', 'different', 'own']
TARGET_SECONDS, TARGET_MIB = 0.5, 500  # a million events of 64 processes
RUNS = 3


def measured(place, pattern, processes, events):
    place.run([place.synthetic, place.log, pattern, str(processes), str(events)])
    runs = [place.measure([place.ioseer, 'phases', place.log]) for _ in range(RUNS)]
    return min(run[1] for run in runs), max(run[2] for run in runs) / 1024


def main():
    place = Place(sys.argv[1])
    events = int(sys.argv[2]) if len(sys.argv) > 2 else EVENTS
    print(machine())
    rows = []
    for pattern in PATTERNS:
        cells = [measured(place, pattern, processes, events) for processes in PROCESSES]
        rows.append([pattern, *[f'{seconds:.2f} s, {mib:.0f} MiB' for seconds, mib in cells]])
    table(f'Phases of {events:,} events (64 processes should take less than {TARGET_SECONDS} s and {TARGET_MIB} MiB)',
          ['pattern', *[f'{processes} processes' for processes in PROCESSES]], rows)
    rows = []
    for part in (8, 4, 2, 1):
        cells = [measured(place, pattern, 64, events // part) for pattern in PATTERNS]
        rows.append([f'{events // part:,}', *[f'{seconds:.2f} s' for seconds, _ in cells]])
    table('Phases of more and more events of 64 processes', ['events', *PATTERNS], rows)


main()
