#!/usr/bin/env python3
"""bench/collective.py BUILD [--runs N] [--devices LIST] [--layouts LIST] [--patterns LIST]: does whatif calculate the right
times for collective and independent I/O?

Each pattern is recorded once elsewhere, with collective calls. `whatif` calculates from that what the collective and the
independent way take on each device; the models contain nothing about the devices. Then the program itself runs in both ways,
in turns: its calls stay collective, and hints of ROMIO choose the way. A row has the median I/O time of the program, how much
its runs vary, and the errors of the extended and the published model in percent. `faster` says whether the model names the
faster way, where the two differ by more than the noise.
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'hosts'))

LAYOUTS = {'2': (1, 2), '4': (1, 4), '1+1': (2, 2), '2+2': (2, 4)}  # nodes, processes; nodes are network namespaces
# The program, its options when it is collective and when it is independent, and the variant that is like the latter.
PATTERNS = {
    'contiguous': ('ior', '--segments 5 --block 2M --transfer 512k --collective', '', 'independent'),
    'strided': ('ior', '--segments 24 --block 1M --transfer 1M --collective', '', 'independent'),
    'nested': ('s3d', '--edge 48 --checkpoints 1 --mode collective', '--mode sieving', 'independent,sieving=on'),
}
WAYS = ('collective', 'independent')
HINTS = {'collective': 'romio_cb_write enable\nromio_cb_read enable\n',
         'independent': 'romio_cb_write disable\nromio_cb_read disable\n'}
GOOD, NOISE_TIMES = 0.1, 2


class Layout:
    """Where processes run. Nodes see what is mounted when they are made."""

    def __init__(self, folder, name):
        self.name, self.folder = name, folder
        self.nodes, self.processes = LAYOUTS[name]
        self.room, self.launcher = None, ['mpiexec.mpich', '-n', '{np}']

    def __enter__(self):
        if self.nodes > 1:
            import hosts_case  # pylint: disable=import-outside-toplevel
            where, names = os.path.join(self.folder, 'hosts.' + self.name), ['alpha', 'beta']
            os.mkdir(where)
            self.room = hosts_case.Room(where, names)
            self.launcher = [word.format(agent=where + '/agent', hosts=','.join(names)) for word in hosts_case.LAUNCHERS['mpich']]
            self.launcher += ['-ppn', str(self.processes // self.nodes), '-n', '{np}']
        self.launcher.append(devices.write_first(self.folder))
        return self

    def __exit__(self, *_):
        if self.room:
            self.room.close()
            shutil.rmtree(os.path.join(self.folder, 'hosts.' + self.name))

    def run(self, words, **variables):
        words = ['env', *(f'{name}={value}' for name, value in variables.items()), *words]
        if self.room:
            words = self.room.on('alpha', *words)
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


class Case:
    """A pattern and a layout."""

    def __init__(self, place, layout, pattern, folder):
        self.place, self.layout, self.pattern, self.folder = place, layout, pattern, folder
        self.model = os.path.join(folder, 'source.model')
        self.record(folder, 'collective', self.model)

    def command(self, where, way):
        program, options, independent, _ = PATTERNS[self.pattern]
        more = independent if way == 'independent' else ''
        launcher = [word.format(np=self.layout.processes) for word in self.layout.launcher]
        path = os.path.join(self.place.examples, f'{program}-mpich')
        return [*launcher, path, '--directory', where, *options.split(), *more.split()]

    def variant(self, way):
        return PATTERNS[self.pattern][3] if way == 'independent' else way

    def record(self, where, way, model):
        """Seconds of the I/O of a run; leaves its model."""
        hints, log = (os.path.join(self.folder, name) for name in ('hints', 'log.ioseer'))
        with open(hints, 'w', encoding='utf-8') as file:
            file.write(HINTS[way])
        where = os.path.join(where, 'program')
        os.mkdir(where)
        try:
            self.layout.run([self.place.ioseer, 'record', '-q', '--force', '-o', log, '--', *self.command(where, way)], ROMIO_HINTS=hints)
        finally:
            shutil.rmtree(where)
        self.place.run([self.place.ioseer, 'model', '-q', log, '-o', model])
        with open(model, encoding='utf-8', errors='surrogateescape') as file:
            return sum(phase['duration'] for phase in json.load(file)['observed']['phases'])

    def calculate(self, device):
        words = [word for way in WAYS for word in ('--variant', self.variant(way))]
        found = self.layout.run([self.place.ioseer, 'whatif', '-q', self.model, '--on', device.path, *words, '--json', '--time', '12s', '--launcher',
                                 ' '.join(self.layout.launcher)])
        options = {option['name']: option for option in json.loads(found)['options']}
        return {way: options[self.variant(way)] for way in WAYS}

    def run(self, device, way):
        return self.record(device.path, way, os.path.join(self.folder, 'run.model'))


def off(calculated, measured):
    return calculated / measured - 1 if calculated is not None else None


def percent(value):
    return '' if value is None else f'{100 * value:+.1f}'


class Results:
    def __init__(self):
        self.rows, self.errors, self.published, self.bad = [], [], [], 0
        self.faster = []

    def add(self, case, device, found, seconds):
        middle = {way: statistics.median(seconds[way]) for way in WAYS}
        variation = {way: statistics.stdev(seconds[way]) / statistics.mean(seconds[way]) for way in WAYS}
        noise = 2 * sum(variation[way] * middle[way] for way in WAYS)
        clear = abs(middle['collective'] - middle['independent']) > noise
        right = {model: min(WAYS, key=lambda way, of=model: found[way][of] or 0) == min(WAYS, key=middle.get) for model in ('time', 'published')}
        if clear:
            self.faster.append(right)
        for way in WAYS:
            error, published = off(found[way]['time'], middle[way]), off(found[way]['published'], middle[way])
            good = abs(error) <= max(GOOD, NOISE_TIMES * variation[way])
            inside = sum(found[way]['low'] <= value <= found[way]['high'] for value in seconds[way])
            self.bad += not good
            self.errors.append(abs(error))
            self.published += [abs(published)] if published is not None else []
            parts = found[way]['parts']
            row = [device.name, case.layout.name, case.pattern, way, f'{1000 * middle[way]:.0f}', f'{100 * variation[way]:.1f} %',
                              percent(error), percent(published), f'{inside} of {len(seconds[way])}', 'yes' if good else 'no',
                              '' if not clear else 'right' if right['time'] else 'wrong',
                              ' '.join(f'{1000 * parts[name]:.0f}' for name in ('agreeing', 'shuffling', 'calling', 'storage', 'waiting'))]
            self.rows.append(row)
            print(*row, sep=' | ', flush=True)  # what is known if it does not end

    def print(self):
        common.table('Errors of whatif, %', ['device', 'processes', 'pattern', 'way', 'program, ms', 'own CV', 'extended', 'published',
                                             'inside', 'good', 'faster', 'ms of agreeing shuffling calling storage waiting'], self.rows)
        print(f'\n{len(self.errors)} cases: mean error {100 * statistics.mean(self.errors):.1f} %, largest {100 * max(self.errors):.1f} %, '
              f'{self.bad} beyond max(10 %, twice the own variation); the published model: mean '
              f'{100 * statistics.mean(self.published or [0]):.1f} %, largest {100 * max(self.published or [0]):.1f} %')
        print(f'the faster way: {sum(one["time"] for one in self.faster)} of {len(self.faster)} right, '
              f'by the published model {sum(one["published"] for one in self.faster)}')


def compare(case, device, runs, results):
    found = case.calculate(device)
    seconds = {way: [] for way in WAYS}
    for way in WAYS:
        case.run(device, way)  # the first one finds nothing in any cache
    for _ in range(runs):
        for way in WAYS:
            seconds[way].append(case.run(device, way))
    results.add(case, device, found, seconds)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # mounts go away
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--devices', default=','.join(devices.DEVICES))
    parser.add_argument('--layouts', default='2,1+1')
    parser.add_argument('--patterns', default=','.join(PATTERNS))
    words = parser.parse_args()
    place = common.Place(words.build)
    place.examples = os.path.join(os.path.abspath(words.build), 'examples')
    start, results = time.monotonic(), Results()
    print(f'{common.machine()}; medians of {words.runs}')
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix='ioseer-collective-'))
        targets = [stack.enter_context(devices.open_device(place, folder, name)) for name in words.devices.split(',')]
        for name in words.layouts.split(','):
            layout = stack.enter_context(Layout(folder, name))
            for pattern in words.patterns.split(','):
                case = Case(place, layout, pattern, folder)
                for device in targets:
                    compare(case, device, words.runs, results)
    results.print()
    print(f'{time.monotonic() - start:.0f} s')


main()
