"""Compares a log with what strace saw of the same run.

An event explains the system calls that its thread made between its start and its end. This one rule separates calls
that libc makes itself (in stdio, opendir, mkstemp ...) from calls that must be events.
"""

import bisect
import errno
import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field

import kernel
import place
import strace

# What the recorder leaves out by default, and what it keeps all the same.
SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/bin", "/sbin",
                  "/run", "/boot", "/snap", "/nix", "/var/lib", "/var/run", "/var/cache")
KEPT_FOLDERS = ("/dev/shm", "/run/user", "/run/media", "/run/shm")
SLACK_SECONDS = 5e-6  # between the recorder's clock and strace's

# System call -> the operations that are that call. If it is not in the table, the names are the same.
OPERATIONS = {
    "open": {"open"}, "openat": {"open", "openat", "creat"}, "creat": {"creat"}, "openat2": {"openat2"},
    "pread64": {"pread"}, "pwrite64": {"pwrite"}, "preadv": {"preadv"}, "preadv2": {"preadv2"},
    "dup2": {"dup2"}, "dup3": {"dup3", "dup2"}, "newfstatat": {"stat", "lstat", "fstat", "fstatat"},
    "stat": {"stat"}, "lstat": {"lstat"}, "fallocate": {"fallocate", "posix_fallocate"},
    "faccessat": {"faccessat", "access", "eaccess"}, "faccessat2": {"faccessat", "eaccess"},
    "unlink": {"unlink", "remove"}, "rmdir": {"rmdir", "remove"}, "renameat2": {"renameat2", "renameat", "rename"},
    "fchmodat": {"fchmodat", "chmod", "lchmod"}, "getdents64": {"getdents64", "readdir"},
    "utimensat": {"utimensat", "futimens", "utimes", "lutimes", "futimes", "utime", "futimesat"},
    "mknod": {"mknod", "mkfifo"}, "mknodat": {"mknodat", "mkfifoat", "mknod", "mkfifo"},
    "fchownat": {"fchownat", "chown", "lchown"}, "close_range": {"close_range", "closefrom"},
    "fadvise64": {"posix_fadvise"}, "statfs": {"statfs", "statvfs"}, "fstatfs": {"fstatfs", "fstatvfs"},
}
COPIES = {"sendfile", "copy_file_range", "splice"}
# Operations for which libc chooses the system calls.
COMPOSITE = {
    "mkstemp", "mkostemp", "mkstemps", "mkostemps", "mkdtemp", "shm_open", "opendir", "fdopendir", "closedir",
    "readdir", "rewinddir", "seekdir", "telldir", "scandir", "remove", "statvfs", "fstatvfs",
    "eaccess", "faccessat", "fchmodat", "lchmod", "posix_fallocate", "sync", "realpath", "pwritev2",
    "preadv2",
}
# Calls by which the recorder itself asks the kernel about a descriptor. They need not be events.
QUESTIONS = {"fstat", "flock"}
REALPATH_ROOM = "1023"  # the buffer by which readlink is known to come from realpath
# What an event of a group must contain, besides the file and the error.
NEEDS_SIZE = {"read", "write", "mmap", "munmap", "truncate"}
NEEDS_RESULT = {"read", "write", "open", "seek"}


@dataclass(eq=False)
class Event:
    id: int
    parent: int | None
    pid: int
    tid: int
    layer: str
    op: str
    kind: str  # the class
    file: str | None
    offset: int | None
    size: int | None
    result: int | None
    errno: int
    start: float  # seconds since the epoch
    end: float
    facts: list = field(default_factory=list)   # what it is

    @staticmethod
    def read(raw, job_start):
        start = job_start + raw["start"]
        return Event(raw["id"], raw["parent"], raw["pid"], raw["tid"], raw["layer"], raw["op"], raw["class"],
                     raw["file"], raw["offset"], raw["size"], raw["result"], raw["errno"] or 0, start,
                     start + raw["duration"])

    @property
    def asynchronous(self):
        return self.op.startswith(("aio_", "io_submit_", "io_uring_"))

    def __str__(self):
        return (f"[{self.tid}] event {self.id}: {self.op} {self.file} offset {self.offset} size {self.size} "
                f"result {self.result} errno {self.errno}")


