#!/usr/bin/env python3
"""Builds ioseer with clang's sanitizers inside $IOSEER_BUILD and runs it. Speaks TAP.

    run.py [PATTERN]...     for example: run.py 'thread fork*' 'unit *'

The recorder cannot be preloaded then (a sanitizer wants to come first): the program it watches is linked with it.
What a failed check did stays in $IOSEER_BUILD/sanitize/runs.
"""
import concurrent.futures
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import damage  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, '..', '..'))
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
PLACE = os.path.join(BUILD, 'sanitize')
RUNS = os.path.join(PLACE, 'runs')

SANITIZERS = {'address': 'address,undefined', 'thread': 'thread'}
REPORTS = ('Sanitizer', 'runtime error:')
REPORTED = 66  # exit status after a report; the default of some is 1, which is also ioseer's
TIMEOUT_SECONDS = 900
MAX_LINES = 60

CASES = ('private', 'shared', 'streams', 'mappings', 'async', 'names', 'churn', 'limit', 'fork', 'signals', 'exit')
SETTINGS = {
    'plain': {},
    'capped': {'IOSEER_TRACE_CAP': str(64 << 10)},  # reached in the middle of a run: threads then share counters
    'counters': {'IOSEER_TRACE_CAP': '0'},
    'callsites': {'IOSEER_CALLSITES': '1'},
    'bounded': {'IOSEER_TRACE_CAP': '0', 'IOSEER_FILE_CAP': '3', 'IOSEER_COUNTER_CAP': '64k'},  # threads share directories
    'chosen': {'IOSEER_TRACE_SMALLER': '1000'},
}
VERBS = (['info'], ['info', '--json'], ['dump'], ['dump', '--json'], ['stats'], ['stats', '--json'],
         ['stats', '--darshan'])
DAMAGED_LOGS = [('async', 'plain'), ('churn', 'callsites'), ('names', 'capped')]  # made of these runs' spill files


class Problem(Exception):
    """A check failed."""


class Skip(Exception):
    """A check cannot be made here."""


# --- building


def has_sanitizer(kind):
    if not shutil.which('clang'):
        return False
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, 'try')
        command = ['clang', f'-fsanitize={SANITIZERS[kind]}', '-x', 'c', '-', '-o', program]
        made = subprocess.run(command, input='int main(void) { return 0; }\n', text=True, capture_output=True)
        return made.returncode == 0 and subprocess.run([program], env=environment(), capture_output=True).returncode == 0


