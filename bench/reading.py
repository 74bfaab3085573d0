#!/usr/bin/env python3
"""bench/reading.py BUILD [EVENTS]: makes a large log and measures how fast it is packed and read.

One table has events per second of wall time, on all cores and on one (IOSEER_THREADS), and per second of processor
time. The best of the runs counts. On a busy machine the wall time is far above the processor time on one core.
"""
import glob
import json
import os
import sys

from common import Place, machine, table

EVENTS = 20_000_000
TARGET = 5_000_000  # events per second of one core, for iteration
STATS_TARGET = 40_000_000  # events per second of wall time for stats, on two cores
RUNS = 2
SIZE_EVENTS = 200_000

# Patterns of calls.c and threads; each thread makes the same number of events.
PROGRAMS = [('pread', 2), ('pwrite-random', 1), ('two-files', 1), ('write', 1)]
SIZES = ['pread', 'pwrite', 'read', 'pread-strided', 'two-files', 'fwrite', 'open-close', 'pread-random', 'pread-far']


def events_of(place):
    about = json.loads(place.run([place.ioseer, 'info', '--json', place.log]))
    if about['lost_events']:
        print(f'{about["lost_events"]} events were lost')
    return about['events']


def show_sizes(place):
    rows = []
    for pattern in SIZES:
        place.run(place.recorded(place.calls_command(pattern, SIZE_EVENTS, 1)))
        events = events_of(place)
        rows.append([pattern, f'{events:,}', f'{os.path.getsize(place.log) / events:.2f}'])
    table('Bytes an event in the log, times included (regular patterns should take at most 8, random ones 16)',
          ['calls', 'events', 'bytes an event'], rows)


def make_log(place, events):
    threads = sum(count for _, count in PROGRAMS)
    script = ' && '.join(' '.join(place.calls_command(pattern, events // threads, count)) for pattern, count in PROGRAMS)
    command = place.recorded(['sh', '-c', script], '--keep-spill', '--trace-cap', '1G')
    return place.measure(command)


def spill_bytes(directory):
    """On disk: the files have holes."""
    return sum(os.stat(os.path.join(directory, name)).st_blocks * 512 for name in os.listdir(directory))


def show_reading(place, events):
    wall, processor, _ = make_log(place, events)
    directory, = glob.glob(glob.escape(place.log) + '.spill-*')
    events = events_of(place)
    size = os.path.getsize(place.log)
    print(f'\n{events:,} events by {len(PROGRAMS)} programs, recorded and packed in {wall:.1f} s ({processor:.1f} s of '
          f'processor time with the programs): spill files {spill_bytes(directory) / 1e6:.0f} MB, log {size / 1e6:.0f} '
          f'MB, {size / events:.2f} bytes an event')
    jobs = {
        'pack': [place.ioseer, 'pack', '-q', '--force', '-o', os.path.join(place.folder, 'again.ioseer'), directory],
        'iterate over all events': [place.iterate, place.log],
        'stats': [place.ioseer, 'stats', place.log],
        'stats --json': [place.ioseer, 'stats', '--json', place.log],
        'info': [place.ioseer, 'info', place.log],
    }
    rows = []
    for name, command in jobs.items():
        runs = [place.measure(command) for _ in range(RUNS)]
        wall, processor = (min(run[i] for run in runs) for i in (0, 1))
        peak = max(run[2] for run in runs)
        one = min(place.measure(command, 'IOSEER_THREADS=1')[0] for _ in range(RUNS))
        rows.append([name, f'{wall:.2f}', f'{events / wall / 1e6:.1f}', f'{one:.2f}', f'{processor:.2f}',
                     f'{events / processor / 1e6:.1f}', f'{peak / 1024:.1f}'])
    table(f'Best of {RUNS}. stats should read {STATS_TARGET / 1e6:.0f} million events per second of wall time on two '
          f'cores (here {os.cpu_count()}), iteration {TARGET / 1e6:.0f} million per second of processor time',
          ['what', 'wall s', 'million/s', 'wall s, one thread', 'processor s', 'million/s', 'peak MiB'], rows)


def main():
    place = Place(sys.argv[1])
    print(machine())
    show_sizes(place)
    show_reading(place, int(sys.argv[2]) if len(sys.argv) > 2 else EVENTS)


main()
