#!/usr/bin/env python3
"""How many bytes a log takes: per event with its times, and for a parallel run without a trace. Speaks TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
CALLS = os.path.join(BUILD, 'bench', 'bench-calls')
EVENTS = 200_000
# Bytes per event. The goals are 0.6, 5 and 2 (doc/measurements.md), but on a busy machine times are longer and take more.
REGULAR, RANDOM, OPENS = 3, 8, 3
WITHOUT_TRACE = 2400  # bytes of a log: one file that four ranks share

LIMITS = {
    'pwrite': REGULAR,
    'read': REGULAR,
    'pread-strided': REGULAR,
    'two-files': REGULAR,
    'fwrite': REGULAR,
    'pread-random': RANDOM,
    'pwrite-random': RANDOM,
    'open-close': OPENS,
}
ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe']}
EXAMPLES = {'ior': ['--block', '64k', '--transfer', '16k'], 'madbench': ['--size', '64k']}


def record(folder, *words):
    """Records a command that works in the folder; returns the log's size and the output of info."""
    log = os.path.join(folder, 'log.ioseer')
    subprocess.run([IOSEER, 'record', '-q', '-o', log, *words], check=True, cwd=folder, stdin=subprocess.DEVNULL,
                   capture_output=True)
    about = subprocess.run([IOSEER, 'info', '--json', log], check=True, capture_output=True).stdout
    return os.path.getsize(log), json.loads(about)


def bytes_per_event(pattern):
    with tempfile.TemporaryDirectory(prefix='ioseer-perf-') as folder:
        size, about = record(folder, '--', CALLS, pattern, str(EVENTS), '1', folder)
        if about['events'] < EVENTS or about['lost_events']:
            raise RuntimeError(f'{pattern}: {about["events"]} events, {about["lost_events"]} lost')
        return size / about['events']


def bytes_without_trace(program, mpi):
    with tempfile.TemporaryDirectory(prefix='ioseer-perf-') as folder:
        command = [*LAUNCHERS[mpi], '-n', '4', os.path.join(BUILD, 'examples', f'{program}-{mpi}'), *EXAMPLES[program]]
        size, about = record(folder, '--no-trace', '--', *command)
        if [file['ranks'] for file in about['files'] if file['name'].endswith(f'/{program}.dat')] != [4]:
            raise RuntimeError(f'{program} {mpi}: no file of four ranks in {about["files"]}')
        return size


def reason_to_skip(program, mpi):
    if not os.path.exists(os.path.join(BUILD, 'examples', f'{program}-{mpi}')):
        return f'{program} was not built for {mpi}'
    return None if shutil.which(LAUNCHERS[mpi][0]) else f'no {LAUNCHERS[mpi][0]}'


class Report:
    """Prints one line of TAP per size."""

    def __init__(self, count):
        print(f'1..{count}')
        self.number = self.failed = 0

    def size(self, name, unit, size, limit):
        self.number += 1
        self.failed += size > limit
        print(f'{"ok" if size <= limit else "not ok"} {self.number} - {name}: at most {limit} {unit}')
        print(f'# {name}: {size:.2f}', flush=True)

    def skip(self, name, why):
        self.number += 1
        print(f'ok {self.number} - {name} # SKIP {why}', flush=True)


def main():
    runs = [(program, mpi) for program in EXAMPLES for mpi in LAUNCHERS]
    report = Report(len(LIMITS) + len(runs))
    for pattern, limit in LIMITS.items():
        report.size(pattern, 'bytes an event', bytes_per_event(pattern), limit)
    for program, mpi in runs:
        name, why = f'{program} {mpi} without a trace', reason_to_skip(program, mpi)
        if why:
            report.skip(name, why)
        else:
            report.size(name, 'bytes', bytes_without_trace(program, mpi), WITHOUT_TRACE)
    return 1 if report.failed else 0


sys.exit(main())
