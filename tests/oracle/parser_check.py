"""Checks the oracle itself: what it derives from strace alone must agree with the files that the run left behind.

The trace contains all data. Every write is applied at the offset in the model, every read must find the bytes that it
returned, and at the end each file must have the contents that the model has for it.
"""

import os

import kernel
import strace

DATA_BYTES = 1 << 20


def check(place, case):
    place.prepare(case)
    names = kernel.snapshot(place.work, keep_content=True)
    place.run(case, strace.command(place.trace, [], DATA_BYTES))
    model = ReadChecker(place.work, place.path, names, place.outputs)
    model.run(strace.read(place.trace))
    problems = model.problems + [f"lost track: {s}" for s in model.surprises]
    problems += compare_files(model, place.work)
    return problems


class ReadChecker(kernel.Model):
    """Looks at each read when it happens: later writes change the content."""

    keep_content = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.problems = []

    def note(self, *arguments, **more):
        fact = super().note(*arguments, **more)
        content = fact.file.inode.content if fact.file else None
        known = fact.data and None not in fact.data and fact.offset is not None and content is not None
        if fact.group == "read" and known and fact.result and fact.result > 0:
            got = b"".join(fact.data)[:fact.result]
            if bytes(content[fact.offset:fact.offset + fact.result]) != got:
                self.problems.append(f"read another content: {fact}"[:300])
        return fact


def compare_files(model, root):
    for path, inode in sorted(model.names.items()):
        if not path.startswith(root + "/") or os.path.islink(path):
            continue
        if not os.path.exists(path):
            if inode.size is not None and inode.content:
                yield f"{path} should exist"
            continue
        if not os.path.isfile(path):
            continue
        if inode.size is not None and inode.size != os.path.getsize(path):
            yield f"{path}: size {os.path.getsize(path)}, model says {inode.size}"
        if inode.content is not None:
            with open(path, "rb") as data:
                if data.read() != inode.content:
                    yield f"{path}: another content than the model's"
