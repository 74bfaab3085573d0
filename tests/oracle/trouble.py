"""What must not hurt the program, and what the log must still say afterwards."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Callable

import behaviour
import cases
import place

FULL_DISK_BYTES = 256 * 1024
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@dataclass
class Trouble(cases.Case):
    body: Callable | None = None


def check(where, case):
    return case.body(where, case)


def info(where):
    done = subprocess.run([place.IOSEER, "info", "--json", where.log], capture_output=True, check=True)
    return json.loads(done.stdout)


def events(where, *options):
    done = subprocess.run([place.IOSEER, "dump", "--json", *options, where.log], capture_output=True, check=True)
    return json.loads(done.stdout)


def record(where, case, *options, before=(), environment=()):
    where.prepare(case)
    return where.run(case, [*before, *where.record_words(*options)], [("IOSEER_SPILL", where.spill), *environment])


def compare_runs(where, case, **how):
    """Compares the outcome with trouble with that of the bare program."""
    where.prepare(case)
    bare = where.run(case)
    return place.differences(bare, record(where, case, **how), case.same_output)


def start(where, case):
    """Recording goes on while the test does something else."""
    where.prepare(case)
    return subprocess.Popen([*where.record_words(), "bash", "-c", case.script], cwd=where.work,
                            stdin=subprocess.DEVNULL, env=place.environment(case) | {"IOSEER_SPILL": where.spill})


# --- how processes end ---

def ends_as(expected):
    def body(where, case):
        record(where, case)
        found = [p["exit"] for p in info(where)["processes"]]
        return [] if expected in found else [f"info should say {expected!r} of one process; it says {found}"]
    return body


def killed(where, case):
    outcome = record(where, case)
    with open(os.path.join(where.work, "progress"), "rb") as data:
        completed = int.from_bytes(data.read(8), "little")
    writes = [e for e in events(where) if e["op"] == "pwrite"]
    problems = [] if place.shell_status(outcome.status) == 137 else [f"status {outcome.status}, not 137"]
    if not completed <= len(writes) <= completed + 1:
        problems.append(f"{completed} writes were completed, {len(writes)} are in the log")
    wrong = [e for i, e in enumerate(writes) if e["offset"] != i % 64 * 4096 or e["result"] != 4096]
    problems += [f"wrong event: {e}" for e in wrong[:3]]
    ends = [p["exit"] for p in info(where)["processes"]]
    return problems + ([] if "signal 9" in ends else [f"info should say 'signal 9'; it says {ends}"])


def tool_killed(where, case):
    """Killing `record` must not end the program, nor lose what was recorded."""
    process = start(where, case)
    time.sleep(0.3)
    process.kill()
    process.wait()
    time.sleep(1.2)
    done = os.path.exists(os.path.join(where.work, "done"))
    problems = [] if done else ["the program died with the tool"]
    return problems if os.listdir(where.spill) else problems + ["the spill files are gone"]


def forwards_signal(where, case):
    process = start(where, case)
    deadline = time.monotonic() + 10
    while not os.path.exists(os.path.join(where.work, "ready")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.terminate()
    status = process.wait(timeout=place.TIMEOUT_SECONDS)
    problems = [] if status == 33 else [f"status {status}, not 33, the trap's"]
    return problems + behaviour.log_problems(where)


def outlives(where, case):
    problems = []
    record(where, case, "--wait", "5s")
    found = [e for e in events(where) if e["op"] == "write" and str(e["file"]).endswith("/daemon")]
    if [e["result"] for e in found] != [1234]:
        problems.append(f"the daemon's write of 1234 bytes is not in the log: {found}")
    return problems


def outlives_the_wait(where, case):
    """A daemon that lives longer must not delay `record`, and packing its spill must not hurt the daemon."""
    began = time.monotonic()
    record(where, case, "--wait", "10ms")
    took = time.monotonic() - began
    time.sleep(0.6)
    problems = [] if took < 5 else [f"record took {took:.1f} s with --wait 10ms"]
    path = os.path.join(where.work, "daemon")
    if not os.path.exists(path) or os.path.getsize(path) != 1234:
        problems.append("the daemon could not do its work")
    return problems + behaviour.log_problems(where)


# --- no room, no rights ---

def need_root():
    if os.geteuid() != 0:
        raise place.Skip("needs root")


def with_mount(options, kind, target):
    need_root()
    os.makedirs(target, exist_ok=True)
    done = subprocess.run(["mount", "-t", kind, "-o", options, "none", target], capture_output=True)
    if done.returncode:
        raise place.Skip(f"cannot mount {kind} here")


def full_disk(where, case):
    target = os.path.join(where.path, "small")
    with_mount(f"size={FULL_DISK_BYTES}", "tmpfs", target)
    try:
        problems = compare_runs(where, case, environment=[("IOSEER_SPILL", target)])
        found = info(where)
        if found.get("lost_events", 0) == 0 and found.get("events", 0) < 60000:
            problems.append(f"events are missing and nothing is said: {found.get('events')} of 60000 and more")
        return problems
    finally:
        subprocess.run(["umount", target])


def disk_without_room(where, case):
    """Not one block is left for the spill files."""
    target = os.path.join(where.path, "full")
    with_mount("size=64k", "tmpfs", target)
    try:
        with open(os.path.join(target, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError:
                pass
        return compare_runs(where, case, environment=[("IOSEER_SPILL", target)])
    finally:
        subprocess.run(["umount", target])


def unwritable_log(where, case):
    """Neither the log's directory nor that of the spills is writable."""
    need_root()
    folder = os.path.join(where.path, "closed")
    os.makedirs(folder, exist_ok=True)
    where.prepare(case)
    os.chmod(where.work, 0o777)
    bare = where.run(case, NOBODY)
    where.prepare(case)
    os.chmod(where.work, 0o777)
    where.log = os.path.join(folder, "log.ioseer")
    recorded = where.run(case, [*NOBODY, *where.record_words()])
    return place.differences(bare, recorded, True)


