#!/usr/bin/env python3
"""Reads good and broken logs with ioseer and with the independent decoder: both must agree. Speaks TAP."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import decode  # noqa: E402

BUILD = os.environ['IOSEER_BUILD']
IOSEER = os.path.join(BUILD, 'ioseer')
CHECKPOINT = os.path.join(BUILD, 'examples', 'checkpoint')
NS = 1.5e-9  # the two may round a time differently
TIMES = ('start', 'duration', 'call_time')

PROGRAMS = {
    'threads': [CHECKPOINT, '-s', '2', '-n', '20', '-b', '512'],
    'shell': ['sh', '-c', 'echo one > a; cat a a > b; mv b c; ln c d; rm a; cat nowhere; true'],
    'python': [sys.executable, '-I', '-c', '''import os, random
f = open("data", "wb+", buffering=0)
r = random.Random(1)
for i in range(500):
    f.seek(r.randrange(100000))
    f.write(bytes(r.randrange(1, 300)))
    os.pread(f.fileno(), 64, r.randrange(100000))
g = os.open("copy", os.O_RDWR | os.O_CREAT, 0o600)
os.copy_file_range(f.fileno(), g, 5000, 100)
os.sendfile(g, f.fileno(), 200, 3000)
os.preadv(g, [bytearray(10), bytearray(20)], 50)
os.rename("data", "renamed \\udcff")
if os.fork() == 0:
    os.write(f.fileno(), b"child")
    os._exit(3)
os.wait()'''],
}


# Counters records hold numbers, `stats` Darshan's names for them (times in seconds).
POSIX_COUNTERS = {
    0: 'OPENS', 2: 'DUPS', 3: 'READS', 4: 'WRITES', 5: 'SEEKS', 6: 'STATS', 8: 'FSYNCS', 9: 'FDSYNCS', 14: 'BYTES_READ',
    15: 'BYTES_WRITTEN', 16: 'MAX_BYTE_READ', 17: 'MAX_BYTE_WRITTEN', 18: 'CONSEC_READS', 19: 'CONSEC_WRITES',
    20: 'SEQ_READS', 21: 'SEQ_WRITES', 22: 'RW_SWITCHES', 24: 'FILE_NOT_ALIGNED', 28: 'SIZE_READ_0_100',
    29: 'SIZE_READ_100_1K', 38: 'SIZE_WRITE_0_100', 39: 'SIZE_WRITE_100_1K', 50: 'F_OPEN_START_TIMESTAMP',
    56: 'F_WRITE_END_TIMESTAMP', 58: 'F_READ_TIME', 59: 'F_WRITE_TIME', 60: 'F_META_TIME', 62: 'F_MAX_WRITE_TIME',
}


def record(name, scratch, *options):
    log = os.path.join(scratch, name + '.ioseer')
    work = os.path.join(scratch, name)
    os.mkdir(work)
    done = subprocess.run([IOSEER, 'record', '-q', '-o', log, *options, '--', *PROGRAMS[name]], cwd=work,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f'record: status {done.returncode}: {done.stderr}')
    with open(log, 'rb') as file:
        return file.read()


def run_dump(data, scratch):
    """(events or None, status, standard error) of `ioseer dump --json`."""
    log = os.path.join(scratch, 'try.ioseer')
    with open(log, 'wb') as file:
        file.write(data)
    done = subprocess.run([IOSEER, 'dump', '--json', log], capture_output=True, timeout=60)
    if done.returncode not in (0, 1):
        raise AssertionError(f'dump: status {done.returncode}: {done.stderr.decode(errors="replace")}')
    try:
        events = json.loads(done.stdout) if done.stdout else None
    except ValueError as problem:
        raise AssertionError(f'dump printed bad JSON: {problem}') from problem
    return events, done.returncode, done.stderr.decode(errors='replace')


def differences(ours, theirs):
    """Compares two lists of events; times may differ by rounding."""
    if [event['start'] for event in ours] != sorted(event['start'] for event in ours):
        yield 'dump is not sorted by start'
    ours = {event['id']: event for event in ours}
    theirs = {event['id']: event for event in theirs}
    for number in sorted(set(ours) ^ set(theirs))[:5]:
        yield f'only {"dump" if number in ours else "decode.py"} has {ours.get(number) or theirs.get(number)}'
    for number in sorted(set(ours) & set(theirs)):
        mine, other = dict(ours[number]), dict(theirs[number])
        for key in TIMES:
            if key in mine and key in other and abs(mine[key] - other[key]) < NS:
                del mine[key], other[key]
        keys = [key for key in {**mine, **other} if mine.get(key, 'absent') != other.get(key, 'absent')]
        if keys:
            yield ', '.join(f'event {number} {key}: dump {mine.get(key, "absent")} decode.py {other.get(key, "absent")}'
                            for key in keys)


def compare(data, scratch, undamaged=None):
    """Checks that both readers agree, and that they report damage (if there is an undamaged log to compare with)."""
    events, status, said = run_dump(data, scratch)
    damaged = undamaged is not None
    calls = decode.decode(undamaged)[2] if damaged else None
    expected, problems, _ = decode.decode(data, calls)
    if events is None:
        if not damaged:
            raise AssertionError(f'dump: status {status}: {said}')
        events = []
    found = list(differences(events, expected))
    if found:
        raise AssertionError('\n'.join(found[:8] + problems))
    if not damaged and (problems or said):
        raise AssertionError(f'a good log is said to be damaged: {problems} {said}')
    if damaged and not said:
        raise AssertionError('dump says nothing of the damage')
    return len(events)


def test_program(name):
    def test(scratch):
        if compare(record(name, scratch), scratch) == 0:
            raise AssertionError('no events')
    return test


def test_counters(scratch):
    """Without a trace, stats prints for a file of one process what its counters record holds."""
    rows, problems = decode.decode_counters(record('python', scratch, '--no-trace'))
    if problems:
        raise AssertionError(problems)
    log = os.path.join(scratch, 'python.ioseer')
    stats = json.loads(subprocess.run([IOSEER, 'stats', '--json', log], capture_output=True, check=True).stdout)
    name = os.path.join(scratch, 'python', 'copy')
    told, = (record['counters'] for record in stats['records'] if (record['layer'], record['file']) == ('posix', name))
    row, = (row for row in rows if (row['layer'], row['file']) == ('posix', name))
    for number, counter in POSIX_COUNTERS.items():
        value = row['counters'].get(number, 0) * (1e-9 if counter.startswith('F_') else 1)
        if abs(told['POSIX_' + counter] - value) >= NS:
            raise AssertionError(f'counter {number} is {value}, {counter} {told["POSIX_" + counter]}')
    sizes = [(told[f'POSIX_ACCESS{i}_ACCESS'], told[f'POSIX_ACCESS{i}_COUNT']) for i in range(1, 5)]
    if sorted(size for size in sizes if size[1]) != sorted(map(tuple, row['sizes'])):
        raise AssertionError(f'sizes {row["sizes"]}, in stats {sizes}')


def golden(name):
    with open(os.path.join(HERE, name + '.ioseer'), 'rb') as file:
        return file.read()


def test_truncated(data, scratch):
    cuts = {0, 1, 63, 64, 65, 79, 80, 150, *(len(data) - rest for rest in (1, 11, 12, 13, 31, 32, 33))}
    cuts |= {len(data) * part // 12 for part in range(1, 12)}
    for cut in sorted(cuts):
        try:
            if cut < decode.HEADER_BYTES:
                if run_dump(data[:cut], scratch)[1] == 0:
                    raise AssertionError('there is no log, and dump does not say so')
                continue
            compare(data[:cut], scratch, undamaged=data)
        except AssertionError as problem:
            raise AssertionError(f'cut at {cut} of {len(data)}: {problem}') from problem


def test_flipped(data, scratch):
    chance = random.Random(7)
    for _ in range(40):
        at, bit = chance.randrange(decode.HEADER_BYTES, len(data)), chance.randrange(8)
        broken = bytearray(data)
        broken[at] ^= 1 << bit
        try:
            compare(bytes(broken), scratch, undamaged=data)
        except AssertionError as problem:
            raise AssertionError(f'bit {bit} of byte {at} of {len(data)} changed: {problem}') from problem


def test_hole(scratch):
    """A part in the middle is lost: readers read what comes before and after it."""
    data = record('python', scratch)
    compare(data[:len(data) // 3] + bytes(100) + data[len(data) // 3 + 100:], scratch, undamaged=data)
    compare(data[:len(data) // 3] + data[len(data) // 3 + 50:], scratch, undamaged=data)


def test_newer_version(scratch):
    data = bytearray(record('shell', scratch))
    for offset, value in ((10, 0xffff), (16, 1 << 63)):
        newer = bytearray(data)
        newer[offset:offset + 2 if offset == 10 else 24] = value.to_bytes(2 if offset == 10 else 8, 'little')
        newer[56:64] = decode.xxh64(bytes(newer[:56])).to_bytes(8, 'little')
        _, status, said = run_dump(bytes(newer), scratch)
        if status != 1 or 'newer' not in said:
            raise AssertionError(f'a log of the future: status {status}, {said}')


def test_promise(name):
    """A log that was made long ago is still read."""
    def test(scratch):
        data = golden(name)
        with open(os.path.join(HERE, name + '.json'), encoding='utf-8') as file:
            expected = json.load(file)
        compare(data, scratch)
        found = list(differences(run_dump(data, scratch)[0], expected))
        if found:
            raise AssertionError('\n'.join(found[:8]))
    return test


def test_promise_damaged(name):
    def test(scratch):
        test_truncated(golden(name), scratch)
        test_flipped(golden(name), scratch)
    return test


def without_events(scratch):
    """A log without an index."""
    data = record('python', scratch, '--no-trace')
    if decode.read_trailer(data)[2]:
        raise AssertionError('there is an index')
    return data


def test_without_events(scratch):
    """Counters of a log that is cut off or damaged: both readers find the same records, or fewer and say so."""
    data = without_events(scratch)
    whole, problems = decode.decode_counters(data)
    if problems or not whole:
        raise AssertionError(f'{len(whole)} records, {problems}')
    for cut in (len(data) - 1, len(data) - 12, len(data) - 40, 100):
        events, status, said = run_dump(data[:cut], scratch)
        found, problems = decode.decode_counters(data[:cut])
        if events or status or not said or not problems or len(found) not in (0, len(whole)):
            raise AssertionError(f'cut at {cut}: status {status}, {len(found)} records, {said}, {problems}')
        if (len(found) == 0) != (cut < len(data) - 12):
            raise AssertionError(f'cut at {cut}: {len(found)} records')


# Those made before logs had short headers, and with them.
GOLDEN = ('version1', 'short')
TESTS = [(f'good: {name}', test_program(name)) for name in PROGRAMS]
TESTS += [('counters', test_counters),
          ('truncated', lambda scratch: test_truncated(record('python', scratch), scratch)),
          ('changed bits', lambda scratch: test_flipped(record('python', scratch), scratch)), ('holes', test_hole),
          ('without events', test_without_events), ('newer version', test_newer_version)]
TESTS += [(f'old log: {name}', test_promise(name)) for name in GOLDEN]
TESTS += [(f'old log, damaged: {name}', test_promise_damaged(name)) for name in GOLDEN]


def main():
    if not shutil.which('zstd'):
        print('1..0 # SKIP the zstd command is not installed')
        return 0
    print(f'1..{len(TESTS)}', flush=True)
    failed = 0
    for number, (name, test) in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                test(scratch)
                print(f'ok {number} - {name}', flush=True)
            except (AssertionError, OSError, subprocess.SubprocessError) as problem:
                failed += 1
                print(f'not ok {number} - {name}')
                print('\n'.join('# ' + line for line in str(problem).split('\n')), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
