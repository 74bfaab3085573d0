#!/usr/bin/env python3
"""bench/overhead.py BUILD [ROUNDS]: what recording adds to small calls, to the start of a process and to its memory.

The bare and the recorded program alternate, so that both run under the same load. Each run gives the median and the
minimum over batches of calls. The tables show recorded minus bare: the median and quartiles over the rounds, the
difference of the smallest minima, and the median difference of processor time.
"""
import os
import statistics
import sys

from common import Place, machine, quartiles, table

# (pattern of calls.c, calls per thread, nanoseconds that Darshan 3.5 adds with one thread, with two), as published for
# 8-byte calls on a machine like the one in doc/measurements.md. Nothing is published of the last four; the last two make
# two calls each.
CALLS = [
    ('pread', 200_000, 117, 747),
    ('pwrite', 200_000, 226, 726),
    ('read', 200_000, 198, 380),
    ('pread-random', 200_000, 278, 984),
    ('open-close', 40_000, 295, 2166),
    ('fwrite', 1_000_000, 109, 453),
    ('fread', 1_000_000, '', ''),
    ('stat', 100_000, '', ''),
    ('mkdir-rmdir', 40_000, '', ''),
    ('link-unlink', 40_000, '', ''),
]
FOLLOWED_CALLS = 20_000
LIVES = 60  # runs of a short program
TWO_TO_ONE = 1.25  # limit of the cost with two threads, relative to one


def calls_once(place, command):
    return [float(word) for word in place.run(command).split()[:3]]


def calls_rounds(place, rounds):
    """{(pattern, threads): [(bare, recorded) of each round]}, each the program's three numbers."""
    runs = {(pattern, threads): [] for pattern, _, _, _ in CALLS for threads in (1, 2)}
    for number in range(rounds):
        for pattern, count, _, _ in CALLS:
            for threads in (1, 2):
                bare = place.calls_command(pattern, count, threads)
                pair = [bare, place.recorded(bare)]
                if number % 2:
                    pair.reverse()
                results = [calls_once(place, command) for command in pair]
                if number % 2:
                    results.reverse()
                runs[pattern, threads].append(results)
        print(f'round {number + 1} of {rounds}', file=sys.stderr)
    return runs


def summary(results):
    added = [recorded[0] - bare[0] for bare, recorded in results]
    low, median, high = quartiles(added)
    return {
        'bare': statistics.median(bare[0] for bare, _ in results),
        'median': median,
        'spread': f'{low:.0f} to {high:.0f}',
        'minimum': min(recorded[1] for _, recorded in results) - min(bare[1] for bare, _ in results),
        'cpu': statistics.median(recorded[2] - bare[2] for bare, recorded in results),
    }


def show_calls(place, rounds):
    runs = calls_rounds(place, rounds)
    rows = []
    for pattern, _, *darshan in CALLS:
        one = summary(runs[pattern, 1])
        for threads in (1, 2):
            it = summary(runs[pattern, threads])
            ratios = '' if threads == 1 else f'{it["median"] / one["median"]:.2f} / {it["minimum"] / one["minimum"]:.2f}'
            rows.append([pattern if threads == 1 else '', threads, f'{it["bare"]:.0f}', f'{it["median"]:.0f}',
                         it['spread'], f'{it["minimum"]:.0f}', f'{it["cpu"]:.0f}', ratios, darshan[threads - 1]])
    table(f'Added to a call, ns: {rounds} rounds, 8 bytes a call, each thread on a file of its own in memory; two '
          f'threads should cost at most {TWO_TO_ONE} of one',
          ['call', 'threads', 'bare', 'added', 'quartiles', 'minima', 'processor', 'two/one (minima)', 'Darshan'],
          rows)


def show_lives(place):
    job = os.path.join(place.folder, 'job')
    os.mkdir(job)
    variables = [f'LD_PRELOAD={place.library}', f'IOSEER_LIBRARY={place.library}', f'IOSEER_JOB={job}',
                 'IOSEER_TRACE_CAP=268435456', 'IOSEER_FILE_CAP=16384']
    programs = {'true': ['true'], "sh -c ': > file'": ['sh', '-c', f': > {place.folder}/file']}
    rows = []
    for name, command in programs.items():
        kinds = {'bare': (command, []), 'recorded': (command, variables), 'whole': (place.recorded(command), [])}
        times = {kind: [] for kind in kinds}
        for _ in range(LIVES):
            for kind, (words, settings) in kinds.items():
                times[kind].append(place.measure(words, *settings)[0] * 1e3)
        for kind, what in (('recorded', name), ('whole', f'{name}, all of ioseer record')):
            low, median, high = quartiles([now - bare for now, bare in zip(times[kind], times['bare'])])
            rows.append([what, f'{statistics.median(times["bare"]):.2f}', f'{median:.2f}', f'{low:.2f} to {high:.2f}',
                         f'{min(times[kind]) - min(times["bare"]):.2f}'])
    table(f'Added from start to exit, ms: {LIVES} runs (a recorded process should take less than 3 more)',
          ['program', 'bare', 'added', 'quartiles', 'minima'], rows)


def show_followed(place, rounds):
    """Programs that no library can be preloaded into. --ptrace follows one that can, so that both are the same."""
    rows = []
    for pattern in ('pread', 'pwrite', 'read', 'open-close'):
        bare = place.calls_command(pattern, FOLLOWED_CALLS, 1)
        pairs = [[calls_once(place, command) for command in (bare, place.recorded(bare, '--ptrace'))]
                 for _ in range(rounds)]
        low, ratio, high = quartiles([followed[0] / own[0] for own, followed in pairs])
        least = [min(pair[i][1] for pair in pairs) for i in range(2)]
        rows.append([pattern, *(f'{statistics.median(pair[i][0] for pair in pairs):.0f}' for i in range(2)),
                     f'{ratio:.0f}', f'{low:.0f} to {high:.0f}', f'{least[0]:.0f}', f'{least[1]:.0f}',
                     f'{least[1] / least[0]:.0f}'])
    table(f'A call of a program that is followed, ns: {rounds} rounds, one thread',
          ['call', 'bare', 'followed', 'ratio', 'quartiles', 'bare, minimum', 'followed, minimum', 'ratio'], rows)


def show_memory(place):
    rows = []
    for count, threads in ((200_000, 1), (4_000_000, 1), (200_000, 2), (20_000, 32)):
        bare = place.calls_command('pwrite', count, threads)
        peaks = [int(place.run(command).split()[3]) / 1024 for command in (bare, place.recorded(bare))]
        rows.append([f'{count:,} pwrites in {threads} thread{"s" * (threads > 1)}', f'{peaks[0]:.2f}',
                     f'{peaks[1] - peaks[0]:.2f}'])
    table('Peak resident memory, MiB (a process should take less than 16 more)', ['program', 'bare', 'added'], rows)


def main():
    place = Place(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    print(machine())
    show_calls(place, rounds)
    show_followed(place, rounds)
    show_lives(place)
    show_memory(place)


main()