def read_only_home(where, case):
    home = os.path.join(where.path, "home")
    os.makedirs(home, mode=0o555, exist_ok=True)
    return compare_runs(where, case, environment=[("HOME", home)])


def dead_fuse(where, case):
    need_root()
    if not os.path.exists("/dev/fuse"):
        raise place.Skip("no /dev/fuse here")
    helper = os.path.join(place.HERE, "dead_fuse.py")
    mount = os.path.join(where.path, "dead")
    os.makedirs(mount, exist_ok=True)
    before = ["unshare", "-m", sys.executable, helper, mount]
    if subprocess.run([*before, "true"], capture_output=True).returncode:
        raise place.Skip("cannot mount FUSE here")
    return compare_runs(where, case, before=before)


def no_overwrite(where, case):
    """An old log is kept unless --force is given; the command is not run."""
    where.prepare(case)
    with open(where.log, "wb") as old:
        old.write(b"old")
    words = [w for w in where.record_words() if w != "--force"]
    outcome = where.run(case, words, [("IOSEER_SPILL", where.spill)])
    with open(where.log, "rb") as old:
        kept = old.read() == b"old"
    problems = [] if kept else ["the old log was overwritten"]
    problems += [] if outcome.status == 1 else [f"status {outcome.status}, not 1"]
    return problems + (["the command was run"] if outcome.tree else [])


def status_of_command(where, case):
    outcome = record(where, case)
    return [] if outcome.status == 42 else [f"status {outcome.status}, not 42"]


PROCESS = cases.PROCESS
WRITER = "echo start > file; cat file file > both; seq 1 1000 | sort > sorted; wc -l < sorted"
MANY_EVENTS = cases.PYTHON + """ -c "
import os, random
fd = os.open('file', os.O_RDWR | os.O_CREAT)
for i in range(60000): os.pwrite(fd, b'x' * (i % 37), random.Random(i).randrange(1 << 20))
print(os.fstat(fd).st_size)
" """

CASES = [
    Trouble("end-clean", "exec " + PROCESS + "chdir", body=ends_as("clean")),
    Trouble("end-_exit", "exec " + PROCESS + "_exit", body=ends_as("_exit")),
    Trouble("end-exec", "exec " + PROCESS + "chain 2", body=ends_as("exec")),
    Trouble("end-abort", "ulimit -c 0; exec " + PROCESS + "abort", body=ends_as("signal 6")),
    Trouble("end-segv", "ulimit -c 0; exec " + PROCESS + "segv", body=ends_as("signal 11")),
    Trouble("end-abort-of-child", "ulimit -c 0; " + PROCESS + "abort; true", body=ends_as("signal 6")),
    Trouble("killed", "exec " + PROCESS + "kill", body=killed),
    Trouble("killed-child", PROCESS + "kill; exit $?", body=killed),
    Trouble("status", "exit 42", body=status_of_command),
    Trouble("tool-killed", "for i in 1 2 3 4 5; do echo $i > file; sleep 0.2; done; touch done", body=tool_killed),
    Trouble("signal-forwarded", "trap 'echo trap > trapped; exit 33' TERM; touch ready; while :; do sleep 0.05; done",
            body=forwards_signal),
    Trouble("daemon", PROCESS + "daemon", body=outlives),
    Trouble("daemon-stays", PROCESS + "daemon", body=outlives_the_wait),
    Trouble("full-disk", MANY_EVENTS, needs=(cases.PYTHON,), body=full_disk),
    Trouble("disk-without-room", WRITER, body=disk_without_room),
    Trouble("unwritable-log", WRITER, body=unwritable_log, needs=("setpriv",)),
    Trouble("read-only-home", WRITER, body=read_only_home),
    Trouble("dead-fuse-mount", WRITER, body=dead_fuse),
    Trouble("no-overwrite", WRITER, body=no_overwrite),
]
