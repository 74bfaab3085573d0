#!/usr/bin/env python3
"""Makes the tests of every call in the tables: a case per symbol and system call, and one in which the call fails.

    gen_tests.py --calls DIR OUTPUT.c

The value of a parameter follows from its role, else from its name. What the recorder must see follows from the probe.
Both are in test_tables.py. Cases for calls whose probe is `hand`, or in BY_HAND, are written by hand in tests/call.
"""
import pathlib
import re
import sys

from tables import LIBRARY_LAYERS, Tables
from test_tables import AFTER, BEFORE, BY_HAND, CANNOT_FAIL, FAILS, NAMES, ROLES, SEEN, SPECIAL


def probe_of(call):
    """Probes that differ only in how they lock the stream have the same tests."""
    if call.probe in BY_HAND or call.layer in LIBRARY_LAYERS:
        return 'hand'
    return {'stdio_number': 'stdio_meta'}.get(call.probe, call.probe.removesuffix('_unlocked'))


class Case:
    """One call of one symbol (or system call number), meant to succeed or to fail."""

    def __init__(self, call, symbol, number, fails):
        self.call, self.symbol, self.number, self.fails = call, symbol, number, fails
        self.key = ('!' if fails else '') + probe_of(call)
        self.name = (f'syscall({number})' if number else symbol) + (' fails' if fails else '')
        self.function = re.sub(r'\W+', '_', f'case_{self.name}').rstrip('_')
        self.changes = FAILS[probe_of(call)][0] if fails else {}
        given = [word[len('stream='):] for word in call.options.get('with', []) if word.startswith('stream=')]
        self.stream = given[0] if given else 'f.stream'
        self.params = call.params + ([call.extra] if call.extra else [])

    def value(self, parameter):
        """The C expression to pass."""
        special = SPECIAL.get(self.call.name, SPECIAL.get(self.call.op, {}))
        for key in (parameter.role, parameter.name):
            if key and key in self.changes:
                return self.changes[key]
        if parameter.name in special:
            return special[parameter.name]
        values, key = (ROLES, parameter.role) if parameter.role else (NAMES, parameter.name)
        if key not in values:
            sys.exit(f'{self.call.where}: {self.call.name}: no test value for {parameter.text}')
        return values[key]

    def arguments(self):
        relative = any(p.role == 'dirfd' for p in self.params)
        reads = self.call.cls == 'read'
        for p in self.params:
            if p.name == 'format':
                yield '"%15s"' if reads else '"%s %d"'
            elif relative and p.role in ('path', 'path2'):
                yield f'fixture_relative({self.value(p)})'
            elif p.type != 'va_list':
                yield self.value(p)
        if any(p.name == 'format' for p in self.params):
            yield 'f.buf' if reads else '"text", 7'

    def invocation(self):
        if self.number:
            return f"syscall({', '.join([f'SYS_{self.number}'] + [f'(long)({a})' for a in self.arguments()])})"
        return f"{'list' if takes_list(self.call) else 'symbol'}_{self.symbol}({', '.join(self.arguments())})"

    def file_of(self, role):
        """The name of the file behind a role."""
        values = {p.role: self.value(p) for p in self.params if p.role}
        if role == 'stream':
            return 'f.path' if self.stream == 'f.stream' else f'case_path("{self.stream}")'
        if role == 'dir' or (role == 'fd' and values['fd'] == 'f.dirfd'):
            return 'case_path("work")'
        if role == 'fd':
            return 'f.path'
        if role == 'path' and 'path' not in values:
            return 'fixture_name_of(fixture_stream_fd(result))'
        if role == 'path' and self.call.op == 'shm_open':
            return f"fixture_shared_name({values['path']})"
        return values.get(role, 'NONE')

    def before(self):
        yield 'fixture_begin();'
        if self.call.op == 'pclose':
            yield 'fixture_pipe_stream();'
        elif any(p.role == 'stream' for p in self.params):
            modes = {'read': 'a', 'write': 'r'} if self.fails else {'read': 'r'}
            yield f"fixture_stream(\"{modes.get(self.call.cls, 'r+')}\");"
        if self.call.op.startswith('accept'):
            yield 'fixture_listener();'
        yield BEFORE.get(self.key, BEFORE.get(probe_of(self.call), '')).replace('{stream}', self.stream)
        if self.key in ('stdio_read', 'stdio_write'):
            yield f'off_t before = ftello({self.stream});'

    def returned(self):
        """What case_stop() reports: no addresses, they differ from run to run."""
        if self.call.ret == 'void':
            return '0'
        if probe_of(self.call) in ('mmap', 'mremap'):
            return '(void *)result == MAP_FAILED ? -1 : 0'
        return 'result != NULL' if self.call.ret.endswith('*') and not self.number else 'result'

    def expectations(self):
        op, probe = self.call.op, probe_of(self.call)
        if probe == 'copy' and (op == 'splice' or not self.fails):
            yield from self.copy_expectations()
            return
        seen = FAILS[probe][1] if self.fails else SEEN.get(probe, '')
        if self.call.cls == '-' or not seen:
            return
        if 'moved' in seen:
            yield f'int64_t moved = ftello({self.stream}) - before;'
        words = re.sub(r'\{(\w+)\}', lambda match: self.file_of(match.group(1)), seen.replace(' ', ', '))
        event = f'"{op}_write", {words}' if probe == 'copy' else f'"{op}", {words}'
        if probe == 'fd_range_error':
            yield f'expect_error({event}, (int)result);'
        else:
            yield f'expect_file2(expect({event}), f.fresh);' if probe == 'paths' else f'expect({event});'

    def copy_expectations(self):
        op = self.call.op
        if op == 'splice':
            if not self.fails:
                yield 'expect("splice_read", f.path, IN_OFFSET, LENGTH, result);'
            return
        out_offset = 'POSITION' if op == 'sendfile' else 'OUT_OFFSET'
        yield f'int parent = expect("{op}", NULL, NONE, LENGTH, result);'
        yield f'expect_child(parent, "{op}_read", f.path, IN_OFFSET, LENGTH, result);'
        yield f'expect_child(parent, "{op}_write", f.other, {out_offset}, LENGTH, result);'

    def body(self):
        if not self.number:
            yield f'if (!fixture_find(&symbol_{self.symbol}, "{self.symbol}")) return;'
        yield from self.before()
        yield 'case_start();'
        kind = '' if self.call.ret == 'void' else f"{'long' if self.number else self.call.ret} result = "
        yield f'{kind}{self.invocation()};'
        # A new descriptor that is not a file: calls on it must not count for the file that had its number before.
        if probe_of(self.call) == 'newfd':
            yield 'fcntl((int)result, F_GETFD);'
        if probe_of(self.call) == 'newfds':
            yield 'fcntl(f.pair[0], F_GETFD);'
            yield 'fcntl(f.pair[1], F_GETFD);'
        yield f'case_stop({self.returned()});'
        yield from self.expectations()
        yield AFTER.get(self.key, AFTER.get(probe_of(self.call), '')).replace('{stream}', self.stream)
        yield 'fixture_end();'

    def text(self):
        body = '\n'.join(f'    {line}' for line in self.body() if line)
        return self.guarded(f'static void {self.function}(void)\n{{\n{body}\n}}\n')

    def row(self):
        return self.guarded(f'    {{"{self.name}", {self.function}}},')

    def guarded(self, text):
        return f'#ifdef SYS_{self.number}\n{text}\n#endif' if self.number else text


