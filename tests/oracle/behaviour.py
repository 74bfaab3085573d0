"""The same program with and without recording: output, files and status must be the same."""

import os
import subprocess

import place


def check(where, case):
    where.prepare(case)
    bare = where.run(case)
    where.prepare(case)
    recorded = where.run(case, where.record_words(), [("IOSEER_SPILL", where.spill)])
    return place.differences(bare, recorded, case.same_output) + left_behind(where) + log_problems(where)


def left_behind(where):
    """Recording leaves the log and nothing else."""
    return [f"left in the spill folder: {name}" for name in os.listdir(where.spill)]


def log_problems(where):
    """The log must exist and open without a warning."""
    if not os.path.exists(where.log):
        return ["there is no log"]
    info = subprocess.run([place.IOSEER, "info", "--json", where.log], capture_output=True)
    return [] if info.returncode == 0 else [f"info: {info.returncode} {info.stderr.decode(errors='replace')}"]
