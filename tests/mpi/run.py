#!/usr/bin/env python3
"""run.py PROGRAM [WORD...]: records an example under both MPIs, and compares with what it is known to do. Speaks TAP.

Each case runs bare and recorded. Status, output and files must be the same, and the log must hold the calls of truth.py
and no others, with the POSIX calls that MPI made for them as their children. With words, only cases with all of them in
their names are run.
"""
import hashlib
import json
import os
import re
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
MIXED_UP = 75  # exit status of forms.c if OMPIO itself made a mistake
OMPIO_ATTEMPTS, OMPIO_SECONDS = 6, 30
OPENMPI = ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']
LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': OPENMPI,  # with OMPIO, the default
    'openmpi-romio': [*OPENMPI, '--mca', 'io', 'romio321'],
    # Other parts of OMPIO: for collective calls, and for the shared pointer.
    **{f'openmpi-{part}': [*OPENMPI, '--mca', kind, part] for kind, parts in
       {'fcoll': ('two_phase', 'dynamic', 'individual'), 'sharedfp': ('lockedfile', 'sm')}.items() for part in parts},
    'openmpi-individual-sharedfp': [*OPENMPI, '--mca', 'sharedfp', 'individual'],
    'none': [],
}
BOTH = ('mpich', 'openmpi')
ROMIO = ('openmpi-romio',)
WAYS = ('api', 'mode', 'work', 'collective', 'random', 'seed', 'shift')  # options that leave the files as they are
SQUARES = (1, 4, 9, 16)

MADBENCH = {'bins': 3, 'size': 10000}
BTIO = {'grid': 10, 'steps': 4, 'interval': 2}
IOR = {'block': 16384, 'transfer': 4096}

# program, its options, ranks, MPIs. Every example runs on 1, 2, 4, 9 and 16 ranks under both MPIs, where it takes that
# number, and each of its ways on an even and an odd number. Sizes are small: the tests compare calls, and two cores
# must be enough for 16 ranks.
CASES = [
    ('madbench', {'bins': 8, 'size': 10000}, (1, 2), BOTH),
    ('madbench', MADBENCH, (4, 9), BOTH),
    ('madbench', {'bins': 2, 'size': 4096}, (16,), BOTH),
    ('madbench', {**MADBENCH, 'unique': True}, (2, 9), BOTH),
    ('madbench', {**MADBENCH, 'api': 'async'}, (1, 4, 9), BOTH),
    ('madbench', {**MADBENCH, 'api': 'async', 'work': 100, 'unique': True}, (2,), BOTH),
    ('madbench', {**MADBENCH, 'api': 'posix'}, (2, 9), BOTH),
    ('madbench', {**MADBENCH, 'api': 'posix', 'unique': True}, (2,), BOTH),
    ('madbench', {**MADBENCH, 'api': 'stdio'}, (2, 9), BOTH),
    ('madbench', {**MADBENCH, 'api': 'stdio', 'unique': True}, (2,), BOTH),
    ('madbench', MADBENCH, (2, 9), ROMIO),
    ('madbench', {**MADBENCH, 'api': 'async', 'unique': True}, (2,), ROMIO),
    ('btio', BTIO, (1, 4, 9), BOTH),
    ('btio', {'grid': 12, 'steps': 2, 'interval': 1}, (16,), BOTH),
    ('btio', BTIO, (4, 9), ROMIO),
    ('btio-f90', BTIO, SQUARES, BOTH),
    ('btio-f08', BTIO, (1, 4), BOTH),
    ('btio-mpif', BTIO, (4,), BOTH),
    ('btio-f08', BTIO, (4,), ROMIO),
    ('s3d', {'edge': 4, 'checkpoints': 1}, (1, 2, 4, 9), BOTH),
    ('s3d', {'edge': 2, 'checkpoints': 1}, (16,), BOTH),
    ('s3d', {'edge': 3, 'checkpoints': 1, 'mode': 'independent'}, (1, 2, 9), BOTH),
    ('s3d', {'edge': 4, 'checkpoints': 2, 'mode': 'sieving'}, (2, 4, 9), BOTH),
    ('s3d', {'edge': 4, 'checkpoints': 1}, (4,), ROMIO),
    ('s3d', {'edge': 4, 'checkpoints': 2, 'mode': 'sieving'}, (2, 9), ROMIO),
    ('ior', {'block': 32768, 'transfer': 4096}, (1, 2, 4, 9), BOTH),
    ('ior', {'block': 4096, 'transfer': 2048}, (16,), BOTH),
    ('ior', {**IOR, 'collective': True}, (1, 2, 4, 9), BOTH),
    ('ior', {'block': 10000, 'transfer': 1000, 'random': True, 'seed': 7, 'shift': 1}, (4, 9), BOTH),
    ('ior', {**IOR, 'collective': True, 'random': True}, (2,), BOTH),
    ('ior', {**IOR, 'unique': True, 'shift': 1}, (2, 9), BOTH),
    ('ior', {**IOR, 'unique': True, 'collective': True}, (2, 9), BOTH),
    ('ior', {**IOR, 'api': 'posix', 'random': True}, (2, 9), BOTH),
    ('ior', {**IOR, 'api': 'posix', 'unique': True}, (2,), BOTH),
    ('ior', {**IOR, 'collective': True}, (2, 9), ROMIO),
    ('ior', IOR, (2,), ROMIO),
    ('small', {'files': 10, 'first': 7400, 'second': 4200, 'third': 2400}, (1, 4, 9, 16), BOTH),
    ('small', {'files': 300, 'first': 740, 'second': 420, 'third': 240}, (2,), BOTH),
    ('metadata', {'files': 20}, (1, 2, 9), BOTH),
    ('metadata', {'files': 5}, (16,), BOTH),
    ('metadata', {'files': 10, 'size': 3, 'shared': True}, (4, 9), BOTH),
    ('checkpoint', {'s': 4, 'n': 8, 'b': 1000}, (1,), ('none',)),
    ('forms', {}, (1, 2), BOTH),
    ('forms', {}, (4,), ('mpich',)),  # bare, under Open MPI 4.1, 4 ranks crash in write_at_all (fcoll vulcan), 3 hang
    ('forms', {'blocking-collectives': True}, (1, 2, 4), ROMIO),  # it has no nonblocking ones
    ('forms', {}, (2,), ('openmpi-two_phase', 'openmpi-dynamic', 'openmpi-individual')),
    ('forms', {}, (1, 2), ('openmpi-lockedfile', 'openmpi-sm')),
    ('forms', {'shared-writes': True}, (2,), ('openmpi-individual-sharedfp',)),
    ('forms-large', {}, (1, 4), ('mpich',)),
]


