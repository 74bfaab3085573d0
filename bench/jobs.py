#!/usr/bin/env python3
"""jobs.py BUILD [ROUNDS [JOB...]]: what recording adds to the wall time and the processor time of whole jobs, with 95 %
intervals. JOB is the beginning of a job's name.

Each round runs the job bare, always on (`ioseer env`, counters) and with a trace (`record`), in turn, beginning with another of them
each time. The interval is that of the median of the rounds' ratios, by resampling.
"""
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

from common import Place, machine, table

RESAMPLES = 2000
COMPILE = 'ninja, C compiler'
LIMITS = {'always on': 0.5, 'trace': 2.0}  # percent of the run time


class Job:
    def __init__(self, place, name, command, prepare=None):
        self.place, self.name, self.command, self.prepare = place, name, command, prepare
        self.logs = os.path.join(place.folder, 'logs')

    def once(self, kind):
        if self.prepare:
            self.prepare()
        shutil.rmtree(self.logs, ignore_errors=True)
        os.mkdir(self.logs)
        variables = []
        if kind == 'always on':
            printed = self.place.run([self.place.ioseer, 'env', '--log-dir', self.logs, '--json'])
            variables = [f'{name}={value}' for name, value in json.loads(printed)['variables'].items()]
        command = self.place.recorded(self.command) if kind == 'trace' else self.command
        wall, processor, _ = self.place.measure(command, *variables)
        if kind == 'always on':
            assert any(names for _, _, names in os.walk(self.logs)), 'the job has no log'
        return wall, processor

    def rounds(self, count):
        kinds = ['bare', *LIMITS]
        runs = {kind: [] for kind in kinds}
        for number in range(count + 1):
            for kind in kinds[number % 3:] + kinds[:number % 3]:
                result = self.once(kind)
                if number > 0:  # the first round warms up
                    runs[kind].append(result)
        return runs


def interval(values):
    """Median and its 95 % interval."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return statistics.median(values), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def rows_of(job, count):
    runs = job.rounds(count)
    for kind, limit in LIMITS.items():
        cells = [job.name, kind, f'{statistics.median(wall for wall, _ in runs["bare"]):.2f}']
        for which in (0, 1):
            added = [100 * (now[which] / bare[which] - 1) for now, bare in zip(runs[kind], runs['bare'])]
            median, low, high = interval(added)
            cells.append(f'{median:+.2f} ({low:+.2f} to {high:+.2f})')
        yield [*cells, f'{limit:.1f}']


def example(name, build, folder, *options):
    return ['mpiexec.mpich', '-n', '2', os.path.join(build, 'examples', f'{name}-mpich'), '--directory', folder, *options]


def compile_job(place, source, folder):
    """This project's own sources: some 150 compilations, each a handful of processes. With a compiler that is named, meson
    puts no cache in front of it."""
    subprocess.run(['meson', 'setup', folder, source], check=True, env={**os.environ, 'CC': 'cc'}, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    targets = ['src/log/liblog.a', 'src/pack/libpack.a']
    clean = ['ninja', '-C', folder, '-t', 'clean', *targets]
    return Job(place, COMPILE, ['ninja', '-C', folder, '-j2', *targets],
               lambda: subprocess.run(clean, check=True, stdout=subprocess.DEVNULL))


class Emulated:
    """A slow file system, mounted where a job needs it. It goes away however the program ends, but by SIGKILL."""
    SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def __init__(self, place, folder):
        self.place, self.folder = place, folder

    def __enter__(self):
        for number in self.SIGNALS:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
        os.makedirs(self.folder + '.backing')
        os.mkdir(self.folder)
        try:
            subprocess.run([self.place.ioseer, 'emulate', '-q', '--meta-latency', '200us', self.folder + '.backing', self.folder],
                           check=True)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for number in self.SIGNALS:  # a second one must not leave the mount
            signal.signal(number, signal.SIG_IGN)
        end = time.monotonic() + 60  # a job that was cut off may still use it
        while os.path.ismount(self.folder) and time.monotonic() < end:
            if subprocess.run([self.place.ioseer, 'emulate', '-q', '--stop', self.folder], check=False).returncode:
                time.sleep(0.5)
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)


def main():
    build = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    place = Place(build)
    print(machine())
    tree = os.path.join(build, 'bench', 'jobs')
    slow = os.path.join(place.folder, 'slow')
    shutil.rmtree(tree, ignore_errors=True)
    with Emulated(place, slow):
        try:
            rows = measure(place, build, count, slow, tree)
        finally:
            shutil.rmtree(tree, ignore_errors=True)
    table(f'Added to a whole job, percent: median of {count} rounds and its 95 % interval',
          ['job', 'recorded', 'bare, s', 'wall time', 'processor time', 'limit'], rows)


def measure(place, build, count, slow, tree):
    names = tuple(sys.argv[3:])

    def wanted(name):
        return not names or name.startswith(names)
    jobs = [Job(place, 'ior, in memory', example('ior', build, place.folder, '--segments', '160', '--block', '8388608')),
            Job(place, 'metadata, 0.2 ms a call', example('metadata', build, slow, '--files', '800')),
            Job(place, 'metadata, in memory', example('metadata', build, place.folder, '--files', '40000'))]
    if wanted(COMPILE):
        jobs.append(compile_job(place, os.path.dirname(os.path.dirname(os.path.abspath(__file__))), tree))
    return [row for job in jobs if wanted(job.name) for row in rows_of(job, count)]


main()
