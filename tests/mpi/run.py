#!/usr/bin/env python3
"""run.py PROGRAM [WORD...]: records an example under both MPIs, and compares with what it is known to do. Speaks TAP.

Each case runs bare and recorded. Status, output and files must be the same, and the log must hold the calls of truth.py
and no others, with the POSIX calls that MPI made for them as their children. With words, only cases with all of them in
their names are run.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import tree
import truth

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
IOSEER = os.path.join(BUILD, 'ioseer')
TIMEOUT_SECONDS = 120
LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
    'openmpi-romio': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '--mca', 'io', 'romio321'],
}
BOTH = ('mpich', 'openmpi')
WAYS = ('api', 'mode', 'work', 'collective', 'random', 'seed', 'shift')  # options that leave the files as they are
ALL = ('mpich', 'openmpi', 'openmpi-romio')

# program, its options, ranks, MPIs. Sizes are small: it is the calls that count, and two cores must do for 16 ranks.
CASES = [
    ('madbench', {'bins': 8, 'size': 10000}, (1, 2), BOTH),
    ('madbench', {'bins': 3, 'size': 10000}, (4, 9), BOTH),
    ('madbench', {'bins': 2, 'size': 4096}, (16,), BOTH),
    ('madbench', {'bins': 4, 'size': 10000}, (2,), ('openmpi-romio',)),
    ('madbench', {'bins': 4, 'size': 8192, 'unique': True}, (2,), BOTH),
    ('madbench', {'bins': 3, 'size': 10000, 'api': 'async'}, (1, 4), BOTH),
    ('madbench', {'bins': 3, 'size': 8192, 'api': 'async', 'work': 100, 'unique': True}, (2,), ALL),
    ('madbench', {'bins': 3, 'size': 10000, 'api': 'posix'}, (2,), BOTH),
    ('madbench', {'bins': 3, 'size': 10000, 'api': 'stdio', 'unique': True}, (2,), BOTH),
    ('btio', {'grid': 10, 'steps': 4, 'interval': 2}, (1, 4, 9), BOTH),
    ('btio', {'grid': 12, 'steps': 2, 'interval': 1}, (16,), BOTH),
    ('btio', {'grid': 10, 'steps': 4, 'interval': 2}, (4,), ('openmpi-romio',)),
    ('btio-f90', {'grid': 10, 'steps': 4, 'interval': 2}, (1, 9), BOTH),
    ('btio-f08', {'grid': 10, 'steps': 4, 'interval': 2}, (4,), ALL),
    ('btio-mpif', {'grid': 10, 'steps': 4, 'interval': 2}, (4,), BOTH),
    ('s3d', {'edge': 4, 'checkpoints': 1}, (1, 2, 4), BOTH),
    ('s3d', {'edge': 3, 'checkpoints': 1, 'mode': 'independent'}, (2, 4), BOTH),
    ('s3d', {'edge': 4, 'checkpoints': 2, 'mode': 'sieving'}, (2, 4), ALL),
    ('ior', {'block': 32768, 'transfer': 4096}, (1, 2, 4), BOTH),
    ('ior', {'block': 32768, 'transfer': 8192, 'collective': True}, (2, 4), BOTH),
    ('ior', {'block': 32768, 'transfer': 8192, 'collective': True}, (2,), ('openmpi-romio',)),
    ('ior', {'block': 10000, 'transfer': 1000, 'random': True, 'seed': 7, 'shift': 1}, (4,), BOTH),
    ('ior', {'block': 16384, 'transfer': 4096, 'unique': True, 'shift': 1}, (2,), BOTH),
    ('ior', {'block': 16384, 'transfer': 4096, 'unique': True, 'collective': True}, (2,), BOTH),
    ('ior', {'block': 16384, 'transfer': 4096, 'api': 'posix', 'random': True}, (2,), BOTH),
    ('small', {'files': 10, 'first': 7400, 'second': 4200, 'third': 2400}, (1, 4), BOTH),
    ('small', {'files': 300, 'first': 740, 'second': 420, 'third': 240}, (2,), BOTH),
    ('metadata', {'files': 20}, (1, 2), BOTH),
    ('metadata', {'files': 10, 'size': 3, 'shared': True}, (4,), BOTH),
    ('forms', {}, (1, 2), BOTH),
    ('forms', {}, (4,), ('mpich',)),  # bare, under Open MPI 4.1, 4 ranks crash in write_at_all (fcoll vulcan), 3 hang
    ('forms', {'blocking-collectives': True}, (1, 4), ('openmpi-romio',)),  # it has no nonblocking ones
    ('forms-large', {}, (2,), ('mpich',)),
]


class Wrong(Exception):
    """What a case found."""


def words_of(options):
    words = []
    for name, value in options.items():
        words += [f'--{name}'] if value is True else [f'--{name}', str(value)]
    return words


def case_name(program, mpi, ranks, options):
    return f'{program} {mpi} {ranks} {" ".join(words_of(options)).replace("--", "")}'.strip()


def program_path(program, mpi):
    folder = os.path.join('tests', 'mpi') if program.startswith('forms') else 'examples'
    return os.path.join(BUILD, folder, f'{program}-{mpi.split("-")[0]}')


def reason_to_skip(program, mpi):
    if not os.path.exists(program_path(program, mpi)):
        return f'{program} was not built for {mpi.split("-")[0]}'
    if not shutil.which(LAUNCHERS[mpi][0]):
        return f'no {LAUNCHERS[mpi][0]}'
    return None


def run(words, directory):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, cwd=directory, timeout=TIMEOUT_SECONDS,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def contents(directory):
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
    return found


def compare_files(case, files, bare_files, recorded_files):
    """Recording changes no file; and whatever MPI, language and way, the same options make the same files."""
    if bare_files != recorded_files:
        raise Wrong('files differ between the bare and the recorded run')
    program, _, ranks, options = case
    sizes = tuple(item for item in options.items() if item[0] not in WAYS)
    if files.setdefault((program.split('-')[0], ranks, sizes), bare_files) != bare_files:
        raise Wrong('files differ from those of another MPI, language or way')


def compare_runs(bare, recorded):
    for what, one, other in zip(('status', 'output', 'error output'), bare, recorded):
        if one != other:
            raise Wrong(f'{what}: {one!r} bare, {other!r} recorded')


def recorded_events(log, directory):
    """The events on files of the example, by their names in its directory."""
    status, output, error = run([IOSEER, 'dump', '--json', log], directory)
    if status != 0:
        raise Wrong(f'dump: {error!r}')
    events = json.loads(output)
    for event in events:
        event['path'], event['file'] = event['file'], os.path.relpath(event['file'] or '/', directory)
    return events


def check_job(log, ranks, directory):
    status, output, error = run([IOSEER, 'info', '--json', log], directory)
    if status != 0:
        raise Wrong(f'info: {error!r}')
    info = json.loads(output)
    found = sorted(process['rank'] for process in info['processes'] if process['rank'] is not None)
    if found != list(range(ranks)):
        raise Wrong(f'ranks in the log: {found}')
    if info['lost_events'] != 0:
        raise Wrong(f'{info["lost_events"]} events lost')
    ends = {process['exit'] for process in info['processes'] if process['rank'] is not None}
    if ends != {'clean'}:
        raise Wrong(f'ends of the ranks: {ends}')


def run_case(case, files):
    program, mpi, ranks, options = case
    command = [*LAUNCHERS[mpi], '-n', str(ranks), program_path(program, mpi), *words_of(options)]
    with tempfile.TemporaryDirectory(prefix='ioseer-mpi-') as scratch:
        scratch = os.path.realpath(scratch)
        folders = [os.path.join(scratch, name) for name in ('bare', 'recorded')]
        for folder in folders:
            os.mkdir(folder)
        log = os.path.join(scratch, 'log.ioseer')
        bare = run(command, folders[0])
        if bare[0] != 0:
            raise Wrong(f'fails without recording: {bare}')
        compare_runs(bare, run([IOSEER, 'record', '-q', '-o', log, '--', *command], folders[1]))
        compare_files(case, files, *map(contents, folders))
        check_job(log, ranks, scratch)
        expected = truth.of(program, ranks, options)
        events = recorded_events(log, folders[1])
        problems = tree.compare(events, expected) + tree.check_children(events, expected, mpi, program, options)
        if problems:
            raise Wrong('\n'.join(problems))


def main():
    wanted = sys.argv[1:]
    cases = [(program, mpi, ranks, options) for program, options, counts, mpis in CASES
             for ranks in counts for mpi in mpis
             if not wanted or program.split('-')[0] == wanted[0]]
    cases = [case for case in cases if all(word in case_name(*case).split() for word in wanted[1:])]
    print(f'1..{len(cases)}')
    failed, files = False, {}
    for number, case in enumerate(cases, 1):
        skip = reason_to_skip(*case[:2])
        problem = ''
        if not skip:
            try:
                run_case(case, files)
            except (Wrong, subprocess.TimeoutExpired, json.JSONDecodeError) as wrong:
                problem = str(wrong)
        failed |= bool(problem)
        print(f'{"not ok" if problem else "ok"} {number} - {case_name(*case)}{f" # SKIP {skip}" if skip else ""}')
        for line in problem.split('\n') if problem else []:
            print(f'# {line}')
        sys.stdout.flush()
    return 1 if failed else 0


sys.exit(main())
