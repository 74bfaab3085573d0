#!/usr/bin/env python3
"""bench/replay.py BUILD [--runs N] [--targets LIST] [--examples LIST]: does a replay take as long as its program?

Each example is recorded in memory, so that its model contains nothing about the storage. Then program and replay
alternate on each target. The table compares the medians of their I/O times per family of phases, for transfers and for
other operations. `own` is the variation of the program itself: (third quartile - first) / median of its runs.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess

import common

# name: program, its options, processes, MPI
EXAMPLES = {
    'madbench mpiio': ('madbench', '--bins 16 --size 2M', 2, 'mpich'),
    'madbench posix': ('madbench', '--bins 16 --size 2M --api posix --unique', 2, 'mpich'),
    'madbench stdio': ('madbench', '--bins 32 --size 256k --api stdio', 2, 'openmpi'),
    'madbench async': ('madbench', '--bins 16 --size 2M --api async --work 3000', 2, 'mpich'),
    'btio': ('btio', '--grid 36 --steps 40 --interval 5', 4, 'mpich'),
    's3d': ('s3d', '--edge 24 --checkpoints 2', 4, 'mpich'),
    'ior random': ('ior', '--block 16M --transfer 128k --random', 2, 'openmpi'),
    'ior collective': ('ior', '--block 32M --transfer 1M --collective', 2, 'mpich'),
    'ior 4 KiB': ('ior', '--block 4M --transfer 4k --api posix', 2, 'mpich'),
    'small': ('small', '--files 60 --work 500', 2, 'mpich'),
    'metadata': ('metadata', '--files 200 --size 1000', 2, 'mpich'),
    'checkpoint': ('checkpoint', '-s 4 -n 128', 1, None),
}
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'], None: []}
TARGETS = {
    'ssd': ['--preset', 'ssd'],
    'nfs-1g': ['--preset', 'nfs-1g'],
    'hdd': ['--preset', 'hdd'],
    'cached': ['--preset', 'nfs-1g', '--cache', 'kernel'],
    'slow': ['--read-bw', '60M', '--write-bw', '50M', '--latency', '500us', '--meta-latency', '500us'],
    'xfs': ['--block', '1G', '--read-bw', '100M', '--write-bw', '100M', '--dirty-limit', '8M'],
}
SHORT = 0.005  # seconds: families that take less share a row


class Target:
    """Storage for as long as a with statement lasts."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.below, self.path = os.path.join(place.folder, 'below'), os.path.join(place.folder, 'above')

    def __enter__(self):
        for folder in (self.below, self.path):
            os.makedirs(folder, exist_ok=True)
        subprocess.run([self.place.ioseer, 'emulate', '-q', *TARGETS[self.name], self.below, self.path], check=True)
        return self

    def settle(self):
        """Writes what the last run left in memory."""
        subprocess.run(['sync', '-f', self.path], check=True)

    def __exit__(self, *_):
        subprocess.run([self.place.ioseer, 'emulate', '--stop', self.path], check=True)


class Example:
    def __init__(self, place, name):
        self.place, self.name = place, name
        program, options, ranks, mpi = EXAMPLES[name]
        path = os.path.join(place.examples, f'{program}-{mpi}' if mpi else program)
        self.command = [*LAUNCHERS[mpi], *(['-n', str(ranks)] if mpi else []), path, *options.split()]
        self.model = os.path.join(place.folder, 'program.model')

    def record(self, directory):
        """The times of a run's phases, as (transfers, others) by phase, and the model."""
        where = os.path.join(directory, 'program')
        os.mkdir(where)
        try:
            subprocess.run(self.place.recorded(self.command), check=True, cwd=where, stdout=subprocess.DEVNULL)
        finally:
            shutil.rmtree(where)
        again = os.path.join(self.place.folder, 'again.model')
        self.place.run([self.place.ioseer, 'model', '-q', self.place.log, '-o', again])
        with open(again, encoding='utf-8', errors='surrogateescape') as file:
            model = json.load(file)
        phases = model['observed']['phases']
        return again, [phase['family'] for phase in phases], [(phase['duration'], phase['other']) for phase in phases]

    def replay(self, directory):
        out = self.place.run([self.place.ioseer, 'replay', self.model, '--on', directory, '--no-similarity', '--json'])
        return [(phase['time'], phase['other']) for phase in json.loads(out)['phases']]


def sums(times, families):
    """Times of phases to times of (family, transfers or others)."""
    found = {}
    for family, pair in zip(families, times):
        for which in range(2):
            found[family, which] = found.get((family, which), 0) + pair[which]
    found['total'] = sum(sum(pair) for pair in times)
    return found


def label(key, families):
    if key == 'total':
        return 'all'
    numbers = [i + 1 for i, family in enumerate(families) if family == key[0]]
    ids = f'{numbers[0]}' if len(numbers) == 1 else f'{numbers[0]}, {numbers[1]} …'
    return ids + (' others' if key[1] else '')


def compare(example, target, runs):
    model, families, _ = example.record(example.place.folder)
    os.replace(model, example.model)
    own, replayed = [], []
    for _ in range(runs):
        target.settle()
        _, again, times = example.record(target.path)
        own.append(sums(times, again))
        own[-1]['phases'] = again
        target.settle()
        replayed.append(sums(example.replay(target.path), families))
    rows = []
    # Programs without MPI are divided into phases by their pauses, which may differ on other storage.
    keys = [key for key in replayed[0] if key == 'total' or all(run['phases'] == families for run in own)]
    for key in keys:
        mine = [run[key] for run in own]
        theirs = [run[key] for run in replayed]
        middle, again = statistics.median(mine), statistics.median(theirs)
        if key != 'total' and max(middle, again) < SHORT:
            continue
        low, _, high = common.quartiles(mine)
        rows.append([example.name, label(key, families), f'{1000 * middle:.1f}', f'{100 * (high - low) / middle:.1f} %',
                     f'{1000 * again:.1f}', f'{100 * (again / middle - 1):+.1f} %'])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--targets', default='ssd,nfs-1g,xfs')
    parser.add_argument('--examples', default=','.join(EXAMPLES))
    words = parser.parse_args()
    place = common.Place(words.build)
    place.examples = os.path.join(os.path.abspath(words.build), 'examples')
    print(f'{common.machine()}; medians of {words.runs}')
    for name in words.targets.split(','):
        rows = []
        with Target(place, name) as target:
            for example in words.examples.split(','):
                rows += compare(Example(place, example), target, words.runs)
        common.table(f'I/O time on {name}, ms', ['example', 'phases', 'program', 'own', 'replay', 'error'], rows)


if __name__ == '__main__':
    main()
