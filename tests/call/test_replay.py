#!/usr/bin/env python3
"""Records the generated program that makes each call of the tables, replays it, and looks for each call again. Speaks TAP.

    test_replay.py PROGRAM
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IOSEER = os.path.join(os.environ.get('IOSEER_BUILD', str(SOURCE / 'build')), 'ioseer')
TIMEOUT_SECONDS = 120
sys.path.insert(0, str(SOURCE / 'gen'))
import gen_replay  # noqa: E402
from tables import Tables  # noqa: E402


def ioseer(*words, **options):
    return subprocess.run([IOSEER, *map(str, words)], timeout=TIMEOUT_SECONDS, check=True, **options)


def operations(log, with_failed):
    """How many events a log has of each operation."""
    events = json.loads(ioseer('dump', '--json', log, capture_output=True).stdout)
    return collections.Counter(event['op'] for event in events if with_failed or not event['errno'])


def record_and_replay(program, folder):
    scratch, recorded, replayed = folder / 'scratch', folder / 'recorded.ioseer', folder / 'replayed.ioseer'
    scratch.mkdir()
    (scratch / 'stdin').write_text('abcdefg 1234567\n' * 4096)
    with open(scratch / 'stdin') as stdin, open(scratch / 'stdout', 'a') as stdout:
        ioseer('record', '-q', '-o', recorded, '--', program, scratch, stdin=stdin, stdout=stdout)
    (folder / 'on').mkdir()
    ioseer('replay', '-q', '--no-think', '--on', folder / 'on', '--log', replayed, recorded, capture_output=True)
    return operations(recorded, False), operations(replayed, True)


def main():
    replays = dict(gen_replay.replays(Tables(SOURCE / 'calls')))
    with tempfile.TemporaryDirectory() as folder:
        recorded, replayed = record_and_replay(sys.argv[1], pathlib.Path(folder))
    wanted = collections.Counter()
    for op, count in recorded.items():
        if replays[op].form not in ('SKIP', 'COPY', 'SENDFILE'):
            wanted[replays[op].call.op] += count
    print(f'1..{len(wanted)}')
    for number, (op, count) in enumerate(sorted(wanted.items()), 1):
        print(f"{'ok' if replayed[op] >= count else 'not ok'} {number} - {op}: {replayed[op]} of {count} calls replayed")
    return 0


if __name__ == '__main__':
    sys.exit(main())
