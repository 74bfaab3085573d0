#!/usr/bin/env python3
"""Runs the programs of tests/call bare and recorded, and compares. Speaks TAP, one line per case.

    run.py [--without=LIBRARY]... PROGRAM...

Each program writes a report into its scratch directory: for each case what its calls returned and which events must
be in the log. Markers in the log (accesses to SCRATCH/start/CASE and SCRATCH/stop/CASE) tell which events are a
case's own. The last line checks that every symbol and system call of the tables has a case.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IOSEER = os.path.join(os.environ.get('IOSEER_BUILD', str(SOURCE / 'build')), 'ioseer')
TIMEOUT_SECONDS = 60
ABOVE = ('hdf5', 'pnetcdf', 'netcdf')
COMPARED = ['op', 'file', 'offset', 'size', 'result', 'errno']
LIBRARIES = {'libaio': lambda name: name.startswith('io_') and 'uring' not in name,
             'liburing': lambda name: 'io_uring' in name,
             'HDF5': lambda name: name.startswith('H5'),
             'PnetCDF': lambda name: name.startswith('ncmpi_'),
             'NetCDF': lambda name: name.startswith('nc_')}
sys.path.insert(0, str(SOURCE / 'gen'))
import gen  # noqa: E402


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def line(self, name, problems=(), skip=None):
        self.count += 1
        self.failed += bool(problems)
        print(f'{"not ok" if problems else "ok"} {self.count} - {name}{f" # SKIP {skip}" if skip else ""}')
        for problem in problems:
            print(f'# {problem}')


class Run:
    """One run of a program: how it ended and, case by case, what it reported."""

    def __init__(self, scratch, command):
        self.scratch = scratch
        (scratch / 'stdin').write_text('abcdefg 1234567\n' * 4096)
        with open(scratch / 'stdin') as stdin, open(scratch / 'stdout', 'a') as stdout, \
                open(scratch / 'stderr', 'w') as stderr:
            self.status = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=stderr, timeout=TIMEOUT_SECONDS,
                                         check=False).returncode
        self.cases, self.ended = {}, False
        for line in (scratch / 'report').read_text().splitlines():
            fact = json.loads(line)
            self.ended |= 'end' in fact
            if 'case' in fact:
                self.cases.setdefault(fact['case'], []).append(fact)

    def of(self, case, key):
        return [fact for fact in self.cases.get(case, []) if key in fact]

    def problems(self):
        if not self.ended:
            last = list(self.cases)[-1] if self.cases else 'the first case'
            yield f'status {self.status}, ended in {last}'
            yield from (self.scratch / 'stderr').read_text().splitlines()[-5:]
        elif self.status:
            yield f'status {self.status}'


def ioseer_json(*words):
    done = subprocess.run([IOSEER, *words], capture_output=True, timeout=TIMEOUT_SECONDS, check=True)
    return json.loads(done.stdout)


def events_by_case(events, scratch):
    """The events between a case's markers, by case; those on the report are the test's own."""
    found, current = {}, None
    for event in events:
        name = event['file'] or ''
        if event['op'] == 'access' and name.startswith(f'{scratch}/start/'):
            current = found.setdefault(name.removeprefix(f'{scratch}/start/'), [])
        elif event['op'] == 'access' and name.startswith(f'{scratch}/stop/'):
            current = None
        elif current is not None and name != f'{scratch}/report':
            current.append(event)
    return found


def without_inner(events):
    """Of calls above MPI-IO, what they contain is not looked at, unless it is of the same layer: a call on several objects
    contains a transfer of each. An object's name is FILE:OBJECT."""
    inner, kept = {}, []
    for event in events:
        if event['parent'] in inner or event['layer'] in ABOVE:
            inner[event['id']] = event['layer']
        if inner.get(event['parent'], event['layer']) == event['layer'] and (
                event['layer'] in ABOVE or event['parent'] not in inner):
            file = f'{event["file"]}:{event["object"]}' if event['object'] else event['file']
            kept.append(event | {'file': file})
    return kept


def brief(event):
    return ' '.join(f'{key}={event[key]}' for key in COMPARED)


def matches(expected, event):
    return all(expected[key] in ('any', event[key]) for key in COMPARED)


def check_async(event):
    """Asynchronous events last from submission to observed completion; the time inside calls is part of that."""
    if 'call_time' in event and not 0 < event['call_time'] <= event['duration']:
        yield f'call_time {event["call_time"]}, duration {event["duration"]}: {brief(event)}'


def check_sums(run, case, events):
    for fact in run.of(case, 'sum'):
        parts = sorted((e for e in events if e['op'] == fact['op'] and e['file'] == fact['file']),
                       key=lambda e: e['offset'])
        total = sum(e['result'] for e in parts)
        if total != fact['sum']:
            yield f'{fact["op"]}: {total} bytes, not {fact["sum"]}'
        for one, two in zip(parts, parts[1:]):
            if one['offset'] + one['result'] > two['offset']:
                yield f'overlap: {brief(one)} and {brief(two)}'
        events[:] = [e for e in events if e not in parts]


