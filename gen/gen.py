#!/usr/bin/env python3
"""Turns the tables in calls/ into everything that has to agree with them.

    gen.py --calls DIR OUTPUT...     writes each OUTPUT; its name says what it is (see WRITERS)
    gen.py --calls DIR --lock        gives new operations an id in DIR/ids.lock (append-only, reviewed)

doc/add-a-call.md describes the tables. The output depends on the tables alone: no dates, no paths.
"""
import pathlib
import sys

from tables import LIBRARY_LAYERS, Tables


def write_calls_header(tables):
    yield '// Ids of the captured operations, pinned in calls/ids.lock.'
    yield '#ifndef IOSEER_CALLS_H\n#define IOSEER_CALLS_H\n\nenum call_id {\n    CALL_none = 0,'
    yield from (f'    CALL_{op} = {number},' for number, op, _ in tables.operations())
    yield '};\n\n#endif'


COUNTED_CLASSES = ['read', 'write', 'open', 'close', 'seek']


def call_facts(call):
    """The fields of struct call_info that are not zero."""
    counted = call.cls if call.cls in COUNTED_CLASSES else '-'
    form = 'nonblocking' if 'async' in call.options.get('traits', []) else 'blocking'
    words = {'count': call.word('count', counted), 'pointer': call.word('pointer', '-'), 'form': call.word('form', form),
             'effect': call.word('effect', '-'), 'subject': call.word('for', '-'), 'part': call.word('part', '-'),
             'sizing': call.word('sizes', '-')}
    facts = {'layer': f'LAYER_{call.layer.upper()}', 'class': f'CLASS_{call.cls.upper()}',
             'traits': call.traits(), 'replayed_as': f"CALL_{call.word('by', call.op)}"}
    if any(parameter.role in ('path', 'filename') for parameter in call.params):
        facts['by_name'] = '1'
    return facts | {field: f'{field}_{word}'.upper() for field, word in words.items() if word != '-'}


def write_calls_table(tables):
    rows = tables.operations()
    yield '#include <sys/syscall.h>\n\n#include "calls.h"\n#include "fmt/call.h"\n\nconst struct call_info call_table[] = {'
    for number, op, call in rows:
        yield f'    [{number}] = {{ // {op}'
        yield from (f'        .{field} = {value},' for field, value in call_facts(call).items())
        yield '    },'
    yield f'}};\nconst unsigned call_table_len = {rows[-1][0] + 1};\n\nconst char *const call_names[] = {{'
    yield from (f'    [{number}] = "{op}",' for number, op, _ in rows)
    yield '};\n\nconst struct call_symbol call_symbols[] = {'
    for call in tables.exported + tables.mpi:
        if call.cls != '-':
            yield from (f'    {{"{name}", {tables.ids[call.op]}}},' for name in call.symbols())
    yield '    {0, 0},\n};\n\nconst struct call_number call_numbers[] = {'
    for call in tables.calls:
        for number in [call.name] if call.is_sys else call.options.get('sys', []):
            if call.cls != '-':
                on_descriptor = str(call.params[0].role == 'fd').lower()
                yield f'#ifdef SYS_{number}\n    {{SYS_{number}, {tables.ids[call.op]}, {on_descriptor}}},\n#endif'
    yield '    {0, 0, 0},\n};'


