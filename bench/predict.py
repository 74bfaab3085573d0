#!/usr/bin/env python3
"""bench/predict.py BUILD [--runs N] [--targets LIST] [--examples LIST] [--profiles]: how good are predictions?

Each example is recorded on one target and predicted on the others by every method. The models contain nothing about the
other targets. Then the example runs on them. All runs alternate over the targets. A row has the median I/O time of the
program, how much its runs vary, and for each method the error in percent: of the total and, after the slash, of the
phases weighted by their time. `inside` is the number of runs of the program in the interval of `replay`. With
--profiles each target is measured first, for the analytic method, and the result of `measure` is compared with the
target's settings; otherwise that column stays empty. `default` is the error of the total of a `predict` with its default
precision on this target alone, how many runs it made, and how many times as long as the I/O of the program it took.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import time

import common
import replay

MIB = 1 << 20
METHODS = ('replay', 'analytic', 'mendez', 'meswani')
EXAMPLES = {  # as in replay.py, but some seconds long on the slowest target
    'madbench mpiio': ('madbench', '--bins 8 --size 1M', 2, 'mpich'),
    'madbench posix': ('madbench', '--bins 8 --size 1M --api posix --unique', 2, 'mpich'),
    'btio': ('btio', '--grid 36 --steps 20 --interval 5', 4, 'mpich'),
    's3d': ('s3d', '--edge 24 --checkpoints 2', 4, 'mpich'),
    'ior random': ('ior', '--block 8M --transfer 256k --random', 2, 'openmpi'),
    'ior collective': ('ior', '--block 16M --transfer 1M --collective', 2, 'mpich'),
    'ior 4 KiB': ('ior', '--block 1M --transfer 4k --api posix', 2, 'mpich'),
    'small': ('small', '--files 20 --work 500', 2, 'mpich'),
    'checkpoint': ('checkpoint', '-s 4 -n 64', 1, None),
}


class Target(replay.Target):
    """One of several at the same time, under its own name."""

    def __init__(self, place, name):
        super().__init__(place, name)
        self.below, self.path = (os.path.join(place.folder, f'{name}.{which}') for which in ('below', 'above'))
        self.profile = None

    def measure(self):
        self.profile = os.path.join(self.place.folder, f'{self.name}.system')
        subprocess.run([self.place.ioseer, 'measure', '-q', '--quick', self.path, '-o', self.profile], check=True)


def given(place, name):
    """What a target was asked for: bytes per second and seconds."""
    words = dict(zip(replay.TARGETS[name][::2], replay.TARGETS[name][1::2]))
    if '--preset' in words:
        presets = json.loads(place.run([place.ioseer, 'emulate', '--presets', '--json']))['presets']
        found = next(preset for preset in presets if preset['name'] == words['--preset'])
        return {'read': found['read_bw'], 'write': found['write_bw'], 'latency': found['latency']}
    return {'read': int(words['--read-bw'][:-1]) * MIB, 'write': int(words['--write-bw'][:-1]) * MIB,
            'latency': int(words['--latency'][:-2]) / 1e6}


def profile_rows(target):
    """Bandwidths, and how long a single small request takes: the latency, or its transfer if that takes longer."""
    asked = given(target.place, target.name)
    with open(target.profile, encoding='utf-8') as file:
        system = json.load(file)
    rows = []
    for op in ('read', 'write'):
        wanted, found = asked[op] / MIB, system['peak'][op] / MIB
        rows.append([target.name, f'peak {op}, MiB/s', f'{wanted:.1f}', f'{found:.1f}',
                     f'{100 * (found / wanted - 1):+.1f} %'])
        small = next(point for point in system['points'] if point['op'] == op and point['size'] == 4096 and
                     point['mode'] == 'random' and point['np'] == 1)
        wanted, found = 1e6 * max(asked['latency'], 4096 / asked[op]), 1e6 * small['latency_p50']
        rows.append([target.name, f'4 KiB {op}, us', f'{wanted:.0f}', f'{found:.0f}', f'{found - wanted:+.0f} us'])
    return rows


def run_program(example, target, log):
    where = os.path.join(target.path, 'program')
    os.mkdir(where)
    try:
        subprocess.run([example.place.ioseer, 'record', '-q', '--force', '-o', log, '--', *example.command], check=True,
                       cwd=where, stdout=subprocess.DEVNULL)
    finally:
        shutil.rmtree(where)
    target.settle()


def predict(example, model, source, targets, runs):
    """{(target, method): its prediction}, and the file of all."""
    path = os.path.join(example.place.folder, 'predicted.json')
    words = [word for target in targets for word in ('--on', target.path)]
    words += [word for target in targets if target.profile for word in ('--system', target.profile)]
    methods = [method for method in METHODS if method != 'analytic' or source.profile]
    subprocess.run([example.place.ioseer, 'predict', '-q', model, *words, '--method', ','.join(methods), '--reference',
                    source.path, '--repeat', str(runs), '--json', '-o', path], check=True)
    with open(path, encoding='utf-8') as file:
        return path, json.load(file)


def predict_default(example, model, target, own):
    """What `predict` says without options, in what time."""
    path = os.path.join(example.place.folder, 'default.json')
    start = time.monotonic()
    subprocess.run([example.place.ioseer, 'predict', '-q', model, '--on', target.path, '--json', '-o', path], check=True)
    times = (time.monotonic() - start) / own
    with open(path, encoding='utf-8') as file:
        found, = json.load(file)['targets']
    return f'{100 * (found["total"] / own - 1):+.1f}, {found["runs"]} runs, {times:.1f} x'


def evaluate(place, predicted, name, method, logs):
    words = [word for log in logs for word in ('--measured', log)]
    command = [place.ioseer, 'evaluate', '--predicted', predicted, '--target', name, '--method', method, *words]
    done = subprocess.run([*command, '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def weighted(found):
    """The mean error of the phases, weighted by their time."""
    total = sum(phase['measured'] for phase in found['phases'])
    if not total:
        return 0
    return sum(phase['error_abs_pct'] * phase['measured'] for phase in found['phases'] if phase['measured']) / total


def best_of(prediction):
    """Like `best`, but only among directories: the intervals of a directory and its own profile always overlap."""
    replayed = sorted((one for one in prediction['targets'] if one['method'] == 'replay'), key=lambda one: one['total'])
    clear = len(replayed) > 1 and all(one['low'] > replayed[0]['high'] for one in replayed[1:])
    return replayed[0]['name'] if clear else None


def compare(example, source, targets, runs):
    place = example.place
    model = os.path.join(place.folder, 'source.ioseer')
    run_program(example, source, model)
    logs = {target.name: [] for target in targets}
    for run in range(runs):
        for target in targets:
            logs[target.name].append(os.path.join(place.folder, f'{target.name}.{run}.ioseer'))
            run_program(example, target, logs[target.name][-1])
    path, prediction = predict(example, model, source, targets, runs)
    rows, medians = [], {}
    for target in targets:
        cells, inside, own = [], '', None
        for method in METHODS:
            name = target.profile if method == 'analytic' else target.path
            found = name and evaluate(place, path, name, method, logs[target.name])
            cells.append(f'{found["total_error_pct"]:+.1f} / {weighted(found):.1f}' if found else '')
            if method == 'replay' and found:
                inside = f'{found["inside_interval"]} of {found["logs"]}'
                own = found
        if own:
            medians[target.path] = own['measured']
            rows.append([example.name, f'{source.name} → {target.name}', f'{1000 * own["measured"]:.1f}',
                         f'{100 * own["measured_cv"]:.1f} %', *cells, inside,
                         predict_default(example, model, target, own['measured'])])
        else:
            rows.append([example.name, f'{source.name} → {target.name}', 'other phases', '', *cells, '', ''])
    best, quickest = best_of(prediction), min(medians, key=medians.get) if medians else None
    if best and quickest:
        verdict = 'right' if best == quickest else f'wrong, {os.path.basename(quickest)}'
        rows.append([example.name, 'best', verdict, *[''] * 7])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--targets', default='ssd,nfs-1g,slow')
    parser.add_argument('--examples', default=','.join(EXAMPLES))
    parser.add_argument('--profiles', action='store_true')
    words = parser.parse_args()
    place = common.Place(words.build)
    place.examples = os.path.join(os.path.abspath(words.build), 'examples')
    print(f'{common.machine()}; medians of {words.runs}')
    replay.EXAMPLES = EXAMPLES
    rows, profiles = [], []
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(place, name)) for name in words.targets.split(',')]
        for target in targets if words.profiles else []:
            target.measure()
            profiles += profile_rows(target)
        for number, name in enumerate(words.examples.split(',')):
            source = targets[number % len(targets)]
            others = [target for target in targets if target is not source]
            rows += compare(replay.Example(place, name), source, others, words.runs)
    if profiles:
        common.table('What measure finds', ['target', 'what', 'given', 'measured', 'off by'], profiles)
    common.table('Errors of predictions, total / phases, %',
                 ['example', 'from → to', 'program, ms', 'own CV', *METHODS, 'inside', 'default'], rows)
    found = [row for row in rows if row[8]]
    errors = [abs(float(row[4].split(' / ')[0])) for row in found]
    if errors:
        inside, runs = (sum(int(row[8].split(' of ')[which]) for row in found) for which in range(2))
        print(f'\nreplay: median error of the total {statistics.median(errors):.1f} %, largest {max(errors):.1f} %; '
              f'{inside} of {runs} runs of the program in its interval')
        default = [row[9].split(', ') for row in found]
        off = [abs(float(cells[0])) for cells in default]
        cost = [float(cells[2].split()[0]) for cells in default]
        print(f'default: median error of the total {statistics.median(off):.1f} %, largest {max(off):.1f} %; it took '
              f'{statistics.median(cost):.1f} times as long as the I/O of the program (median), at most {max(cost):.1f} times')


main()
