#!/usr/bin/env python3
"""bench/emulate.py BUILD [--seconds S] [--runs N] [--tables A,B]: does storage have the speed that was asked for?

fio measures it with direct I/O; the table has medians of several runs. The data lies in a directory in memory. `load`
is the machine's load average at the end of a row's runs. Storage looks too slow if other virtual machines use the
processors: runs that lost more than 1 % to them are repeated, up to twice as many. The least disturbed runs count, and
`stolen` is the largest loss among them.
The runs of a row vary by (standard deviation / mean) and spread by (largest - smallest) / median.

The goal, with --seconds 10: bandwidths within 2 %, latencies within 5 % or 20 us, runs that vary by less than 1 %. The
column `good` says whether a row reaches it, or what it misses.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import common

MIB = 1 << 20
FILE_BYTES = 64 * MIB
MOST_STOLEN = 0.01
PATTERNS = ('read', 'write', 'randread', 'randwrite')


class Storage:
    """A mount for as long as a with statement lasts."""

    def __init__(self, place, *options):
        self.place = place
        self.below, self.above = os.path.join(place.folder, 'below'), os.path.join(place.folder, 'above')
        self.options = options

    def __enter__(self):
        for folder in (self.below, self.above):
            os.makedirs(folder, exist_ok=True)
        for job in range(8):  # files exist before, so that fio need not make them at the speed of the storage
            path = os.path.join(self.below, f'f.{job}.0')
            if not os.path.exists(path):
                with open(path, 'wb') as out:
                    out.write(os.urandom(FILE_BYTES))
        subprocess.run([self.place.ioseer, 'emulate', '-q', *self.options, self.below, self.above], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([self.place.ioseer, 'emulate', '--stop', '--force', self.above], check=True)

    def fio(self, pattern, size, seconds, jobs=1):
        """(bytes per second, mean latency, median latency in seconds) of all jobs together."""
        out = self.place.run(['fio', '--name=f', f'--directory={self.above}', f'--rw={pattern}', f'--bs={size}',
                              f'--size={FILE_BYTES}', '--direct=1', '--ioengine=psync', f'--numjobs={jobs}',
                              f'--runtime={seconds}', '--time_based', '--group_reporting', '--randrepeat=0',
                              '--output-format=json'])
        job = json.loads(out)['jobs'][0]
        side = job['read' if 'read' in pattern else 'write']
        return (side['bw_bytes'], side['clat_ns']['mean'] / 1e9, side['clat_ns']['percentile']['50.000000'] / 1e9)


def short(size):
    return f'{size // MIB} MiB' if size >= MIB else f'{size // 1024} KiB'


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def variation(values):
    return statistics.stdev(values) / statistics.mean(values)


def load():
    return f'{os.getloadavg()[0]:.0f}'


def processor_times():
    with open('/proc/stat', encoding='ascii') as file:
        return [int(word) for word in file.readline().split()[1:9]]  # the last one is stolen time


def undisturbed(run, runs):
    """What some runs gave, and the share of processor time that was stolen from the most disturbed of them."""
    tried = []
    while len(tried) < 3 * runs and sum(stolen <= MOST_STOLEN for stolen, _, _ in tried) < runs:
        before = processor_times()
        value = run()
        spent = [now - then for now, then in zip(processor_times(), before)]
        tried.append((spent[7] / max(sum(spent), 1), len(tried), value))
    kept = sorted(tried)[:runs]
    return [value for _, _, value in kept], f'{100 * kept[-1][0]:.1f} %'


def told(row):
    """Prints each row as soon as it is measured, because a table takes minutes to half an hour."""
    print('  '.join(str(cell) for cell in row), file=sys.stderr)
    return row


BANDWIDTH_HEADER = ['pattern', 'request', 'jobs', 'asked for', 'seen', 'off by', 'vary', 'spread', 'load', 'stolen',
                    'good']


def bandwidth_row(storage, pattern, size, jobs, limit, seconds, runs):
    seen, stolen = undisturbed(lambda: storage.fio(pattern, size, seconds, jobs)[0] / MIB, runs)
    middle = statistics.median(seen)
    off = middle / limit - 1
    missed = [name for name, holds in (('rate', abs(off) <= 0.02), ('variation', variation(seen) < 0.01)) if not holds]
    return told([pattern, short(size), jobs, limit, f'{middle:.2f}', f'{100 * off:+.2f} %',
                 f'{100 * variation(seen):.2f} %', f'{100 * spread(seen):.2f} %', load(), stolen,
                 'not ' + ', '.join(missed) if missed else 'yes'])


def bandwidths(place, seconds, runs):
    rows = []
    for limit, sizes, jobs in ((20, (4096,), 1), (100, (65536, MIB, 4 * MIB), 1), (100, (MIB,), 4), (500, (MIB,), 1)):
        with Storage(place, '--read-bw', f'{limit}M', '--write-bw', f'{limit}M') as storage:
            rows += [bandwidth_row(storage, pattern, size, jobs, limit, seconds, runs)
                     for size in sizes for pattern in PATTERNS]
    common.table('Bandwidth, MiB/s', BANDWIDTH_HEADER, rows)


def throttled(place, seconds, runs):
    if os.getuid() != 0:
        print('\nThrottled targets: only root can make them')
        return
    for kind in ('xfs', 'ext4'):
        rows = []
        with Storage(place, '--block', '1G', '--fs', kind, '--read-bw', '100M', '--write-bw', '100M') as storage:
            place.run(['fio', '--name=f', f'--directory={storage.above}', '--rw=write', '--bs=4M', '--numjobs=4',
                       f'--size={FILE_BYTES}', '--direct=1'])  # the file system is empty
            rows += [bandwidth_row(storage, pattern, size, jobs, 100, seconds, runs)
                     for size, jobs in ((65536, 1), (4 * MIB, 1), (MIB, 4)) for pattern in PATTERNS]
        common.table(f'Bandwidth of a throttled {kind}, MiB/s', BANDWIDTH_HEADER, rows)


def latency_row(storage, pattern, size, jobs, latency, seconds, runs):
    seen, stolen = undisturbed(lambda: storage.fio(pattern, size, seconds, jobs), runs)
    middles = [median * 1e6 for _, _, median in seen]
    middle = statistics.median(middles)
    mean = statistics.median(mean * 1e6 for _, mean, _ in seen)
    off = middle - latency
    return told([pattern, short(size), jobs, latency, f'{middle:.0f}', f'{off:+.0f}', f'{100 * off / latency:+.1f} %',
                 f'{100 * spread(middles):.2f} %', f'{mean:.0f}', load(), stolen,
                 'yes' if abs(off) <= max(20, latency * 0.05) else 'not latency'])


def latencies(place, seconds, runs):
    rows = []
    for latency, cases in ((100, ((4096, 1), (4096, 4))), (300, ((4096, 1), (4096, 4))),
                           (1000, ((4096, 1), (4096, 4), (65536, 1))), (5000, ((4096, 1), (4096, 4), (MIB, 1)))):
        with Storage(place, '--latency', f'{latency}us') as storage:
            rows += [latency_row(storage, pattern, size, jobs, latency, seconds, runs)
                     for size, jobs in cases for pattern in PATTERNS[2:]]
    common.table('Latency, us', ['pattern', 'request', 'jobs', 'asked for', 'median', 'off by', '', 'spread', 'mean',
                                 'load', 'stolen', 'good'], rows)


def floor(place, seconds, runs):
    rows = []
    with Storage(place) as storage:
        for pattern in ('randread', 'randwrite'):
            for size, jobs in ((4096, 1), (4096, 4), (MIB, 1), (MIB, 4)):
                seen = [storage.fio(pattern, size, seconds, jobs) for _ in range(runs)]
                rate = statistics.median(bandwidth for bandwidth, _, _ in seen)
                rows.append([pattern, short(size), jobs, f'{statistics.median(m * 1e6 for _, _, m in seen):.0f}',
                             f'{rate / size:.0f}', f'{rate / MIB:.0f}', load()])
    common.table('What FUSE itself costs: no limits at all',
                 ['pattern', 'request', 'jobs', 'median, us', 'requests/s', 'MiB/s', 'load'], rows)


def presets(place, seconds, runs):
    rows = []
    for name in ('hdd', 'ssd', 'nvme', 'nvm', 'nfs-1g'):
        with Storage(place, '--preset', name) as storage:
            cells = [name]
            for pattern in ('read', 'write'):
                seen = [storage.fio(pattern, MIB, seconds)[0] / MIB for _ in range(runs)]
                cells += [f'{statistics.median(seen):.1f}', f'{100 * spread(seen):.2f} %']
            for pattern in ('randread', 'randwrite'):
                seen = [storage.fio(pattern, 4096, seconds)[2] * 1e6 for _ in range(runs)]
                cells.append(f'{statistics.median(seen):.0f}')
            rows.append(cells + [load()])
    common.table('Presets: 1 MiB in a row, MiB/s, and 4 KiB anywhere, us',
                 ['preset', 'read', 'spread', 'write', 'spread', 'read 4 KiB', 'write 4 KiB', 'load'], rows)


TABLES = {'bandwidths': bandwidths, 'latencies': latencies, 'throttled': throttled, 'floor': floor, 'presets': presets}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--seconds', type=int, default=2)
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--tables', default=','.join(TABLES), help='which of %(default)s')
    words = parser.parse_args()
    place = common.Place(words.build)
    print(f'{common.machine()}; {words.runs} runs of {words.seconds} s')
    for name in words.tables.split(','):
        TABLES[name](place, words.seconds, words.runs)


main()
