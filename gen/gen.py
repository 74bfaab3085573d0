#!/usr/bin/env python3
"""Turns the tables in calls/ into everything that has to agree with them.

    gen.py --calls DIR OUTPUT...     writes each OUTPUT; what it is follows from its name (see WRITERS)
    gen.py --calls DIR --lock        gives new operations an id in DIR/ids.lock (append-only, reviewed)

doc/add-a-call.md describes the tables. The output depends on the tables alone: no dates, no paths.
"""
import copy
import pathlib
import re
import sys

ROW = re.compile(r'^(?P<sys>sys )?(?P<ret>[\w ]+?\**)\s*(?P<name>\b\w+)\((?P<params>.*)\)\s*:\s*(?P<rest>.*)$')
OPERATION = re.compile(r'^event (?P<name>\w+)\s*:\s*(?P<class>\w+)(?P<rest>.*)$')
PROBE = re.compile(r'^probe (?P<name>\w+) *= (?P<enter>\w+)\((?P<enter_roles>[^)]*)\) (?P<leave>\w+)\((?P<leave_roles>[^)]*)\)$')
CLASSES = ['-', 'read', 'write', 'open', 'close', 'sync', 'seek', 'meta']
KEYWORDS = {'as', 'alias', 'sys', 'traits', 'with', 'forward', 'late', 'check', 'since'}


class Parameter:
    """`const void *buf @buf`; a C name and, with @, the part it plays for the probe."""

    def __init__(self, text):
        text, _, self.role = (part.strip() for part in text.partition('@'))
        match = re.match(r'^(.*?)(\w+)(\[\w*\])?$', text)
        self.name = match.group(2)
        self.type = match.group(1).strip() + (' *' if match.group(3) else '')
        self.text = text


class Call:
    """One exported function (or, with `sys`, one number of syscall(2))."""

    def __init__(self, layer, match, where):
        self.layer, self.where = layer, where
        self.is_sys = bool(match['sys'])
        self.ret, self.name = match['ret'].strip(), match['name']
        words = match['rest'].split()
        self.cls, self.probe = words[0], words[1]
        self.options = parse_options(words[2:], where)
        self.op = (self.options.get('as') or [self.name])[0]
        fixed, self.variadic, extra = match['params'].partition('...')
        fixed = fixed.strip().rstrip(',')
        self.params = [] if fixed in ('', 'void') else [Parameter(p) for p in fixed.split(',')]
        self.extra = Parameter(extra) if extra.strip() else None
        if self.cls not in CLASSES:
            sys.exit(f'{where}: no such class: {self.cls}')

    def twin(self, name):
        """The same call under another name. It has a shim of its own, which calls the next function of that very name:
        another preload library may stand in front of one name only."""
        other = copy.copy(self)
        other.name, other.options = name, {k: v for k, v in self.options.items() if k not in ('alias', 'sys')}
        return other

    def prototype(self, name=None):
        params = [p.text for p in self.params] + (['...'] if self.variadic else [])
        return f"{self.ret}{'' if self.ret.endswith('*') else ' '}{name or self.name}({', '.join(params) or 'void'})"

    def pointer(self):
        types = [p.type for p in self.params] + (['...'] if self.variadic else [])
        return f"{self.ret} (*{self.name})({', '.join(types) or 'void'})"

    def arguments(self):
        return ', '.join(p.name for p in self.params + ([self.extra] if self.extra else []))

    def role(self, role, table):
        """The C expression for a role: a parameter, a `with role=expression`, or the probe's default."""
        name, _, default = role.partition('=')
        for given in self.options.get('with', []):
            if given.startswith(name + '='):
                return given[len(name) + 1:]
        for p in self.params + ([self.extra] if self.extra else []):
            if p.role == name:
                return p.name
        if default:
            return default
        sys.exit(f'{self.where}: {self.name}: probe {self.probe} needs a parameter @{name}')

    def traits(self):
        roles = {p.role for p in self.params}
        found = {f'CALL_{word.upper()}' for word in self.options.get('traits', [])}
        if self.cls in ('read', 'write'):
            found |= {'CALL_HAS_OFFSET', 'CALL_HAS_SIZE', 'CALL_TRANSFERS'}
        if self.cls == 'seek':
            found.add('CALL_RESULT_IS_OFFSET')
        elif 'off' in roles:
            found.add('CALL_HAS_OFFSET')
        if 'len' in roles:
            found.add('CALL_HAS_SIZE')
        return ' | '.join(sorted(found)) or '0'


def parse_options(words, where):
    options, key = {}, None
    for word in words:
        if word in KEYWORDS:
            key = word
            options[key] = []
        elif key is None:
            sys.exit(f'{where}: unexpected word: {word}')
        else:
            options[key].append(word)
    return options


