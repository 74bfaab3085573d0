#!/usr/bin/env python3
"""How many bytes an event takes in the log, its times included. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
CALLS = os.path.join(BUILD, 'bench', 'bench-calls')
EVENTS = 200_000
REGULAR, RANDOM = 8, 16  # bytes an event, as the project promises

LIMITS = {
    'pwrite': REGULAR,
    'read': REGULAR,
    'pread-strided': REGULAR,
    'two-files': REGULAR,
    'fwrite': REGULAR,
    'pread-random': RANDOM,
    'pwrite-random': RANDOM,
}


def bytes_per_event(pattern):
    with tempfile.TemporaryDirectory(prefix='ioseer-perf-') as folder:
        log = os.path.join(folder, 'log.ioseer')
        subprocess.run([IOSEER, 'record', '-q', '-o', log, '--', CALLS, pattern, str(EVENTS), '1', folder],
                       check=True, stdout=subprocess.DEVNULL)
        about = json.loads(subprocess.run([IOSEER, 'info', '--json', log], check=True, capture_output=True).stdout)
        if about['events'] < EVENTS or about['lost_events']:
            raise RuntimeError(f'{pattern}: {about["events"]} events, {about["lost_events"]} lost')
        return os.path.getsize(log) / about['events']


def main():
    print(f'1..{len(LIMITS)}')
    failed = 0
    for number, (pattern, limit) in enumerate(LIMITS.items(), 1):
        size = bytes_per_event(pattern)
        failed += size > limit
        print(f'{"ok" if size <= limit else "not ok"} {number} - {pattern}: at most {limit} bytes an event')
        print(f'# {pattern}: {size:.2f}', flush=True)
    return 1 if failed else 0


sys.exit(main())
