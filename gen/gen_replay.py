#!/usr/bin/env python3
"""Makes the replay's part of the tables in calls/, like gen.py: a function per call that makes the call again, and the
table from the id of a call to its function and form.

    gen_replay.py --calls DIR OUTPUT...     writes each OUTPUT; its name says what it is (see WRITERS)

The words behind `replay` choose a form and may give parameters a value: `replay name mode=F_OK`. The other values follow
from roles and names: see replay_forms.py.
"""
import sys

import gen
from replay_forms import FORMS, MPI_NAMES, MPI_ROLES, NAMES, ROLES


class Replay:
    """How one operation is made again; with `by`, as the operation that the row names."""

    def __init__(self, call, operations):
        self.call = operations.get(call.word('by', call.op))
        if not self.call:
            sys.exit(f"{call.where}: {call.op}: there is no call {call.word('by', '')}")
        if 'by' in self.call.options and self.call.op != call.op:
            sys.exit(f'{call.where}: {call.op}: {self.call.op} is itself replayed by another call')
        words = self.call.options.get('replay', ['-'])
        self.given = dict(word.split('=', 1) for word in words[1:])
        if words[0] != '-' and words[0] not in FORMS:
            sys.exit(f'{self.call.where}: {self.call.op}: no such form of replay: {words[0]}')
        self.form, self.body = FORMS.get(words[0], ('SKIP', None))
        self.is_mpi = self.call.layer == 'mpiio'

    def value(self, parameter):
        roles, names = (MPI_ROLES, MPI_NAMES) if self.is_mpi else (ROLES, NAMES)
        values, key = (roles, parameter.role) if parameter.role else (names, parameter.name)
        if parameter.name in self.given:
            return self.given[parameter.name]
        if key not in values:
            sys.exit(f'{self.call.where}: {self.call.name}: no value to replay {parameter.text} with')
        return values[key]

    def expression(self, call):
        params = call.params + ([call.extra] if call.extra else [])
        return f"{call.name}({', '.join(self.value(p) for p in params)})"

    def statements(self, call):
        made = self.expression(call) if '{call}' in self.body else ''
        if 'room' in made:
            yield '_Alignas(16) char room[4096];'
        if 'a->' not in made + self.body:
            yield '(void)a;'
        if self.body != 'return {call};':
            yield self.body.replace('{call}', made).replace('{name}', call.name)
        elif call.ret == 'void':
            yield f'{made};\n    return 0;'
        elif call.ret.endswith('*'):
            yield f'errno = 0;\n    return {made} || !errno ? 0 : -1;'
        else:
            yield f'return {made};'

    def function(self, kind, call):
        head = 'int mpi_{}(struct mpi_arguments *a)' if self.is_mpi else 'int64_t call_{}(const struct replay_arguments *a)'
        yield f'static {head.format(kind + call.op)}\n{{'
        yield from (f'    {line}' for line in self.statements(call))
        yield '}\n'


def replays(tables):
    """(operation, how it is made again) in the order of the ids."""
    operations = {op: call for _, op, call in tables.operations()}
    return [(op, Replay(call, operations)) for op, call in operations.items()]


def functions(tables, is_mpi):
    for op, replay in replays(tables):
        if replay.body and replay.is_mpi == is_mpi and replay.call.op == op:
            yield from replay.function('', replay.call)


def write_calls(tables):
    yield '#include "replay/runner/ops.h"\n'
    yield from functions(tables, False)
    yield f'const struct replay_call replay_calls[{max(tables.ids.values()) + 1}] = {{'
    for op, replay in replays(tables):
        run = f'call_{replay.call.op}' if replay.body and not replay.is_mpi else 'NULL'
        if replay.form != 'SKIP':
            yield f'    [CALL_{op}] = {{REPLAY_{replay.form}, {run}}},'
    yield '};'


def write_mpi_calls(tables):
    """A split call comes with the function that ends it: MPI_File_read_all_begin with MPI_File_read_all_end."""
    ends = {call.name.removesuffix('_end') + '_begin': call for call in tables.mpi if call.name.endswith('_end')}
    yield '#include "replay/runner/ops_mpiio.h"\n'
    yield from functions(tables, True)
    rows = []
    for op, replay in replays(tables):
        if replay.is_mpi and replay.body:
            if op in ends:
                yield from replay.function('', ends[op])
            rows.append(f"    [CALL_{op}] = {{mpi_{op}, {'mpi_' + ends[op].op if op in ends else 'NULL'}}},")
    yield f'const struct mpi_call mpi_calls[{max(tables.ids.values()) + 1}] = {{'
    yield from rows
    yield '};'


WRITERS = {'replay_calls.c': write_calls, 'replay_mpi_calls.c': write_mpi_calls}

if __name__ == '__main__':
    gen.main(WRITERS, __doc__)