class Wrong(Exception):
    """The problems that a case found."""


def words_of(options):
    words = []
    for name, value in options.items():
        word = f'--{name}' if len(name) > 1 else f'-{name}'
        words += [word] if value is True else [word, str(value)]
    return words


def case_name(program, mpi, ranks, options):
    return f'{program} {mpi} {ranks} {" ".join(words_of(options)).replace("--", "")}'.strip()


def program_path(program, mpi):
    folder = os.path.join('tests', 'mpi') if program.startswith('forms') else 'examples'
    return os.path.join(BUILD, folder, program if mpi == 'none' else f'{program}-{mpi.split("-")[0]}')


def reason_to_skip(program, mpi):
    if not os.path.exists(program_path(program, mpi)):
        return f'{program} was not built for {mpi.split("-")[0]}'
    if LAUNCHERS[mpi] and not shutil.which(LAUNCHERS[mpi][0]):
        return f'no {LAUNCHERS[mpi][0]}'
    return None


def run(words, directory, timeout=TIMEOUT_SECONDS):
    """Status, output and error output; process numbers, which differ from run to run, are taken out of the latter."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=directory) as process:
        try:
            output, error = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # which also ends the job
            process.communicate(timeout=TIMEOUT_SECONDS)
            raise
    return process.returncode, output, re.sub(rb'^\[\w+:\d+\]', b'[host:pid]', error, flags=re.MULTILINE)


def run_example(case, words, directory):
    """Under OMPIO, of Open MPI 4, a run of forms.c that mixed up its messages or hangs is done again: it happens, bare
    too, in one of ten runs on a busy machine."""
    program, mpi, _, _ = case
    if not (program == 'forms' and tree.uses_ompio(mpi)):
        return run(words, directory)
    for _ in range(OMPIO_ATTEMPTS):
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        try:
            done = run(words, directory, OMPIO_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        if done[0] != MIXED_UP:
            return done
    raise Wrong(f'Open MPI fails {OMPIO_ATTEMPTS} times')


def contents(directory):
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
    return found


def compare_files(case, files, bare_files, recorded_files):
    """Recording changes no file, and the same options make the same files with any MPI, language and interface."""
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


def number_threads(events):
    """Without MPI, threads take the place of ranks: the main one first, then by what they write first."""
    first = {}
    for event in events:
        first.setdefault(event['tid'], -1 if event['tid'] == event['pid'] else event['offset'])
    order = sorted(first, key=first.get)
    for event in events:
        event['rank'] = order.index(event['tid'])


def check_job(log, mpi, ranks, directory):
    status, output, error = run([IOSEER, 'info', '--json', log], directory)
    if status != 0:
        raise Wrong(f'info: {error!r}')
    info = json.loads(output)
    processes = [process for process in info['processes'] if mpi == 'none' or process['rank'] is not None]
    found = sorted(process['rank'] for process in processes if mpi != 'none')
    if mpi != 'none' and found != list(range(ranks)):
        raise Wrong(f'ranks in the log: {found}')
    if info['lost_events'] != 0:
        raise Wrong(f'{info["lost_events"]} events lost')
    ends = {process['exit'] for process in processes}
    if ends != {'clean'}:
        raise Wrong(f'ends of the ranks: {ends}')


def run_case(case, files):
    program, mpi, ranks, options = case
    launcher = [*LAUNCHERS[mpi], '-n', str(ranks)] if LAUNCHERS[mpi] else []
    command = [*launcher, program_path(program, mpi), *words_of(options)]
    with tempfile.TemporaryDirectory(prefix='ioseer-mpi-') as scratch:
        scratch = os.path.realpath(scratch)
        folders = [os.path.join(scratch, name) for name in ('bare', 'recorded')]
        for folder in folders:
            os.mkdir(folder)
        log = os.path.join(scratch, 'log.ioseer')
        bare = run_example(case, command, folders[0])
        if bare[0] != 0:
            raise Wrong(f'fails without recording: {bare}')
        recorded = run_example(case, [IOSEER, 'record', '-q', '--force', '-o', log, '--', *command], folders[1])
        compare_runs(bare, recorded)
        compare_files(case, files, *map(contents, folders))
        check_job(log, mpi, ranks, scratch)
        expected = truth.of(program, ranks, options)
        events = recorded_events(log, folders[1])
        if mpi == 'none':
            number_threads(events)
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
