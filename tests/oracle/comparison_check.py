"""Checks the comparison itself: events made from a trace must agree with it, and each kind of change must be found."""

import compare
import kernel
import strace


def made_up(number, fact):
    classes = {"read", "write", "open", "close", "sync", "seek"}
    result = fact.result if fact.group in compare.NEEDS_RESULT else 0
    return compare.Event(number, None, fact.pid, fact.call.tid, "posix", min(compare.operations(fact)),
                         fact.group if fact.group in classes else "meta", fact.path, fact.offset, fact.size, result,
                         fact.call.errno, fact.call.start, fact.call.end)


def lies(truth):
    """(what, changed events): each must be noticed. `truth` makes the true events anew."""
    write = next(i for i, e in enumerate(truth()) if e.op == "write" and e.result == 500)
    for what, key, value in (("an offset", "offset", 12345), ("a size", "size", 499), ("a result", "result", 499),
                             ("an error", "errno", 5), ("a file", "file", "/tmp/other"), ("a name", "op", "pwrite")):
        events = truth()
        setattr(events[write], key, value)
        yield what, events
    yield "a lost event", truth()[:write] + truth()[write + 1:]
    late = truth()[write]
    late.start, late.end = late.start + 1e-4, late.end + 1e-4
    yield "an event twice", truth() + [late]


def check(where, case):
    where.prepare(case)
    names = kernel.snapshot(where.work)
    where.run(case, strace.command(where.trace, []))
    model = kernel.Model(where.work, where.path, names, where.outputs)
    facts = [f for f in model.run(strace.read(where.trace)) if f.path.startswith(where.work) and not f.reason]

    def truth():
        return [made_up(number, fact) for number, fact in enumerate(facts)]

    problems = compare.Comparison(facts, truth(), model.ends).run()
    for what, events in lies(truth):
        if not compare.Comparison(facts, events, model.ends).run():
            problems.append(f"did not notice {what}")
    return problems
