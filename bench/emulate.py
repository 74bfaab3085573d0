#!/usr/bin/env python3
"""bench/emulate.py BUILD [--seconds S] [--runs N]: does emulated storage have the speed that was asked for?

fio's word for it, as medians of several runs, with direct I/O. Below is a directory in memory. `load` is the machine's
load average at the end of a row's runs; the spread of a row is (largest - smallest) / median of its runs.
"""
import argparse
import json
import os
import statistics
import subprocess

import common

MIB = 1 << 20
FILE_BYTES = 64 * MIB
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
        for job in range(8):  # files are there before, so that fio need not make them at the speed of the storage
            path = os.path.join(self.below, f'f.{job}.0')
            if not os.path.exists(path):
                with open(path, 'wb') as out:
                    out.write(os.urandom(FILE_BYTES))
        subprocess.run([self.place.ioseer, 'emulate', '-q', *self.options, self.below, self.above], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([self.place.ioseer, 'emulate', '--stop', self.above], check=True)

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
    return f'{100 * (max(values) - min(values)) / statistics.median(values):.2f} %'


def load():
    return f'{os.getloadavg()[0]:.0f}'


def bandwidths(place, seconds, runs):
    rows = []
    for limit, sizes, jobs in ((20, (4096, 16384), 1), (100, (65536, MIB, 4 * MIB), 1), (100, (65536, MIB), 4),
                               (500, (MIB, 4 * MIB), 1)):
        with Storage(place, '--read-bw', f'{limit}M', '--write-bw', f'{limit}M') as storage:
            for size in sizes:
                for pattern in PATTERNS:
                    seen = [storage.fio(pattern, size, seconds, jobs)[0] / MIB for _ in range(runs)]
                    middle = statistics.median(seen)
                    rows.append([pattern, short(size), jobs, limit, f'{middle:.2f}', f'{100 * (middle / limit - 1):+.2f} %',
                                 spread(seen), load()])
    common.table('Bandwidth, MiB/s', ['pattern', 'request', 'jobs', 'asked for', 'seen', 'off by', 'spread', 'load'], rows)


def latencies(place, seconds, runs):
    rows = []
    for latency in (100, 300, 1000, 5000):
        with Storage(place, '--latency', f'{latency}us') as storage:
            for jobs in (1, 4):
                for pattern in ('randread', 'randwrite'):
                    seen = [storage.fio(pattern, 4096, seconds, jobs) for _ in range(runs)]
                    middle = statistics.median(median * 1e6 for _, _, median in seen)
                    mean = statistics.median(mean * 1e6 for _, mean, _ in seen)
                    rows.append([pattern, jobs, latency, f'{middle:.0f}', f'{middle - latency:+.0f}',
                                 f'{100 * (middle / latency - 1):+.1f} %', f'{mean:.0f}', load()])
    common.table('Latency of 4 KiB requests, us', ['pattern', 'jobs', 'asked for', 'median', 'off by', '', 'mean', 'load'],
                 rows)


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
                cells += [f'{statistics.median(seen):.1f}', spread(seen)]
            for pattern in ('randread', 'randwrite'):
                seen = [storage.fio(pattern, 4096, seconds)[2] * 1e6 for _ in range(runs)]
                cells.append(f'{statistics.median(seen):.0f}')
            rows.append(cells + [load()])
    common.table('Presets: 1 MiB in a row, MiB/s, and 4 KiB anywhere, us',
                 ['preset', 'read', 'spread', 'write', 'spread', 'read 4 KiB', 'write 4 KiB', 'load'], rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--tables', default='bandwidths,latencies,floor,presets')
    words = parser.parse_args()
    place = common.Place(words.build)
    print(f'{common.machine()}; {words.runs} runs of {words.seconds:g} s')
    for name in words.tables.split(','):
        {'bandwidths': bandwidths, 'latencies': latencies, 'floor': floor, 'presets': presets}[name](
            place, words.seconds, words.runs)


main()
