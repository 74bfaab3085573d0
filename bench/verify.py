#!/usr/bin/env python3
"""bench/verify.py BUILD [--programs LIST] [--devices LIST] [--hints] [--repeat N] [--keep FOLDER]: does whatif name the right way?

Each program is recorded once, on the machine's own storage. `whatif --verify` then calculates all ways for each device, and
replays the basic ones and the best ones, in turns. A case is right if the way named best was the fastest of those replayed, or
as fast within the noise: the intervals of the two medians meet.

With --hints the program itself runs with what whatif prints: each row is a way that needs only hints. Its time must lie in the
interval that whatif gave for it.
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import common
import devices

PROGRAMS = {
    'ior': ('ior', '--segments 12 --block 1M --transfer 256k'),
    'ior-rows': ('ior', '--segments 16 --block 1M --transfer 1M --collective'),
    'ior-small': ('ior', '--segments 1 --block 2M --transfer 8k'),
    'madbench': ('madbench', '--bins 4 --size 2M --work 1000 --api mpiio'),
    'btio': ('btio', '--grid 64 --steps 10 --interval 5'),
    's3d': ('s3d', '--edge 24 --checkpoints 4 --mode collective'),
    'hdf5': ('hdf5', '--steps 3 --rows 256 --columns 512'),
    'hdf5-all': ('hdf5', '--steps 3 --rows 256 --columns 512 --data collective --metadata collective'),
    'flash': ('flash', '--blocks 8 --edge 16'),
}
# Ways that hints make of the program's calls, for programs with collective calls.
WAYS = ['collective', 'collective,cb_nodes=2', 'collective,cb_buffer_size=1M', 'collective,cb_nodes=2,cb_buffer_size=256K',
        'independent,sieving=on', 'independent,sieving=off']
PROCESSES = {'btio': 4}  # it runs on square numbers of processes; the others on 2


class Program:
    """A model of an example, recorded elsewhere."""

    def __init__(self, place, folder, name):
        self.place, self.folder, self.name = place, folder, name
        self.launcher = ['mpiexec.mpich', '-n', str(PROCESSES.get(name, 2)), os.path.join(folder, 'first')]
        self.model = os.path.join(folder, name + '.model')
        self.run(folder, self.model)

    def run(self, where, model, hints=None):
        """Seconds of the I/O of a run; leaves its model."""
        program, options = PROGRAMS[self.name]
        log, where = os.path.join(self.folder, 'log.ioseer'), os.path.join(where, 'program')
        path = os.path.join(self.place.examples, f'{program}-mpich')
        variables = [f'ROMIO_HINTS={hints}'] if hints else []
        os.mkdir(where)
        try:
            self.place.run(['env', *variables, self.place.ioseer, 'record', '-q', '--force', '-o', log, '--', *self.launcher, path,
                            '--directory', where, *options.split()])
        finally:
            shutil.rmtree(where)
        self.place.run([self.place.ioseer, 'model', '-q', log, '-o', model])
        with open(model, encoding='utf-8', errors='surrogateescape') as file:
            return sum(phase['duration'] for phase in json.load(file)['observed']['phases'])

    def ask(self, device, *words):
        launcher = ' '.join([*self.launcher[:2], '{np}', *self.launcher[3:]])
        return json.loads(self.place.run([self.place.ioseer, 'whatif', '-q', self.model, '--on', device.path, '--json', '--time', '20s',
                                          '--launcher', launcher, *words]))


def milliseconds(interval):
    return f'{1000 * interval["time"]:.0f} ({1000 * interval["low"]:.0f}-{1000 * interval["high"]:.0f})'


def percent(value):
    return f'{100 * value:+.1f}'


class Verified:
    """Rows of --verify."""

    header = ['program', 'device', 'named best', 'calculated, ms', 'replayed, ms', 'fastest', 'replayed, ms', 'slower by, %', '',
              'errors, %: median', 'largest', 'of', 'inside']

    def __init__(self, repeat, out):
        self.repeat, self.out = repeat, out
        self.rows, self.right, self.errors, self.inside = [], 0, [], 0

    def add(self, program, device):
        found = program.ask(device, '--verify', '--repeat', str(self.repeat))
        if self.out:
            with open(os.path.join(self.out, f'{program.name}-{device.name}.json'), 'w', encoding='utf-8') as file:
                json.dump(found, file)
        options = [option for option in found['options'] if option['verified']]
        named = next((option for option in options if option['name'] == found['best']), None)
        fastest = min(options, key=lambda option: option['verified']['time'])
        if not named:
            reason = next(option['reason'] for option in found['options'] if option['name'] == found['best'])
            self.keep([program.name, device.name, found['best'], reason, '', fastest['name'], milliseconds(fastest['verified']), '', 'wrong'])
            return
        best, slowest = fastest['verified'], named['verified']
        right = slowest['low'] <= best['high']
        self.right += right
        errors = {option['name']: option['time'] / option['verified']['time'] - 1 for option in options}
        worst = max(errors, key=lambda name: abs(errors[name]))
        self.errors += errors.values()
        inside = sum(option['low'] <= option['verified']['time'] <= option['high'] for option in options)
        self.inside += inside
        self.keep([program.name, device.name, named['name'], milliseconds(named), milliseconds(slowest), fastest['name'], milliseconds(best),
                   percent(slowest['time'] / best['time'] - 1), 'right' if right else 'wrong',
                   f'{100 * statistics.median(map(abs, errors.values())):.1f}', percent(errors[worst]), worst, f'{inside} of {len(options)}'])

    def keep(self, row):
        self.rows.append(row)
        print(*row, sep=' | ', flush=True)  # what is known if it does not end

    def print(self):
        common.table(f'The best way, replayed {self.repeat} times', self.header, self.rows)
        errors = [abs(error) for error in self.errors]
        print(f'\n{self.right} of {len(self.rows)} are right; {len(errors)} ways: mean error {100 * statistics.mean(errors):.1f} %, median '
              f'{100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.1f} %, {self.inside} in their interval')


class Hinted:
    """Rows of --hints."""

    header = ['program', 'device', 'way', 'calculated, ms', 'program with its hints, ms', 'own CV', 'error, %', 'inside']

    def __init__(self, repeat):
        self.repeat, self.rows, self.inside, self.errors = repeat, [], 0, []

    def add(self, program, device):
        found = program.ask(device, *(word for way in WAYS for word in ('--variant', way)))
        options = [option for option in found['options'] if option['hints']]
        seconds = [[] for _ in options]
        for number in range(self.repeat + 1):  # the first one finds nothing in any cache
            for place, option in enumerate(options):
                hints = os.path.join(program.folder, 'hints')
                with open(hints, 'w', encoding='utf-8') as file:
                    file.writelines(f'{name} {value}\n' for name, value in option['hints'].items())
                took = program.run(device.path, os.path.join(program.folder, 'run.model'), hints)
                seconds[place] += [took] if number else []
        for option, runs in zip(options, seconds):
            self.keep(program, device, option, runs)

    def keep(self, program, device, option, runs):
        middle = statistics.median(runs)
        inside = option['low'] <= middle <= option['high']
        self.inside += inside
        self.errors.append(abs(option['time'] / middle - 1))
        row = [program.name, device.name, option['name'], milliseconds(option), f'{1000 * middle:.0f}',
               f'{100 * statistics.stdev(runs) / statistics.mean(runs):.1f} %', percent(option['time'] / middle - 1), 'yes' if inside else 'no']
        self.rows.append(row)
        parts = ' '.join(f'{name} {1000 * value:.0f}' for name, value in option['parts'].items())
        print(*row, parts, sep=' | ', flush=True)  # what is known if it does not end

    def print(self):
        common.table(f'Programs with the hints that whatif prints, medians of {self.repeat}', self.header, self.rows)
        print(f'\n{self.inside} of {len(self.rows)} in their interval; mean error {100 * statistics.mean(self.errors):.1f} %, '
              f'largest {100 * max(self.errors):.1f} %')


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # mounts go away
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--programs', default='ior,madbench,btio,s3d,hdf5')
    parser.add_argument('--devices', default=','.join([*devices.DEVICES, 'disk']))
    parser.add_argument('--hints', action='store_true')
    parser.add_argument('--repeat', type=int, default=5)
    parser.add_argument('--keep', metavar='FOLDER', help='leave what whatif says in FOLDER')
    words = parser.parse_args()
    place = common.Place(words.build)
    place.examples = os.path.join(os.path.abspath(words.build), 'examples')
    results = Hinted(words.repeat) if words.hints else Verified(words.repeat, words.keep)
    start = time.monotonic()
    print(f'{common.machine()}; load average {os.getloadavg()[0]:.1f}')
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='ioseer-verify-'))
        devices.write_first(folder)
        programs = [Program(place, folder, name) for name in words.programs.split(',')]
        for name in words.devices.split(','):
            device = stack.enter_context(devices.open_device(place, folder, name))
            for program in programs:
                try:
                    results.add(program, device)
                except subprocess.CalledProcessError as error:
                    print(program.name, device.name, error, error.stderr, flush=True)
    results.print()
    print(f'{time.monotonic() - start:.0f} s, load average {os.getloadavg()[0]:.1f}')


main()