def tool_json(*words):
    done = subprocess.run([place.IOSEER, *words], capture_output=True, timeout=place.TIMEOUT_SECONDS)
    if done.returncode:
        raise RuntimeError(f"ioseer {words[0]}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout.decode("utf-8"), strict=False)


def is_under(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def included(path):
    return is_under(path, KEPT_FOLDERS) or not is_under(path, SYSTEM_FOLDERS)


def operations(fact):
    name = fact.call.name
    if name in COPIES:
        return {f"{name}_{fact.group}"}
    if name == "io_submit":
        return {f"io_submit_{fact.group}"} if fact.group != "sync" else {"io_submit_fsync", "io_submit_fdsync"}
    return OPERATIONS.get(name, {name})


class Comparison:
    def __init__(self, facts, events, ends, exits=None, losses=()):
        """`ends`: how strace saw each process end; `exits`: what the log says; `losses`: what it says is missing."""
        self.facts, self.ends, self.exits, self.losses = facts, ends, exits, losses
        self.unrecorded = defaultdict(list)  # pid -> facts of processes that are not in the log
        self.problems, self.events = [], events
        self.by_thread, self.asynchronous = defaultdict(list), defaultdict(list)
        for event in events:
            (self.asynchronous[event.pid] if event.asynchronous else self.by_thread[event.tid]).append(event)
        for listed in self.by_thread.values():
            listed.sort(key=lambda e: e.start)
        self.starts = {tid: [e.start for e in listed] for tid, listed in self.by_thread.items()}
        self.stdio_files = {(e.pid, e.file) for e in events if e.layer == "stdio"}
        self.stdio_bytes = defaultdict(int)        # kernel's: (pid, file, group) -> bytes
        self.stdio_readers = defaultdict(set)      # (pid, file) -> open files read by stdio
        self.seeks = set()                         # open files whose position was moved
        self.shared = {}                           # open file -> transfers at its position or its end
        self.last = {}                             # tid -> last fact, for those that were killed

    # --- which event is it ---

    def around(self, fact):
        """The events of the thread in which the call happened, innermost first."""
        tid, call = fact.call.tid, fact.call
        listed = self.by_thread.get(tid, [])
        at = bisect.bisect_right(self.starts.get(tid, []), call.start + SLACK_SECONDS)
        found = []
        for event in reversed(listed[max(0, at - 64):at]):
            if call.end <= event.end + SLACK_SECONDS:
                found.append(event)
        return sorted(found, key=lambda e: e.end - e.start)

    def asynchronous_event(self, fact):
        """Of the same process, for the same bytes, and not yet taken."""
        for event in self.asynchronous.get(fact.pid, []):
            same = event.file in fact.names and event.kind == fact.group
            if same and event.offset == fact.offset and not event.facts:
                return event
        return None

    def match(self, fact):
        """The event of this fact, or the composite event that explains it, or None."""
        around = self.around(fact)
        own = [e for e in around if e.op in operations(fact) and not any(f.group == fact.group for f in e.facts)]
        for event in sorted(own, key=lambda e: e.file not in fact.names):
            event.facts.append(fact)
            return event
        composite = next((e for e in around if e.layer == "stdio" or e.op in COMPOSITE), None)
        if fact.call.name == "io_submit" or (composite is None and fact.call.name in ("pread64", "pwrite64", "fsync")):
            event = self.asynchronous_event(fact)
            if event:
                event.facts.append(fact)
                return event
        return composite

    # --- the comparison ---

    def run(self):
        relevant = [f for f in self.facts if included(f.path)]
        for fact in relevant:
            self.last[fact.call.tid] = fact
        for fact in relevant:
            if fact.group == "seek" and fact.file and not is_question(fact):
                self.seeks.add(fact.file)
            if fact.reason or fact.call.error.startswith("ERESTART"):
                continue
            event = self.match(fact)
            if event is None:
                self.unexplained(fact)
            elif fact in event.facts:
                self.check_fields(fact, event)
            elif fact.group in ("read", "write") and event.layer == "stdio":
                self.count_stdio(fact)
        self.check_events()
        self.check_uncertain()
        self.check_stdio()
        for pid, facts in self.unrecorded.items():
            if not self.losses:
                self.problems.append(f"[{pid}] is not in the log and no loss is stated; it made {len(facts)} calls, "
                                     f"first {facts[0]}")
        return self.problems

    def unexplained(self, fact):
        if is_question(fact) or fact.call.result is None:
            return
        if self.last[fact.call.tid] is fact and "killed" in self.ends.get(fact.pid, ""):
            return  # it ended in the kernel, but its thread was killed before it could record that
        if fact.group == "munmap" or (fact.group == "stat" and fact.path == "/"):
            return  # libc looks at the root when it reads nsswitch.conf
        if fact.file and fact.file.entered and fact.group in ("open", "close"):
            return  # nftw goes through folders this way
        if fact.path.startswith("/dev/shm/sem."):
            return  # libc makes named semaphores by itself
        if fact.group == "readlink" and fact.call.args[2] == REALPATH_ROOM:
            return
        used_by_stdio = any((fact.pid, name) in self.stdio_files for name in fact.names)
        if used_by_stdio and fact.group in ("read", "write", "seek", "close"):
            self.count_stdio(fact)  # libc's own, at exit
            return
        if self.exits is not None and fact.pid not in self.exits:
            self.unrecorded[fact.pid].append(fact)
        else:
            self.problems.append(f"no event for {fact}")

    def count_stdio(self, fact):
        if fact.group in ("read", "write") and fact.result and fact.result > 0:
            self.stdio_bytes[fact.pid, fact.path, fact.group] += fact.result
        if fact.group == "read":
            self.stdio_readers[fact.pid, fact.path].add(fact.file)

    def check_fields(self, fact, event):
        wrong = []
        if event.file not in fact.names:
            wrong.append(f"file should be {fact.path}")
        failed = fact.call.errno or (fact.result is not None and fact.result < 0)
        if event.errno != fact.call.errno:
            wrong.append(f"errno should be {fact.call.errno}")
        if fact.group in NEEDS_SIZE and fact.size is not None and event.size != fact.size:
            wrong.append(f"size should be {fact.size}")
        if fact.group in NEEDS_RESULT and event.result != fact.result:
            wrong.append(f"result should be {fact.result}")
        if not failed and self.is_certain(fact) and fact.group in ("read", "write") and fact.offset is not None:
            if event.offset != fact.offset:
                wrong.append(f"offset should be {fact.offset}")
        if wrong:
            self.problems.append(f"{event}: {'; '.join(wrong)}: {fact.call}")

    def is_certain(self, fact):
        """Threads that share a position take it from the kernel one by one, but may report it in another order."""
        if not fact.certain or not fact.file or fact not in self.shared_transfers(fact.file):
            return fact.certain
        return len({t.call.tid for t in self.shared_transfers(fact.file) if t.pid == fact.pid}) == 1

    def shared_transfers(self, file):
        if file not in self.shared:
            appended = file.inode.writes if file.flags & kernel.O_APPEND else []
            self.shared[file] = set(file.transfers) | set(appended)
        return self.shared[file]

    def check_events(self):
        """Every event must have happened."""
        parents = {e.parent for e in self.events if e.parent is not None}
        for event in self.events:
            if event.file is not None and not included(event.file):
                self.problems.append(f"left out by default, yet an event: {event}")
            silent = (event.facts or event.layer == "stdio" or event.op in COMPOSITE or event.id in parents
                      or event.op in QUIET_OPERATIONS or (event.file is None and event.errno == errno.EBADF))
            if not silent:
                self.problems.append(f"no system call for {event}")

    def check_uncertain(self):
        """If calls may have overlapped, only their union is known: the bytes that they touched together."""
        expected, got = defaultdict(list), defaultdict(list)
        for event in self.events:
            for fact in event.facts:
                if not self.is_certain(fact) and fact.group in ("read", "write") and (fact.result or 0) > 0:
                    key = (fact.path, fact.group)
                    expected[key].append((fact.offset or 0, fact.result))
                    got[key].append((event.offset or 0, fact.result))
        for key, ranges in expected.items():
            if union(ranges) != union(got[key]):
                self.problems.append(f"{key[0]}: overlapping {key[1]}s touched {union(ranges)}, the events say "
                                     f"{union(got[key])[:10]}")

    def check_stdio(self):
        said, names = defaultdict(int), {}
        for event in self.events:
            if event.layer == "stdio" and event.kind in ("read", "write") and (event.result or 0) > 0:
                said[event.pid, event.file, event.kind] += event.result
        for key in set(said) | set(self.stdio_bytes):
            names[key] = (said.get(key, 0), self.stdio_bytes.get(key, 0))
        for (pid, path, group), (events, kernel_bytes) in sorted(names.items(), key=str):
            exits = (self.exits or {}).get(pid, set())
            died = "killed" in self.ends.get(pid, "") or exits & {"_exit", "exec"}  # buffers are lost with it
            if group == "write" and events != kernel_bytes and not (died and kernel_bytes < events):
                self.problems.append(f"[{pid}] {path}: stdio wrote {kernel_bytes} bytes, its events say {events}")
            if group == "read" and not self.read_is_right(pid, path, events, kernel_bytes):
                self.problems.append(f"[{pid}] {path}: stdio read {kernel_bytes} bytes, its events say {events}")

    def read_is_right(self, pid, path, events, kernel_bytes):
        """What a program took from a stream is known if it read to the end and never seeked."""
        files = self.stdio_readers.get((pid, path), set())
        moved = any(file in self.seeks for file in files)
        at_end = files and all(any(t.group == "read" and t.result == 0 for t in file.transfers) for file in files)
        return moved or (events == kernel_bytes if at_end else events <= kernel_bytes)


# Operations that need no system call of their own, or one that is not traced.
QUIET_OPERATIONS = {"munmap", "mremap", "io_submit", "io_getevents", "lio_listio", "fcntl", "msync", "readahead",
                    "chdir", "fchdir"}


def is_question(fact):
    """Could it be the recorder's own?"""
    call = fact.call
    if call.name == "lseek":
        return [strace.number(a) for a in call.args[1:3]] == [0, 1]
    if call.name in ("newfstatat", "statx"):
        return strace.string(call.args[1]) == ""
    return call.name in QUESTIONS


def union(ranges):
    """Disjoint, sorted ranges that cover the same bytes."""
    merged = []
    for begin, length in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], begin + length)
        else:
            merged.append([begin, begin + length])
    return merged


