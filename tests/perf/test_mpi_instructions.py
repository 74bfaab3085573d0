#!/usr/bin/env python3
"""How many user instructions the recorder adds to calls of MPI, including the POSIX calls below them. Speaks TAP.

One process makes each kind of call in its own function (mpi_calls.c); callgrind counts what the function costs with and
without the recorder. The project promises 600 for each MPI-IO call and 60 for each communication call.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
MPIS = ('mpich', 'openmpi')
COUNT = 2000
TIMEOUT_SECONDS = 600
IO, COMMUNICATION = 600, 60

BUDGETS = {  # pattern: instructions of all calls in one round
    'barrier': COMMUNICATION,
    'bcast': COMMUNICATION,
    'allreduce': COMMUNICATION,
    'send': COMMUNICATION,
    'recv': COMMUNICATION,
    'isend_wait': 2 * COMMUNICATION,
    'irecv_waitall': 2 * COMMUNICATION,
    'two_types': 2 * COMMUNICATION,
    'write_at': IO,
    'write_strided': IO,
    'write_backwards': IO,
    'read_at': IO,
    'write': IO,
    'read': IO,
    'write_at_all': IO,
    'read_all': IO,
    'barrier_write': COMMUNICATION + IO,
    'view_write': IO,
}


def program(mpi):
    return os.path.join(BUILD, 'tests', 'perf', f'mpi-calls-{mpi}')


def costs(mpi, recorded):
    """Instructions in the function of each pattern and whatever it calls."""
    with tempfile.TemporaryDirectory(prefix='ioseer-perf-') as folder:
        profile = os.path.join(folder, 'profile')
        command = ['valgrind', '--tool=callgrind', f'--callgrind-out-file={profile}', program(mpi), str(COUNT),
                   os.path.join(folder, 'data')]
        if recorded:
            command = [IOSEER, 'record', '-q', '-o', os.path.join(folder, 'log.ioseer'), '--'] + command
        # Open MPI reads variables in every call, and libc may fill freed memory: neither must count.
        plain = {name: os.environ[name] for name in ('PATH', 'HOME') if name in os.environ}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, env=plain)
        if done.returncode or not os.path.exists(profile):
            raise RuntimeError(f'{mpi}: status {done.returncode}: {done.stderr[-1000:]}')
        listing = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', profile], check=True,
                                 capture_output=True, text=True).stdout
    return {name: int(number.replace(',', ''))
            for number, name in re.findall(r'^\s*([\d,]+) .*:call_(\w+)', listing, re.MULTILINE)}


def added_once(mpi):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bare, recorded = pool.map(costs, (mpi, mpi), (False, True))
    return {name: (recorded[name] - bare[name]) / COUNT for name in BUDGETS}


def added(mpi):
    """The smallest of up to three counts: how often an MPI library polls in a barrier depends on timing."""
    least = added_once(mpi)
    for _ in range(2):
        if all(least[name] <= BUDGETS[name] for name in BUDGETS):
            break
        again = added_once(mpi)
        least = {name: min(least[name], again[name]) for name in BUDGETS}
    return least


def reason_to_skip(mpi):
    if not shutil.which('valgrind'):
        return 'valgrind is not installed'
    if not os.path.exists(program(mpi)):
        return f'{mpi} is not installed'
    done = subprocess.run(['valgrind', '--tool=none', program(mpi)], capture_output=True, text=True, check=False)
    if 'debuginfo reader' in done.stderr:  # what Debian 12's valgrind says about clang's debug information
        return 'this valgrind cannot read the debug information of this compiler'
    return None


def main():
    print(f'1..{len(MPIS) * len(BUDGETS)}')
    failed = number = 0
    for mpi in MPIS:
        skip = reason_to_skip(mpi)
        found = {} if skip else added(mpi)
        for name, budget in BUDGETS.items():
            number += 1
            good = skip or found[name] <= budget
            failed += not good
            print(f'{"ok" if good else "not ok"} {number} - {mpi} {name}: at most {budget} instructions added'
                  f'{f" # SKIP {skip}" if skip else ""}')
            if not skip:
                print(f'# {mpi} {name}: {found[name]:.1f}', flush=True)
    return 1 if failed else 0


sys.exit(main())