class Tables:
    def __init__(self, folder):
        self.calls, self.events, self.probes = [], [], {}
        for path in sorted(folder.glob('*.calls')):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                self.read_line(path.stem, line.split('#')[0].strip(), f'{path.name}:{number}')
        self.lock = folder / 'ids.lock'
        self.ids = dict((name, int(i)) for i, name in (l.split() for l in self.lock.read_text().splitlines()))
        self.mpi = [c for c in self.calls if c.layer == 'mpiio']
        self.exported = [c for c in self.calls if not c.is_sys and c.layer != 'mpiio']

    def read_line(self, layer, line, where):
        if not line:
            return
        if match := PROBE.match(line):
            self.probes[match['name']] = match
        elif match := OPERATION.match(line):
            rest = ' '.join([match['class'], 'hand', match['rest']])
            self.events.append(Call(layer, dict(sys=None, ret='int', name=match['name'], params='', rest=rest), where))
        elif match := ROW.match(line):
            call = Call(layer, match, where)
            self.calls.append(call)
            if call.probe != 'hand':
                self.calls += [call.twin(name) for name in call.options.pop('alias', [])]
        else:
            sys.exit(f'{where}: cannot read: {line}')

    def operations(self):
        """Canonical operations in order of their ids; the row that carries the plain name describes one."""
        found = {}
        for call in self.events + self.calls:
            plain = call.name == call.op and found.get(call.op, call).name != call.op
            if call.cls != '-' and (call.op not in found or plain):
                found[call.op] = call
        missing = [op for op in found if op not in self.ids]
        if missing:
            sys.exit(f'{self.lock.name}: no id for {" ".join(missing)}: run gen.py --calls {self.lock.parent} --lock')
        return sorted((self.ids[op], op, call) for op, call in found.items())

    def add_ids(self):
        names = {c.op for c in self.events + self.calls if c.cls != '-'}
        fresh = sorted(names - set(self.ids))
        start = max(self.ids.values(), default=0) + 1
        with self.lock.open('a') as out:
            out.writelines(f'{start + i} {name}\n' for i, name in enumerate(fresh))


def write_calls_header(tables):
    yield '// Ids of the captured operations, pinned in calls/ids.lock.'
    yield '#ifndef IOSEER_CALLS_H\n#define IOSEER_CALLS_H\n\nenum call_id {\n    CALL_none = 0,'
    yield from (f'    CALL_{op} = {number},' for number, op, _ in tables.operations())
    yield '};\n\n#endif'


def write_calls_table(tables):
    rows = tables.operations()
    yield '#include "calls.h"\n#include "fmt/call.h"\n\nconst struct call_info call_table[] = {'
    for number, op, call in rows:
        yield (f'    [{number}] = {{"{op}", LAYER_{call.layer.upper()}, CLASS_{call.cls.upper()}, {call.traits()}}},')
    yield f'}};\nconst unsigned call_table_len = {rows[-1][0] + 1};\n\nconst struct call_symbol call_symbols[] = {{'
    for call in tables.exported + tables.mpi:
        if call.cls != '-':
            yield from (f'    {{"{name}", {tables.ids[call.op]}}},' for name in symbols(call))
    yield '    {0, 0},\n};'


def symbols(call):
    if call.layer == 'mpiio':
        return [call.name, 'P' + call.name]
    return [call.name] + call.options.get('alias', [])


def write_real_header(tables):
    yield '// The functions behind the shims, filled in by rec/real.c.'
    yield '#ifndef IOSEER_REAL_H\n#define IOSEER_REAL_H\n\n#include "rec/types.h"\n'
    yield '#define REAL_FUNCTIONS(FUNCTION, LATE) \\'
    for call in tables.exported:
        yield f"    {'LATE' if 'late' in call.options else 'FUNCTION'}({call.name}) \\"
    yield '\n\nstruct real_functions {'
    yield from (f'    {call.pointer()};' for call in tables.exported)
    yield '};\n\n#endif'