class RecordedModel(kernel.Model):
    """Leaves out what the tool itself and the recorder's own files did."""

    def note(self, task, call, group, path, file=None, names=(), **more):
        fact = super().note(task, call, group, path, file, names, **more)
        own = (self.root + "/spill", self.root + "/log.ioseer")
        if os.path.basename(task.executable) == "ioseer" or path.startswith(own):
            fact.reason = "tool"
        return fact


def check(where, case):
    where.prepare(case)
    names = kernel.snapshot(where.work)
    where.run(case, strace.command(where.trace, where.record_words()), [("IOSEER_SPILL", where.spill)])
    if not os.path.exists(where.log):
        return [f"there is no log; errors: {open(where.outputs[1], errors='replace').read()[:500]}"]
    model = RecordedModel(where.work, where.path, names, where.outputs)
    facts = model.run(strace.read(where.trace))
    info = tool_json("info", "--json", where.log)
    events = [Event.read(raw, info["job"]["start"]) for raw in tool_json("dump", "--json", where.log)]
    # Calls above MPI-IO make no system calls of their own: those inside them are events, too.
    calls = [event for event in events if event.layer not in ABOVE]
    exits = defaultdict(set)
    for process in info["processes"]:
        exits[process["pid"]].add(process["exit"])
    problems = [f"lost track: {s}" for s in model.surprises]
    problems += Comparison(facts, calls, model.ends, dict(exits), info["losses"]).run()
    ways = {process["via"] for process in info["processes"]}
    if not case.via <= ways:
        problems.append(f"recorded by {ways}, not by {set(case.via)}")
    return problems + list(info_problems(info, events)) + list(exit_problems(exits, model))