def must(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', **more)
    if done.returncode != 0:
        print('Bail out!', ' '.join(command), 'failed')
        print('\n'.join('# ' + line for line in done.stdout.split('\n')[-MAX_LINES:]))
        sys.exit(1)
    return done.stdout


def build(kind, targets):
    directory = os.path.join(PLACE, kind)
    if not os.path.exists(os.path.join(directory, 'build.ninja')):
        must(['meson', 'setup', directory, SOURCE, f'-Db_sanitize={SANITIZERS[kind]}', '-Db_lundef=false'],
             env=dict(os.environ, CC='clang'))
    must(['ninja', '-C', directory, 'build.ninja'])  # meson's own files may have changed, and with them the targets
    must(['ninja', '-C', directory, *targets(directory)])
    return directory


def unit_tests(directory):
    """(name, program) of each."""
    tests = json.loads(must(['meson', 'introspect', '--tests', directory]))
    return [(test['name'], test['cmd'][0]) for test in tests if any(s.endswith('unit') for s in test['suite'])]


def build_stress(kind):
    directory = os.path.join(PLACE, kind)
    library = os.path.join(directory, 'src', 'rec')
    sources = [os.path.join(HERE, 'programs', 'stress.c')]
    if kind == 'thread':
        sources.append(os.path.join(HERE, 'programs', 'stream_locks.c'))
    must(['clang', '-std=gnu11', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-O1', '-g', f'-fsanitize={SANITIZERS[kind]}',
          *sources, os.path.join(library, 'libioseer.so'), f'-Wl,-rpath,{library}', '-pthread', '-ldl',
          '-o', os.path.join(directory, 'stress')])


def build_all():
    def of_tests(directory):
        return [os.path.relpath(program, directory) for _, program in unit_tests(directory)]

    build('address', lambda directory: ['ioseer', 'src/rec/libioseer.so', *of_tests(directory)])
    build('thread', lambda directory: ['src/rec/libioseer.so'])
    for kind in SANITIZERS:
        build_stress(kind)


# --- running


def environment(**more):
    # Not with a file for reports, nor with a limit for core dumps: a sanitizer that is not ready yet would make them
    # through the recorder. In forked children TSan allows threads only where it is told to.
    common = f'exitcode={REPORTED}:abort_on_error=0:disable_coredump=0'
    return dict(os.environ, ASAN_OPTIONS=f'{common}:detect_leaks=0', TSAN_OPTIONS=f'{common}:die_after_fork=0',
                UBSAN_OPTIONS=f'{common}:print_stacktrace=1', CMOCKA_MESSAGE_OUTPUT='TAP', **more)


def run(command, good=(0,), **more):
    """Runs a program, which must end with a good status and without a report; gives its stdout."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_SECONDS, **more)
    except subprocess.TimeoutExpired:
        raise Problem(f'{command}: not done after {TIMEOUT_SECONDS} s') from None
    errors = done.stderr.decode(errors='replace')
    if done.returncode not in good or any(report in errors for report in REPORTS):
        raise Problem(f'{command}: status {done.returncode}\n{errors}')
    return done.stdout


def ioseer(*words, **more):
    return run([os.path.join(PLACE, 'address', 'ioseer'), *words], env=environment(), **more)


def run_place(kind, case, settings):
    return os.path.join(RUNS, f'{kind}-{case}-{settings}')


def check_unit(program):
    run([program], env=environment())


def check_stress(kind, case, settings):
    """No report, and the log has every write that was made."""
    place = run_place(kind, case, settings)
    shutil.rmtree(place, ignore_errors=True)
    job, work, log = (os.path.join(place, name) for name in ('job', 'work', 'log'))
    os.makedirs(job)
    os.makedirs(work)
    made = run([os.path.join(PLACE, kind, 'stress'), case], cwd=work,
               env=environment(IOSEER_JOB=job, **SETTINGS[settings]))
    ioseer('pack', '-q', '-o', log, job)
    if made:
        compare_writes(log, int(made), os.path.join(work, 'stream'))


def compare_writes(log, made, stream):
    info = json.loads(ioseer('info', '--json', log))
    records = json.loads(ioseer('stats', '--json', log))['records']
    seen = sum(record['counters'].get('POSIX_WRITES', 0) for record in records)
    # Calls of signal handlers at a bad moment may be lost, but not silently. Other losses are in the counters.
    lost = sum(loss['events'] for loss in info['losses'] if 'signal' in loss['reason'])
    if not seen <= made <= seen + lost:
        raise Problem(f'{made} writes were made, {seen} seen, {lost} calls of handlers lost')
    # Past the file cap, its directory has the bytes, with those of other files.
    is_named = any(record['file'] == stream for record in records)
    name = stream if is_named else os.path.join(os.path.dirname(stream), '(other files)')
    streamed = sum(record['counters'].get('STDIO_BYTES_WRITTEN', 0) for record in records if record['file'] == name)
    size = os.path.getsize(stream)
    if streamed < size or (is_named and streamed > size):
        raise Problem(f'{streamed} bytes were seen to go to a stream of {size} bytes')


def check_verbs(make):
    """The verbs on damaged logs: they read what is readable, or say in one line why they cannot."""
    for case, settings in DAMAGED_LOGS:
        source = os.path.join(run_place('address', case, settings), 'log')
        if not os.path.exists(source):
            raise Skip('there is no log of the run before')
        with open(source, 'rb') as file:
            whole = file.read()
        for number, data in enumerate(make(whole)):
            log = os.path.join(RUNS, f'{make.__name__}-{case}-{number}.ioseer')
            with open(log, 'wb') as file:
                file.write(data)
            for verb in VERBS:
                ioseer(*verb, log, good=(0, 1))
            os.unlink(log)


def checks():
    """(name, function, arguments), in the order in which they need each other."""
    for kind in SANITIZERS:
        for case in CASES:
            for settings in SETTINGS:
                yield f'{kind} {case} {settings}', check_stress, (kind, case, settings)
    for make in damage.KINDS:
        yield f'verbs {make.__name__}', check_verbs, (make,)
    for name, program in unit_tests(os.path.join(PLACE, 'address')):
        yield name, check_unit, (program,)


def outcome(function, arguments):
    try:
        function(*arguments)
    except Skip as reason:
        return f' # SKIP {reason}', []
    except Exception as problem:
        return None, f'{type(problem).__name__}: {problem}'.split('\n')
    return '', []


def main():
    missing = [kind for kind in SANITIZERS if not has_sanitizer(kind)]
    if missing:
        print(f"1..0 # SKIP clang's runtimes are not installed (libclang-rt-14-dev): {', '.join(missing)}")
        return 0
    build_all()
    os.makedirs(RUNS, exist_ok=True)
    patterns = sys.argv[1:] or ['*']
    chosen = [check for check in checks() if any(fnmatch.fnmatch(check[0], pattern) for pattern in patterns)]
    print(f'1..{len(chosen)}', flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # Logs are damaged only after they are made: the stress checks come first and are waited for.
        for part in (True, False):
            some = [check for check in chosen if (check[1] is check_stress) == part]
            results = [pool.submit(outcome, function, arguments) for _, function, arguments in some]
            for number, (check, result) in enumerate(zip(some, results), 1 if part else len(chosen) - len(some) + 1):
                directive, lines = result.result()
                failed += directive is None
                print(f'{"not ok" if directive is None else "ok"} {number} - {check[0]}{directive or ""}')
                print(''.join(f'# {line}\n' for line in lines[:MAX_LINES]), end='', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