def gnu_hash(name):
    """As in the tables of ELF files."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xffffffff
    return value


def wanted_functions(calls):
    """The place of each name in the text of all names, and its hash: known before a program starts."""
    place = 0
    for call in calls:
        yield f'    {{{place}, {gnu_hash(call.name):#x}u}}, \\'
        place += len(call.name) + ('late' in call.options) + 1


def write_real_header(tables):
    yield '// The functions behind the shims, filled in by rec/real.c.'
    yield '#ifndef IOSEER_REAL_H\n#define IOSEER_REAL_H\n\n#include "rec/call_types.h"\n'
    own = [call for call in tables.exported if call.layer not in LIBRARY_LAYERS]
    yield '#define REAL_FUNCTIONS(FUNCTION, LATE) \\'
    for call in own:
        yield f"    {'LATE' if 'late' in call.options else 'FUNCTION'}({call.name}) \\"
    yield '\n#define REAL_WANTED \\'
    yield from wanted_functions(own)
    yield '\n\nstruct real_functions {'
    yield from (f'    {call.pointer()};' for call in own)
    yield '};\n'
    for layer in LIBRARY_LAYERS:
        calls = [call for call in tables.exported if call.layer == layer]
        yield f'#define {layer.upper()}_FUNCTIONS(FUNCTION) \\'
        yield from (f'    FUNCTION({call.name}) \\' for call in calls)
        yield f'\n\nstruct {layer}_functions {{'
        yield from (f'    {call.pointer()};' for call in calls)
        yield '};\n'
    yield '#endif'


def shim_body(tables, call, real_call, cast=''):
    """enter, the real call, leave: all decisions are in the probe functions."""
    enter, leave = tables.probe_calls(call)
    unlocks = ' __attribute__((cleanup(stdio_unlock)))' if call.probe.startswith('stdio_') else ''
    is_library = call.layer in LIBRARY_LAYERS
    kind = call.probe.partition('_')[0]
    yield f"    struct {f'{kind}_probe' if is_library else 'probe'} probe{unlocks};"
    if unlocks:
        yield '    probe.locked = NULL;'
    yield f"    probe.caller = {'system_call_caller' if cast else '(uintptr_t)__builtin_return_address(0)'};"
    if is_library:
        yield f'    probe.library = library_of(LIBRARY_{call.layer.upper()}, probe.caller, "{call.name}");'
    if call.ret == 'void':
        yield f'    bool watched = {enter};\n    {real_call};\n    if (watched) {leave};'
    else:
        yield f'    if (!{enter}) return {cast}{real_call};'
        yield f'    {call.ret} result = {real_call};\n    {leave};\n    return {cast}result;'


def exported(call):
    """The C name of a shim is shim_open: prototypes and macros of libc cannot clash with it."""
    name = f'shim_{call.name}'
    return f'{call.prototype(name)} __asm__("{call.name}");\nEXPORT {call.prototype(name)}'


def write_forwarding_shim(tables, call):
    """A variadic function: a twin with a va_list does the work."""
    target = call.options['forward'][0]
    params = ', '.join([p.text for p in call.params] + ['va_list list'])
    yield f'static inline {call.ret} forward_{call.name}({params})\n{{'
    yield from shim_body(tables, call, f'{target}({call.arguments()}, list)')
    yield f'}}\n\n{exported(call)}\n{{\n    va_list list;\n    va_start(list, {call.params[-1].name});'
    yield f'    {call.ret} result = forward_{call.name}({call.arguments()}, list);\n    va_end(list);\n    return result;\n}}'


def write_plain_shim(tables, call):
    yield f'{exported(call)}\n{{'
    if call.extra:
        yield f'    {call.extra.type} {call.extra.name} = 0;'
        yield f"    if ({call.options.get('check', ['true'])[0]}) {{\n        va_list list;"
        yield f'        va_start(list, {call.params[-1].name});'
        yield f'        {call.extra.name} = va_arg(list, {call.extra.type});\n        va_end(list);\n    }}'
    real = f'REAL_LATE({call.name})' if 'late' in call.options else f'real.{call.name}'
    if call.layer in LIBRARY_LAYERS:
        real = f'((const struct {call.layer}_functions *)probe.library->function)->{call.name}'
    yield from shim_body(tables, call, f'{real}({call.arguments()})')
    yield '}'


def write_shims(tables):
    yield '#include "rec/shims.h"\n'
    for call in tables.exported:
        if call.probe != 'hand':
            is_library = call.layer in LIBRARY_LAYERS
            if is_library:
                yield '#ifndef IOSEER_LINKED'
            yield from (write_forwarding_shim if 'forward' in call.options else write_plain_shim)(tables, call)
            yield '#endif\n' if is_library else ''
    numbers = []
    for call in tables.calls:
        for number in [call.name] if call.is_sys else call.options.get('sys', []):
            numbers.append(number)
            params = call.params + ([call.extra] if call.extra else [])
            yield f'#ifdef SYS_{number}\nstatic long system_call_{number}(const long word[6])\n{{'
            for i, p in enumerate(params):
                yield f'    {p.type} {p.name} = ({p.type})word[{i}];\n    (void){p.name};'
            yield from shim_body(tables, call, f'({call.ret})system_call_real(SYS_{number}, word)', '(long)')
            yield '}\n#endif\n'
    yield 'long system_call(long number, const long argument[6])\n{\n    switch (number) {'
    yield from (f'#ifdef SYS_{n}\n    case SYS_{n}: return system_call_{n}(argument);\n#endif' for n in numbers)
    yield '    default: return system_call_real(number, argument);\n    }\n}'


# Pointers of the program that probes read after the call, by role or name; the tracer copies what they point to.
COPIED = {'path': 'tracer_text(0, word[{i}])', 'path2': 'tracer_text(1, word[{i}])',
          'iov': 'tracer_copy(0, word[{i}], (size_t)word[{i} + 1] * sizeof(struct iovec))',
          'in_offset': 'tracer_copy(0, word[{i}], sizeof(off_t))', 'out_offset': 'tracer_copy(1, word[{i}], sizeof(off_t))',
          'how': 'tracer_copy(0, word[{i}], sizeof(struct open_how))'}


def write_traced_half(call, number, kind, parameters, body):
    yield f"static {'bool' if kind == 'before' else 'void'} {kind}_{number}({parameters})\n{{"
    for i, p in enumerate(call.params + ([call.extra] if call.extra else [])):
        copied = COPIED.get(p.role or p.name) if kind == 'after' else None
        value = copied.format(i=i) if copied else f'word[{i}]'
        yield f'    {p.type} {p.name} = ({p.type}){value};\n    (void){p.name};'
    yield f'    (void)word;\n    {body};\n}}'


def write_traced_calls(tables):
    """The two halves of each system call that is an event, for the tracer. Descriptors that are not files are not here:
    the tracer sees every close, so a number never keeps the name of a file."""
    yield '#include "rec/tracer/traced_call.h"\n\n#include "rec/tracer/rings.h"\n\n#include <errno.h>\n#include <sys/syscall.h>\n'
    numbers = []
    for call in tables.calls:
        for number in [call.name] if call.is_sys else call.options.get('sys', []):
            if call.cls == '-':
                continue
            numbers.append(number)
            enter, leave = (half.replace('(&probe', '(probe') for half in tables.probe_calls(call))
            yield f'#ifdef SYS_{number}'
            yield from write_traced_half(call, number, 'before', 'struct probe *probe, const long word[6]', f'return {enter}')
            leave = f'{call.ret} result = ({call.ret})returned;\n    (void)result;\n    {leave}'
            yield from write_traced_half(call, number, 'after', 'struct probe *probe, const long word[6], long returned', leave)
            yield '#endif\n'
    yield 'const struct traced_call traced_calls[TRACED_CALLS] = {'
    yield from (f'#ifdef SYS_{n}\n    [SYS_{n}] = {{before_{n}, after_{n}}},\n#endif' for n in numbers)
    yield '    [SYS_io_uring_setup] = {rings_before_setup, rings_after_setup},'
    yield '    [SYS_io_uring_enter] = {rings_before_enter, rings_after_enter},\n};'


def write_map(tables):
    yield '{\nglobal:'
    yield from (f'    {name};' for name in write_symbols(tables))
    yield 'local:\n    *;\n};'


def write_symbols(tables):
    """All that the library exports; ioseer_core is for MPI libraries that are linked statically."""
    yield from sorted(['ioseer_core'] + [name for call in tables.exported + tables.mpi for name in call.symbols()])


# In a static program the shims see that libc makes these of other calls.
COMPOSED = ['aio_fsync', 'aio_fsync64', 'lchmod']


def write_linked(tables):
    """The names that the linker's --wrap is for, and those of the shims behind them. A library that a program may lack has
    its own way into the program: link/late.c."""
    for call in tables.exported + tables.mpi:
        if call.layer not in LIBRARY_LAYERS and not call.name.startswith('dl') and call.name not in COMPOSED:
            way = 'ioseer_late' if 'late' in call.options else '__wrap'
            yield from (f'{name} {way}_{name}' for name in call.symbols())


def write_page(tables):
    yield '# What is captured\n\nGenerated from `calls/*.calls`.\n\n| operation | layer | class | called as |\n|---|---|---|---|'
    for number, op, call in tables.operations():
        names = [n for c in tables.exported + tables.mpi if c.op == op for n in c.symbols()]
        names += [f'syscall({n})' for c in tables.calls if c.op == op
                  for n in ([c.name] if c.is_sys else c.options.get('sys', []))]
        yield f"| `{op}` | {call.layer} | {call.cls} | {' '.join(f'`{n}`' for n in names)} |"


WRITERS = {'calls.h': write_calls_header, 'calls_table.c': write_calls_table, 'real_functions.h': write_real_header,
           'shims.c': write_shims, 'traced_calls.c': write_traced_calls, 'libioseer.map': write_map, 'symbols.txt': write_symbols,
           'linked.txt': write_linked, 'captured.md': write_page}


def main(writers, usage):
    arguments = sys.argv[1:]
    if len(arguments) < 3 or arguments[0] != '--calls':
        sys.exit(usage)
    tables = Tables(pathlib.Path(arguments[1]))
    if arguments[2] == '--lock':
        tables.add_ids()
        return
    for output in map(pathlib.Path, arguments[2:]):
        if output.name not in writers:
            sys.exit(f'nothing is called {output.name}; there are {" ".join(writers)}')
        output.write_text('\n'.join(writers[output.name](tables)) + '\n')


if __name__ == '__main__':
    main(WRITERS, __doc__)