def shim_body(tables, call, real_call, cast=''):
    """enter, the real call, leave: all decisions are in the probe functions."""
    probe = tables.probes.get(call.probe)
    if not probe:
        sys.exit(f'{call.where}: no such probe: {call.probe}')
    enter = ', '.join(['&probe'] + [call.role(r, tables) for r in probe['enter_roles'].split()])
    leave = ['&probe'] + ([f'CALL_{call.op}'] if call.cls != '-' else ['CALL_none'])
    leave += [call.role(r, tables) for r in probe['leave_roles'].split()]
    unlocks = ' __attribute__((cleanup(stream_unlock)))' if call.probe.startswith('stream_') else ''
    yield f"    struct {'mpi_probe' if call.layer == 'mpiio' else 'probe'} probe{unlocks};"
    if unlocks:
        yield '    probe.locked = NULL;'
    if call.ret == 'void':
        yield f"    bool watched = {probe['enter']}({enter});\n    {real_call};"
        yield f"    if (watched) {probe['leave']}({', '.join(leave)});"
    else:
        yield f"    if (!{probe['enter']}({enter})) return {cast}{real_call};"
        if cast:
            yield '    probe.caller = system_call_caller;'
        yield f'    {call.ret} result = {real_call};'
        yield f"    {probe['leave']}({', '.join(leave + ['result'])});\n    return {cast}result;"


def exported(call):
    """Shims have C names of their own, shim_open, so that libc's prototypes and macros cannot get in their way."""
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
    yield from shim_body(tables, call, f'real.{call.name}({call.arguments()})')
    yield '}'


def write_shims(tables):
    yield '#include "rec/shims.h"\n'
    for call in tables.exported:
        if call.probe != 'hand':
            yield from (write_forwarding_shim if 'forward' in call.options else write_plain_shim)(tables, call)
            yield ''
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


def write_map(tables):
    yield '{\nglobal:'
    yield from (f'    {name};' for call in tables.exported + tables.mpi for name in symbols(call))
    yield 'local:\n    *;\n};'


def write_symbols(tables):
    yield from sorted(name for call in tables.exported + tables.mpi for name in symbols(call))


def write_wrap(tables):
    yield from (f'--wrap={name}' for name in write_symbols(tables))


def write_page(tables):
    yield '# What is captured\n\nGenerated from `calls/*.calls`.\n\n| operation | layer | class | called as |\n|---|---|---|---|'
    for number, op, call in tables.operations():
        names = [n for c in tables.exported + tables.mpi if c.op == op for n in symbols(c)]
        names += [f'syscall({n})' for c in tables.calls if c.op == op
                  for n in ([c.name] if c.is_sys else c.options.get('sys', []))]
        yield f"| `{op}` | {call.layer} | {call.cls} | {' '.join(f'`{n}`' for n in names)} |"


def write_mpi_names(tables):
    """Names in the order of the slots: MPI_x, PMPI_x and so on."""
    yield '#define MPI_NAMES(NAME) \\'
    yield from (f'    NAME({name}) \\' for call in tables.mpi for name in symbols(call))
    yield ''


def write_mpi_shims(tables):
    yield '#include "rec/mpi_plugin.h"\n'
    for call in tables.mpi:
        guard = call.options.get('since')
        if guard:
            yield f'#if MPI_VERSION >= {guard[0]}'
        params = ', '.join(p.text for p in call.params)
        real = f"int (*real_function)({', '.join(p.type for p in call.params) or 'void'})"
        yield f"MPI_SHIM int body_{call.name}({', '.join(filter(None, [real, params]))})\n{{"
        if any(p.role == 'status' for p in call.params):
            yield '    MPI_Status own_status;\n    if (status == MPI_STATUS_IGNORE) status = &own_status;'
        yield from shim_body(tables, call, f'real_function({call.arguments()})')
        yield '}\n'
        for name in symbols(call):
            slot = f'plugin_real[SLOT_{name}]'
            arguments = ', '.join(filter(None, [slot, call.arguments()]))
            yield f'static int shim_{name}({params or "void"})\n{{\n    return body_{call.name}({arguments});\n}}\n'
        if guard:
            yield '#else'
            yield from (f'#define shim_{name} NULL' for name in symbols(call))
            yield '#endif\n'


WRITERS = {'mpi_names.h': write_mpi_names, 'mpi_shims.h': write_mpi_shims,
           'calls.h': write_calls_header, 'calls_table.c': write_calls_table, 'real_functions.h': write_real_header,
           'shims.c': write_shims, 'libioseer.map': write_map, 'symbols.txt': write_symbols,
           'libioseer.wrap': write_wrap, 'captured.md': write_page}


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 3 or arguments[0] != '--calls':
        sys.exit(__doc__)
    tables = Tables(pathlib.Path(arguments[1]))
    if arguments[2] == '--lock':
        tables.add_ids()
        return
    for output in map(pathlib.Path, arguments[2:]):
        if output.name not in WRITERS:
            sys.exit(f'gen.py: nothing is called {output.name}; there are {" ".join(WRITERS)}')
        output.write_text('\n'.join(WRITERS[output.name](tables)) + '\n')


if __name__ == '__main__':
    main()
