#!/usr/bin/env python3
"""Runs the oracle tests and prints TAP.

    run.py [KIND[/CASE]]...     for example: run.py strace/tar-create behaviour/git-*

Kinds: parser (the oracle against files), strace (the log against strace), behaviour (with and without recording),
follow (programs that are followed, against strace),
trouble (what must not hurt the program). Environment: IOSEER is the tool, ORACLE_PROGRAMS the folder of the test
programs, ORACLE_KEEP=1 keeps the folders of the runs.
"""

import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import behaviour  # noqa: E402
import cases  # noqa: E402
import compare  # noqa: E402
import comparison_check  # noqa: E402
import follow  # noqa: E402
import parser_check  # noqa: E402
import place  # noqa: E402
import strace  # noqa: E402
import trouble  # noqa: E402

MAX_LINES = 60


def needs_strace(check):
    def checked(where, case):
        if not strace.available():
            raise place.Skip("strace cannot trace here")
        return check(where, case)
    return checked


def tests():
    """(name, check, case) of everything there is."""
    for case in cases.ALL:
        if case.traced:
            yield f"parser/{case.name}", needs_strace(parser_check.check), case
    yield "parser/comparison", needs_strace(comparison_check.check), cases.ALL[0]
    for case in cases.ALL:
        if case.traced:
            yield f"strace/{case.name}", needs_strace(compare.check), case
    for case in cases.ALL:
        yield f"behaviour/{case.name}", behaviour.check, case
    for case in cases.FOLLOWED:
        yield f"follow/{case.name}", needs_strace(follow.check), case
    for case in trouble.CASES:
        yield f"trouble/{case.name}", trouble.check, case


def chosen(patterns):
    for name, check, case in tests():
        kind = name.split("/")[0]
        if not patterns or any(kind == p or fnmatch.fnmatch(name, p) for p in patterns):
            yield name, check, case


def run_one(base, number, name, check, case):
    try:
        place.require(case)
        problems = list(check(place.Place(base, name), case))
    except place.Skip as reason:
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        return True
    except subprocess.TimeoutExpired as expired:
        problems = [str(expired)]
    except Exception:
        problems = traceback.format_exc().splitlines()
    print(f"{'not ok' if problems else 'ok'} {number} - {name}")
    for line in problems[:MAX_LINES]:
        for part in str(line).splitlines():
            print(f"# {part}".encode("utf-8", "backslashreplace").decode())
    if len(problems) > MAX_LINES:
        print(f"# and {len(problems) - MAX_LINES} more")
    sys.stdout.flush()
    return not problems


def main(patterns):
    todo = list(chosen(patterns))
    if not todo:
        print(f"run.py: nothing is called {' '.join(patterns)}", file=sys.stderr)
        return 2
    print(f"TAP version 14\n1..{len(todo)}", flush=True)
    base = tempfile.mkdtemp(prefix="ioseer-oracle-", dir=os.environ.get("ORACLE_DIR", "/var/tmp"))
    os.chmod(base, 0o755)  # programs that give up root must still reach their folder
    good = [run_one(base, number, *test) for number, test in enumerate(todo, 1)]
    if os.environ.get("ORACLE_KEEP"):
        print(f"# kept {base}")
    else:
        shutil.rmtree(base, ignore_errors=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
