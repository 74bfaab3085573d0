#!/usr/bin/env python3
"""Makes the shims of MPI from the tables in calls/, like gen.py.

    gen_mpi.py --calls DIR OUTPUT...     writes each OUTPUT; its name says what it is (see WRITERS)
"""
import gen


def write_names(tables):
    """Names in the order of the slots: MPI_x, PMPI_x and so on."""
    yield '#define MPI_NAMES(NAME) \\'
    yield from (f'    NAME({name}) \\' for call in tables.mpi for name in call.symbols())
    yield ''


def function(kind, call, name, lines, attribute='static '):
    params = ', '.join(p.text for p in call.params) or 'void'
    yield f'{attribute}int {kind}_{name}({params})\n{{'
    yield from (f'    {line}' for line in lines)
    yield '}\n'


def partners(call):
    """What plugin_add_partner gets after the call: role, communicator, peer."""
    role = call.word('partner', None)
    if not role:
        return []
    comm, peer = call.role('comm'), call.role('peer=0')
    if role == 'both':
        source = f"mpi_source({call.role('source')}, {call.role('status')})"
        return [f'PARTNER_SEND, {comm}, {peer}', f'PARTNER_RECEIVE, {comm}, {source}']
    if role == 'receive':
        peer = f"mpi_source({peer}, {call.role('status')})"
    return [f'PARTNER_{role.upper()}, {comm}, {peer}']


def recorded(tables, call, real):
    """enter, the real call, leave: all decisions are in the probe functions."""
    enter, leave = tables.probe_calls(call)
    lines = ['struct mpi_probe probe;']
    if call.cls != '-':
        lines += ['probe.caller = (uintptr_t)__builtin_return_address(0);']
    if call.cls != 'write' and any(p.role == 'status' for p in call.params):  # a write moves all that it is asked to
        lines += ['if (status == MPI_STATUS_IGNORE) status = mpi_own_status(&probe);']
    added = [f'if (result == MPI_SUCCESS) plugin_add_partner({partner});' for partner in partners(call)]
    return lines + [f'{enter};', f'int result = {real};', f'{leave};', *added, 'return result;']


def quick(tables, call, name, real):
    """The hot path counts the partner before the call, while its arguments are in registers. Whatever is not known yet is
    found out of line, and the call begins anew."""
    arguments = call.arguments()
    enter, leave = (part.replace('(', '_quickly(', 1) for part in tables.probe_calls(call))
    partner = f"PARTNER_{call.word('partner', '').upper()}, {call.role('comm')}, {call.role('peer=0')}"
    yield f"static int shim_{name}({', '.join(p.text for p in call.params)});\n"
    yield from function('miss', call, name, [
        f'if (plugin_prepare_partner({partner})) return shim_{name}({arguments});',
        *recorded(tables, call, real)], 'static MPI_RARE ')
    lines = ['struct mpi_probe probe;', f'if (UNLIKELY(!mpi_count_partner({partner}))) return miss_{name}({arguments});']
    if 'enter_move_' in enter:
        type_ = call.role('type')
        yield from function('type', call, name, [
            f'mpi_uncount_partner({partner});', f'plugin_type_bytes(plugin_thread, {type_});',
            f'return shim_{name}({arguments});'], 'static MPI_RARE ')
        lines += [f'if (UNLIKELY(!mpi_knows_type({type_}))) return type_{name}({arguments});']
    # A receive has most arguments. It saves the jump, though calls that MPI makes inside a call then cost more.
    attribute = 'MPI_SHIM ' if call.word('partner', '') == 'receive' else 'static MPI_RECORDED '
    yield from function('record', call, name, [
        *lines, f'{enter};', f'int result = {real};', f'{leave};', 'return result;'], attribute)


def write_shim(tables, call, name):
    """Functions that end by calling the next one, so that arguments stay in their registers: calls that MPI makes inside a
    call cost a comparison and a jump. Waits look for I/O only while some is under way."""
    arguments = call.arguments()
    real = f"((int (*)({', '.join(p.type for p in call.params) or 'void'}))plugin.real[SLOT_{name}])({arguments})"
    record = f'record_{name}({arguments})'
    lines = recorded(tables, call, real)
    if 'mpi_enter_wait' in lines[1]:
        plain = call.twin(call.name)
        plain.probe = 'mpi_done'
        plain = recorded(tables, plain, real)
        lines[3:] = ['if (probe.wait) ' + lines[3]] + plain[3:]
        yield from function('wait', call, name, lines, 'static MPI_RARE ')
        lines = [f'if (UNLIKELY(plugin_waits_for_io())) return wait_{name}({arguments});'] + plain
    if call.word('partner', 'both') == 'both':
        yield from function('record', call, name, lines, 'static MPI_RECORDED ')
    else:
        yield from quick(tables, call, name, real)
    yield from function('first', call, name, [f'return plugin_find_thread() ? {record} : {real};'], 'static MPI_RARE ')
    yield from function('shim', call, name, [
        'const struct thread *thread = plugin_thread;',
        f'if (LIKELY(thread->outside_mpi)) return {record};',
        f'return LIKELY(thread->ready) ? {real} : first_{name}({arguments});'])


def write_shims(tables):
    yield '#include "rec/mpi/plugin.h"\n'
    for call in tables.mpi:
        since = call.options.get('since')
        if since:
            yield f'#if MPI_VERSION >= {since[0]}'
        for name in call.symbols():
            yield from write_shim(tables, call, name)
        if since:
            yield '#else'
            yield from (f'#define shim_{name} NULL' for name in call.symbols())
            yield '#endif\n'


def write_linked(tables):
    """Names of functions that this MPI has, for a recorder that is linked with it."""
    for call in tables.mpi:
        since = call.options.get('since', [0])[0]
        yield f'#if MPI_VERSION >= {since}'
        yield from (f'LINKED({name})' for name in call.symbols())
        yield '#endif'


WRITERS = {'mpi_names.h': write_names, 'mpi_shims.h': write_shims, 'mpi_linked.h': write_linked}

if __name__ == '__main__':
    gen.main(WRITERS, __doc__)
