#!/usr/bin/env python3
"""bench/nvm_study.py BUILD RESULTS [CHARTS] [--time SECONDS] [--only LIST]: does fast storage need other I/O?

The three studies of chapter 3 of Liu's thesis (2017) by `ioseer sweep`: how much the page cache matters, POSIX against
individual MPI-IO, and collective against individual MPI-IO, each on an emulated disk, an SSD, and memory that keeps its
contents. RESULTS is a directory for the sweeps' files: the same command again continues what is there, so that a busy
machine can be used in pieces of --time. Prints the tables of doc/nvm-study.md; makes its charts in CHARTS.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

import common

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'stack'))
import svg  # noqa: E402

MIB = 1 << 20
DEVICES = ('hdd', 'ssd', 'nvm')
# ROMIO decides by itself whether a collective call is one: here it must, with one aggregator.
HINTS = 'romio_cb_write enable\nromio_cb_read enable\ncb_nodes 1\n'
IOR = '''case $3 in posix) way="--api posix";; collective) way=--collective; export ROMIO_HINTS=$4;; *) way=;; esac
exec mpiexec.mpich -n $1 $0 --directory $2 --segments 2 --block {block} --transfer {transfer} --shift 1 $way'''
CACHES = 'none,512M,256M,128M,96M'


class Study:
    """A sweep: its name, its options, and its command."""

    def __init__(self, name, title, weight, options, command):
        self.name, self.title, self.options, self.command = name, title, options, command
        self.found = None
        self.weight = weight  # its share of the time

    def sweep(self, place, results, seconds):
        path = os.path.join(results, f'{self.name}.json')
        words = [place.ioseer, 'sweep', '-q', '--json', *(word for device in DEVICES for word in ('--on', device)), '-o', path,
                 '--precision', '10%', *self.options, '--chart', os.path.join(results, f'{self.name}.html')]
        if seconds:
            words += ['--time', f'{seconds:.0f}s']
        done = subprocess.run([*words, '--', *self.command], cwd=results, check=True, stdout=subprocess.PIPE)
        self.found = json.loads(done.stdout)

    def point(self, device, cache=None, interface='as-recorded'):
        return next(point for point in self.found['points'] if (point['target'], point['cache'], point['interface']) ==
                    (device, cache, interface))


def ior(place, results, block, transfer):
    hints = os.path.join(results, 'hints')
    with open(hints, 'w', encoding='ascii') as out:
        out.write(HINTS)
    return ['sh', '-c', IOR.format(block=block, transfer=transfer), os.path.join(place.examples, 'ior-mpich'), '{np}', '{dir}',
            '{interface}', hints]


def studies(place, results):
    madbench = ['mpiexec.mpich', '-n', '{np}', os.path.join(place.examples, 'madbench-mpich'), '--bins', '8', '--size', '4M',
                '--api', 'posix', '--unique', '--directory', '{dir}']
    ways = ('--np', '2', '--interface', 'posix,independent,collective')  # as many as processors: ranks spin while they wait
    return [Study('cache', 'madbench: writes, reads and rewrites 128 MiB, a file for each process', 4,
                  ('--np', '4', '--page-cache', CACHES), madbench),
            Study('large', 'ior: 64 MiB in one file, calls of 1 MiB', 4,
                  (*ways, '--page-cache', 'none,64M'), ior(place, results, '16M', '1M')),
            Study('small', 'ior: 8 MiB in one file, calls of 16 KiB', 2,
                  (*ways, '--page-cache', 'none'), ior(place, results, '2M', '16k'))]


# --- tables

def size(cache):
    return 'no limit' if cache is None else f'{cache // MIB} MiB'


def milliseconds(point):
    if point['killed']:
        return 'killed'
    if point['time'] is None:
        return point['failed'] or '-'
    return f'{1000 * point["time"]:.0f} ({1000 * point["low"]:.0f}-{1000 * point["high"]:.0f}; {point["runs"]})'


def against(point, other):
    return f'{100 * (point["time"] / other["time"] - 1):+.0f} %' if point['time'] and other['time'] else '-'


def cache_table(study):
    rows = [[size(cache), *(milliseconds(study.point(device, cache)) for device in DEVICES),
             *(against(study.point(device, cache), study.point(device)) for device in DEVICES)]
            for cache in study.found['caches']]
    common.table(study.title, ['memory', *(f'{device}, ms' for device in DEVICES), *DEVICES], rows)


def way_table(study):
    rows = []
    for cache in study.found['caches']:
        for device in DEVICES:
            posix, single, collective = (study.point(device, cache, way) for way in study.found['interfaces'])
            rows.append([f'{device}, {size(cache)}', milliseconds(posix), milliseconds(single), milliseconds(collective),
                         against(single, posix), against(collective, single)])
    common.table(study.title, ['device, memory', 'posix, ms', 'independent, ms', 'collective, ms', 'independent - posix',
                               'collective - independent'], rows)


# --- charts

def time_of(point):
    return 1000 * (point['time'] or 0)


def cache_chart(study, path):
    labels = [size(cache) for cache in study.found['caches']]
    series = {device: [time_of(study.point(device, cache)) for cache in study.found['caches']] for device in DEVICES}
    axis = f'memory of the program and its page cache; working set: {study.found["working_set"] / MIB:.0f} MiB'
    svg.bars(path, study.title, axis, labels, series, 'ms', 'beside')


def way_chart(study, path):
    places = [(device, cache) for cache in study.found['caches'] for device in DEVICES]
    labels = [f'{device}, {size(cache)}' for device, cache in places]
    series = {way: [time_of(study.point(*place, way)) for place in places] for way in study.found['interfaces']}
    svg.bars(path, study.title, 'device and memory', labels, series, 'ms', 'beside')


# ---

@contextlib.contextmanager
def mounts(place, results):
    with contextlib.ExitStack() as stack:
        for device in DEVICES:
            below, above = os.path.join(place.folder, device), os.path.join(results, device)
            os.makedirs(below)
            os.makedirs(above, exist_ok=True)
            place.run([place.ioseer, 'emulate', '-q', '--preset', device, '--cache', 'kernel', below, above])
            stack.callback(place.run, [place.ioseer, 'emulate', '--stop', '--force', above])
        yield


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('results')
    parser.add_argument('charts', nargs='?')
    parser.add_argument('--time', type=float, default=0, help='seconds for all that is left to run')
    parser.add_argument('--only', help='names of studies, with commas')
    given = parser.parse_args()
    place = common.Place(given.build)
    place.examples = os.path.join(os.path.abspath(given.build), 'examples')
    results = os.path.abspath(given.results)
    os.makedirs(results, exist_ok=True)
    chosen = [study for study in studies(place, results) if not given.only or study.name in given.only.split(',')]
    with mounts(place, results):
        for study in chosen:
            study.sweep(place, results, given.time * study.weight / sum(one.weight for one in chosen))
    for study in chosen:
        (cache_table if study.name == 'cache' else way_table)(study)
        if given.charts:
            (cache_chart if study.name == 'cache' else way_chart)(study, os.path.join(given.charts, f'nvm-{study.name}.svg'))


main()
