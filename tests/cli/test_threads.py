#!/usr/bin/env python3
"""test_threads.py: the output of verbs does not depend on the number of threads that read the log."""
import os
import subprocess
import sys
import tempfile

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
SYNTHETIC = os.path.join(BUILD, 'bench', 'bench-synthetic')
GOLDEN = os.path.join(os.environ['IOSEER_SOURCE'], 'tests', 'golden', 'version1.ioseer')
VERBS = [['stats', '--json'], ['stats', '--darshan'], ['info', '--json'], ['report', '-q', '--format', 'json', '-o', '/dev/stdout'],
         ['phases', '--json'], ['dump', '--json']]


def make_logs(folder):
    """The small golden log; many processes; one process, which only batches can distribute; many files; a damaged log."""
    yield 'golden', GOLDEN
    for pattern, processes, events in [('mixed', 9, 20000), ('dumps', 1, 20000), ('random', 70, 20000),
                                       ('files', 400, 40000)]:
        log = os.path.join(folder, pattern + '.ioseer')
        subprocess.run([SYNTHETIC, log, pattern, str(processes), str(events)], check=True)
        yield f'{pattern}, {processes} processes', log
    with open(os.path.join(folder, 'mixed.ioseer'), 'rb') as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 0xff
    data[len(data) // 3] ^= 0xff
    log = os.path.join(folder, 'damaged.ioseer')
    with open(log, 'wb') as file:
        file.write(data)
    yield 'damaged', log


def printed(verb, log, threads):
    done = subprocess.run([IOSEER, *verb, log], env=dict(os.environ, IOSEER_THREADS=str(threads)), timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    failed = number = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, log in make_logs(folder):
            for verb in VERBS:
                first, *others = (printed(verb, log, threads) for threads in (1, 2, 4))
                good = first[1] and all(other == first for other in others)
                number += 1
                failed += not good
                print(f'{"ok" if good else "not ok"} {number} - {" ".join(verb)} of a log ({name}) with 1, 2 and 4 threads')
    print(f'1..{number}')
    return 1 if failed else 0


sys.exit(main())
