"""Programs that no library can be preloaded into. A second tracer cannot follow them, so strace watches one run and the
recorder another: transfers and names must be the same."""

import re
from collections import Counter

import compare
import kernel
import strace

SHELL_BYTES = 8192  # that libc reads for the shell around the program, unseen
TEMPORARY = re.compile(r"temporary\w{6}$")
NAMED = {"open", "unlink", "rename", "mkdir", "rmdir", "link", "symlink"}


def is_compared(where, path):
    """strace does not know where the output of a program begins that another one has written to before."""
    return compare.included(path or "") and path not in where.outputs


def what_strace_sees(where, case):
    where.prepare(case)
    names = kernel.snapshot(where.work)
    where.run(case, strace.command(where.trace, []))
    model = kernel.Model(where.work, where.path, names, where.outputs)
    facts = model.run(strace.read(where.trace))
    return [f for f in facts if is_compared(where, f.path) and not f.call.errno], model.surprises


def what_the_log_says(where, case):
    where.prepare(case)
    where.run(case, where.record_words(*case.options), [("IOSEER_SPILL", where.spill)])
    info = compare.tool_json("info", "--json", where.log)
    events = compare.tool_json("dump", "--json", where.log)
    return [e for e in events if not e["errno"] and is_compared(where, e["file"])], info


def same(path):
    """A name that two runs have in common."""
    return TEMPORARY.sub("temporary", path or "")


def differences(expected, found):
    for key in sorted(expected.keys() | found.keys(), key=str):
        if expected[key] != found[key]:
            yield f"{key}: strace saw {expected[key]}, the log has {found[key]}"


def check(where, case):
    facts, surprises = what_strace_sees(where, case)
    events, info = what_the_log_says(where, case)
    unsure = {(f.group, f.path) for f in facts if not f.certain}  # calls overlapped: no offset is right or wrong

    def transfer(kind, file, offset, *more):
        return (kind, same(file), None if (kind, file) in unsure else offset, *more)

    problems = [f"lost track: {s}" for s in surprises] + [f"loss: {loss}" for loss in info["losses"]]
    problems += differences(
        Counter(transfer(f.group, f.path, f.offset, f.size, f.result) for f in facts if f.group in ("read", "write")),
        Counter(transfer(e["class"], e["file"], e["offset"], e["size"], e["result"])
                for e in events if e["class"] in ("read", "write")))
    problems += differences(Counter((f.group, same(f.path)) for f in facts if f.group in NAMED),
                            Counter((group, same(e["file"])) for e in events if (group := group_of(e)) in NAMED))
    ways = {e["via"] for e in events}
    if not case.via <= ways:
        problems.append(f"recorded by {ways}, not by {set(case.via)}")
    for part in info["coverage"]["unseen"]:
        if part["direction"] == "write" or (part["bytes"] or 0) > SHELL_BYTES:
            problems.append(f"unseen: {part}")
    return problems


def group_of(event):
    return "open" if event["class"] == "open" else event["op"].removesuffix("2").removesuffix("at")