def check_events(run, case, events, calls):
    left = list(events)
    yield from check_sums(run, case, left)
    taken = {}
    for expected in run.of(case, 'expected'):
        event = next((e for e in left if matches(expected, e)), None)
        if event is None:
            yield f'missing: {brief(expected)}'
            continue
        left.remove(event)
        taken[expected['expected']] = event
        parent = taken.get(expected['parent'], {}).get('id')
        if event['parent'] != parent:
            yield f'parent {event["parent"]}, not {parent}: {brief(event)}'
        if (event['layer'], event['class']) != calls[event['op']]:
            yield f'{event["layer"]} {event["class"]}, not {calls[event["op"]]}: {brief(event)}'
        yield from check_async(event)
    yield from (f'unexpected: {brief(event)}' for event in left)
    for fact in run.of(case, 'of'):
        event = taken.get(fact['of'], {})
        if 'file2' in fact and event.get('file2') != fact['file2']:
            yield f'file2 {event.get("file2")}, not {fact["file2"]}'
        if 'lasting' in fact and event.get('duration', 0) < fact['lasting'] / 1e9:
            yield f'duration {event.get("duration")}, less than {fact["lasting"] / 1e9}'


def check_case(bare, recorded, case, events, processes, calls):
    def returned(run):
        return [(fact['returned'], fact['errno']) for fact in run.of(case, 'returned')]
    if returned(bare) != returned(recorded):
        yield f'returned {returned(recorded)}, without the recorder {returned(bare)} (value, errno)'
    for run in (bare, recorded):
        yield from (f'does not hold: {fact["failed"]}' for fact in run.of(case, 'failed'))
    for fact in recorded.of(case, 'symbol'):
        if not fact['from'].endswith('libioseer.so'):
            yield f'{fact["symbol"]} comes from {fact["from"]}'
    yield from check_events(recorded, case, events, calls)
    for fact in recorded.of(case, 'pid'):
        if fact['exit'] not in processes.get(fact['pid'], []):
            yield f'info says {processes.get(fact["pid"])} of the process, not {fact["exit"]}'


def check_program(tap, program, calls):
    """Prints a line for each case; gives the names of the cases."""
    with tempfile.TemporaryDirectory(prefix='ioseer-call-') as folder:
        folder = pathlib.Path(folder).resolve()
        for name in ('bare', 'recorded'):
            (folder / name).mkdir()
        bare = Run(folder / 'bare', [program, folder / 'bare'])
        log = folder / 'log.ioseer'
        recorded = Run(folder / 'recorded', [IOSEER, 'record', '-q', '-o', log, '--', program, folder / 'recorded'])
        problems = [f'{name}: {p}' for name, run in (('bare', bare), ('recorded', recorded)) for p in run.problems()]
        found, processes = {}, {}
        if log.exists():
            found = events_by_case(without_inner(ioseer_json('dump', '--json', log)), recorded.scratch)
            info = ioseer_json('info', '--json', log)
            for process in info['processes']:
                processes.setdefault(process['pid'], []).append(process['exit'])
            if info['lost_events']:
                problems.append(f'{info["lost_events"]} events lost')
        tap.line(f'{os.path.basename(program)} runs', problems)
        for case in bare.cases:
            skip = bare.of(case, 'skip')
            failures = [] if skip else list(check_case(bare, recorded, case, found.get(case, []), processes, calls))
            tap.line(case, failures, skip[0]['skip'] if skip else None)
        return set(bare.cases)


def check_coverage(tap, tables, cases, absent):
    """Every name in the tables must have a case; those of a library that is not there are skipped."""
    wanted = {name for call in tables.exported for name in call.symbols()}
    for call in tables.calls:
        numbers = [call.name] if call.is_sys else call.options.get('sys', [])
        wanted |= {f'syscall({number})' for number in numbers}
    for library in absent:
        names = sorted(name for name in wanted - cases if LIBRARIES[library](name))
        for name in names:
            tap.line(name, skip=f'built without {library}')
        cases |= set(names)
    missing = sorted(wanted - cases)
    tap.line('every name in the tables has a case', [f'no case: {name}' for name in missing])


def main():
    arguments = sys.argv[1:]
    absent = [word.removeprefix('--without=') for word in arguments if word.startswith('--without=')]
    tables = gen.Tables(SOURCE / 'calls')
    calls = {op: (call.layer, call.cls) for _, op, call in tables.operations()}
    tap, cases = Tap(), set()
    for program in arguments:
        if not program.startswith('--'):
            cases |= check_program(tap, program, calls)
    check_coverage(tap, tables, cases, absent)
    print(f'1..{tap.count}')
    return 1 if tap.failed else 0


sys.exit(main())