def takes_list(call):
    return any(p.type == 'va_list' for p in call.params)


def cases(tables):
    for call in (c for c in tables.calls if c.layer != "mpiio"):
        if probe_of(call) == 'hand':
            continue
        ways = [] if call.is_sys else [(symbol, None) for symbol in call.symbols()]
        ways += [(None, number) for number in ([call.name] if call.is_sys else call.options.get('sys', []))]
        for symbol, number in ways:
            yield Case(call, symbol, number, False)
            if call.cls != '-' and probe_of(call) in FAILS and call.op not in CANNOT_FAIL:
                yield Case(call, symbol, number, True)


def declarations(call, symbol):
    yield f"static {call.pointer().replace(f'(*{call.name})', f'(*symbol_{symbol})')};"
    if takes_list(call):
        fixed = [p for p in call.params if p.type != 'va_list']
        yield f"static {call.ret} list_{symbol}({', '.join(p.text for p in fixed)}, ...)\n{{\n    va_list list;"
        yield f'    va_start(list, {fixed[-1].name});'
        yield f"    {call.ret} result = symbol_{symbol}({', '.join(p.name for p in fixed)}, list);"
        yield '    va_end(list);\n    return result;\n}\n'


def write(tables):
    yield '#include "each.h"\n'
    for call in tables.exported:
        if probe_of(call) != 'hand':
            for symbol in call.symbols():
                yield from declarations(call, symbol)
    every = list(cases(tables))
    yield from (case.text() for case in every)
    yield 'const struct test_case generated_cases[] = {'
    yield from (case.row() for case in every)
    yield '    {NULL, NULL},\n};'


def main():
    if len(sys.argv) != 4 or sys.argv[1] != '--calls':
        sys.exit(__doc__)
    tables = Tables(pathlib.Path(sys.argv[2]))
    pathlib.Path(sys.argv[3]).write_text('\n'.join(write(tables)) + '\n')


if __name__ == '__main__':
    main()
