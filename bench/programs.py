#!/usr/bin/env python3
"""bench/programs.py BUILD [--runs N] [--ranks LIST] [--mpi NAME] [--programs LIST]: do replays take as long as programs
whose ranks do not all do the same?

Each program is recorded in memory. Then program and replay alternate, and the table compares the medians of their I/O
times: of all phases, transfers and other operations. `own` is the variation of the program itself: (third quartile -
first) / median of its runs. A replay is good if its error is below 10 %, or below twice the program's own variation.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess

import common

# name: program, its options
PROGRAMS = {
    'look': ('first', '--mode look --size 1M'),
    'header posix': ('first', '--mode posix --size 1M'),
    'header stdio': ('first', '--mode stdio --size 1M'),
    'halves': ('groups', '--mode halves --size 1M'),
    'nodes': ('groups', '--mode nodes --size 1M'),
    'again': ('groups', '--mode again --size 512k'),
    'between': ('groups', '--mode between --size 1M'),
    'turns shared': ('turns', '--files shared --size 512k'),
    'turns own': ('turns', '--files own --size 512k --at-once 2'),
    'variables': ('variables', '--size 256k'),
    'hdf5 collective': ('hdf5', '--metadata collective --rows 256 --columns 256'),
    'hdf5 independent': ('hdf5', '--metadata independent --data independent --rows 256 --columns 256'),
}
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
SECONDS = 120  # for a replay
GOOD = 0.1


class Program:
    def __init__(self, place, name, ranks, mpi):
        self.place = place
        program, options = PROGRAMS[name]
        path = os.path.join(place.examples, f'{program}-{mpi}')
        self.command = [*LAUNCHERS[mpi], '-n', str(ranks), path, *options.split()]
        self.model = os.path.join(place.folder, 'program.model')

    def record(self):
        """Seconds of the I/O of a run; leaves its model."""
        where = os.path.join(self.place.folder, 'program')
        os.mkdir(where)
        try:
            subprocess.run(self.place.recorded(self.command), check=True, cwd=where, stdout=subprocess.DEVNULL)
        finally:
            shutil.rmtree(where)
        self.place.run([self.place.ioseer, 'model', '-q', self.place.log, '-o', self.model + '.again'])
        with open(self.model + '.again', encoding='utf-8', errors='surrogateescape') as file:
            phases = json.load(file)['observed']['phases']
        return sum(phase['duration'] + phase['other'] for phase in phases)

    def replay(self):
        out = subprocess.run([self.place.ioseer, 'replay', self.model, '--on', self.place.folder, '--no-similarity',
                              '--json'], check=True, stdout=subprocess.PIPE, text=True, timeout=SECONDS).stdout
        return sum(phase['time'] + phase['other'] for phase in json.loads(out)['phases'])


def compare(program, runs):
    """The cells of a row: times in ms, variation, error, whether that is good."""
    program.record()
    os.replace(program.model + '.again', program.model)
    own, replayed = [], []
    try:
        for _ in range(runs):
            own.append(program.record())
            replayed.append(program.replay())
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return [f'{1000 * statistics.median(own):.1f}', '', 'no end', '', 'no']
    low, middle, high = common.quartiles(own)
    variation, error = (high - low) / middle, statistics.median(replayed) / middle - 1
    return [f'{1000 * middle:.1f}', f'{100 * variation:.1f} %', f'{1000 * statistics.median(replayed):.1f}',
            f'{100 * error:+.1f} %', 'yes' if abs(error) <= max(GOOD, 2 * variation) else 'no']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--ranks', default='4,9,16')
    parser.add_argument('--mpi', default='mpich,openmpi')
    parser.add_argument('--programs', default=','.join(PROGRAMS))
    words = parser.parse_args()
    place = common.Place(words.build)
    place.examples = os.path.join(os.path.abspath(words.build), 'examples')
    print(f'{common.machine()}; medians of {words.runs}')
    for mpi in words.mpi.split(','):
        for ranks in words.ranks.split(','):
            rows = [[name, *compare(Program(place, name, ranks, mpi), words.runs)] for name in words.programs.split(',')
                    if os.path.exists(os.path.join(place.examples, f'{PROGRAMS[name][0]}-{mpi}'))]
            common.table(f'I/O time of {ranks} ranks, {mpi}, ms', ['program', 'program', 'own', 'replay', 'error', 'good'],
                         rows)


if __name__ == '__main__':
    main()
