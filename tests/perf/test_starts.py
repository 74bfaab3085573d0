#!/usr/bin/env python3
"""What starts cost, in what can be counted: system calls of recorded processes, libraries that ioseer loads. Speaks TAP."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
STARTS = os.path.join(BUILD, 'bench', 'bench-starts')
CHILDREN = 20
# System calls that are added to a child that writes a file; some 10 % above what doc/measurements.md has.
FORKED, STARTED = 29, 60
MOST_LIBRARIES = 14  # of `ioseer` itself, with libc, its loader and the vdso


def calls_of_child(folder, kind, *recorder):
    """System calls of the child that makes the fewest: one that waited for a processor asks the kernel for more."""
    shutil.rmtree(os.path.join(folder, 'traces'), ignore_errors=True)
    os.mkdir(os.path.join(folder, 'traces'))
    traces = os.path.join(folder, 'traces', 'of')
    subprocess.run([*recorder, 'strace', '-ff', '-qq', '-o', traces, STARTS, kind, str(CHILDREN), folder], check=True,
                   cwd=folder, stdout=subprocess.DEVNULL)
    counts = []
    for name in glob.glob(traces + '.*'):
        with open(name, encoding='utf-8', errors='replace') as lines:
            counts.append(sum(bool(re.match(r'[a-z]\w*\(', line)) for line in lines))
    if len(counts) <= CHILDREN:
        raise RuntimeError(f'{kind}: {len(counts)} processes')
    return min(counts)


def added_calls(kind):
    with tempfile.TemporaryDirectory(prefix='ioseer-perf-') as folder:
        log = os.path.join(folder, 'log.ioseer')
        recorded = calls_of_child(folder, kind, IOSEER, 'record', '-q', '-o', log, '--')
        return recorded - calls_of_child(folder, kind)


def libraries():
    environment = {**os.environ, 'LD_TRACE_LOADED_OBJECTS': '1'}
    return len(subprocess.run([IOSEER], check=True, env=environment, capture_output=True, text=True).stdout.splitlines())


def main():
    print('1..3')
    failed = 0
    cases = [('system calls of a forked child', FORKED, lambda: added_calls('fork')),
             ('system calls of a program that is started', STARTED, lambda: added_calls('spawn')),
             ('libraries of ioseer', MOST_LIBRARIES, libraries)]
    for number, (name, limit, count) in enumerate(cases, 1):
        if number < len(cases) and not shutil.which('strace'):
            print(f'ok {number} - {name} # SKIP no strace')
            continue
        found = count()
        failed += found > limit
        print(f'{"ok" if found <= limit else "not ok"} {number} - {name}: at most {limit}\n# {name}: {found}', flush=True)
    return 1 if failed else 0


sys.exit(main())