ABOVE = ("hdf5", "pnetcdf", "netcdf")  # their bytes are not those of the job


def info_problems(info, events):
    """The summary must agree with the events."""
    sums = defaultdict(int)
    for event in events:
        if event.layer in ABOVE:
            continue
        if event.kind in ("read", "write") and (event.result or 0) > 0 and not event.errno:
            sums[event.file, event.kind] += event.result
    for file in info["files"]:
        for kind, key in (("read", "bytes_read"), ("write", "bytes_written")):
            if file[key] != sums[file["name"], kind]:
                yield f"info: {file['name']}: {key} {file[key]}, the events say {sums[file['name'], kind]}"
    if info["events"] != len(events):
        yield f"info: {info['events']} events, dump has {len(events)}"
    for kind in ("read", "write"):
        if (info["coverage"][kind] or 0) > 1.0001:
            yield f"info: coverage of {kind}s is {info['coverage'][kind]}: more than there was"


def exit_problems(exits, model):
    """What the log says about a process's end must not contradict strace."""
    for pid, said in exits.items():
        how = model.ends.get(pid, "")
        if how.startswith("exited") and any(exit.startswith("signal") for exit in said):
            yield f"[{pid}] {how}, the log says {said}"
        if how.startswith("killed") and not any(exit.startswith("signal") or exit == "vanished" for exit in said):
            yield f"[{pid}] {how}, the log says {said}"
        if how.startswith("exited") and "vanished" in said:
            yield f"[{pid}] {how}, the log says it vanished"
