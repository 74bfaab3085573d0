"""Compares events with the calls of truth.py, and looks whether MPI-IO calls and the POSIX calls below them agree."""
from truth import ANY

MAX_PROBLEMS = 4
CLOCK_SECONDS = 1e-6  # how far apart the ends of two nested calls may be
DATA = ('read', 'write')


def uses_ompio(mpi):
    return mpi.startswith('openmpi') and mpi != 'openmpi-romio'


def _own(events, expected):
    """The events on the example's files, without those of MPI's own, such as lock files beside them."""
    names = {call['file'] for calls in expected for call in calls}
    return [event for event in events if event['file'] in names]


def _brief(call):
    keys = ('layer', 'op', 'file', 'offset', 'view_offset', 'size', 'result', 'errno', 'tick', 'collective', 'parent')
    return ' '.join(f'{key}={call[key]}' for key in keys if key in call and call[key] is not ANY)


def _difference(event, call):
    """The first key in which an event differs from the expected call."""
    for key, value in call.items():
        found = event.get(key)
        if key == 'view_offset' and found is None:
            found = event['offset']  # absent if there is no view
        if value is not ANY and found != value:
            return f'{key} is {found}'
    return None


def compare(events, expected):
    """What is wrong with the top of the tree: the calls that the program itself made."""
    problems = []
    layers = {call['layer'] for calls in expected for call in calls}  # check_children checks the others
    for rank, calls in enumerate(expected):
        top = [event for event in _own(events, expected)
               if event['rank'] == rank and event['parent'] is None and event['layer'] in layers]
        for index, (event, call) in enumerate(zip(top, calls)):
            difference = _difference(event, call)
            if difference:
                problems.append(f'rank {rank}, call {index}: {difference}, '
                                f'expected {_brief(call)}, got {_brief(event)}')
                break  # the rest may only be shifted
        if len(top) != len(calls):
            extra = (top if len(top) > len(calls) else calls)[min(len(top), len(calls))]
            problems.append(f'rank {rank}: {len(top)} calls instead of {len(calls)}, first {_brief(extra)}')
    return problems[:MAX_PROBLEMS]


def _bytes(events, kind):
    return sum(event['result'] for event in events if event['class'] == kind)


def _covers(event, children):
    """Whether the children of an event's own class move its bytes, each byte once."""
    at = event['offset']
    for child in sorted((child for child in children if child['class'] == event['class']), key=lambda c: c['offset']):
        if child['offset'] != at:
            return False
        at += child['result']
    return at == event['offset'] + event['result']


def _check_nesting(own, by_id):
    for event in own:
        if event['layer'] == 'mpiio':
            continue
        parent = by_id.get(event['parent'])
        if parent is None or parent['layer'] != 'mpiio':
            yield f'rank {event["rank"]}: no MPI-IO call above {_brief(event)}'
        elif (parent['rank'], parent['pid']) != (event['rank'], event['pid']) or not _fits(event['tick'], parent):
            yield f'{_brief(event)} is below {_brief(parent)}'
        elif not (parent['start'] - CLOCK_SECONDS <= event['start'] and event['start'] + event['duration'] <=
                  parent['start'] + parent['duration'] + CLOCK_SECONDS):
            yield f'{_brief(event)} is outside of {_brief(parent)} in time'


def _fits(tick, parent):
    """The calls below a nonblocking or split call may come when it is completed, in a later call of MPI."""
    goes_on = '_i' in parent['op'] or parent['op'].endswith('_begin')
    return tick >= parent['tick'] if goes_on else tick == parent['tick']


def _check_one_to_one(transfers, children):
    for event in transfers:
        found = children.get(event['id'], [])
        if not _covers(event, found):
            below = ', '.join(f'{child["op"]} {child["offset"]}+{child["result"]}' for child in found)
            yield f'rank {event["rank"]}: {_brief(event)}: below it {below or "nothing"}'


def _check_collective(transfers, children, ranks, mpi, gaps=False):
    """The n-th collective call of all ranks moves what they asked for, whichever rank moves it.

    OMPIO may read more: with few ranks it lets each of them read, rows and gaps. ROMIO moves the gaps between what the
    ranks ask for, if there are any.
    """
    each = [[event for event in transfers if event['rank'] == rank] for rank in range(ranks)]
    for together in zip(*each):
        kind = together[0]['class']
        asked = sum(event['result'] for event in together)
        moved = sum(_bytes(children.get(event['id'], []), kind) for event in together)
        more = gaps or (uses_ompio(mpi) and kind == 'read')
        if asked != moved and not (more and moved > asked):
            yield f'{_brief(together[0])}: {asked} bytes of all ranks, {moved} below'


def _check_sieving(transfers, children):
    """Rows with gaps between them: MPI moves the gaps too, and reads before it writes."""
    for event in transfers:
        below = children.get(event['id'], [])
        if _bytes(below, event['class']) <= event['result']:
            yield f'rank {event["rank"]}: {_brief(event)}: no sieving, {_bytes(below, event["class"])} bytes below it'
        if event['class'] == 'write' and not any(child['class'] == 'read' for child in below):
            yield f'rank {event["rank"]}: {_brief(event)}: nothing read before writing'


def _check_rows(transfers, children):
    """Rows with gaps between them, written one by one. MPI may read the gaps all the same (OMPIO does)."""
    for event in transfers:
        moved = _bytes(children.get(event['id'], []), event['class'])
        if moved != event['result'] and not (event['class'] == 'read' and moved > event['result']):
            yield f'rank {event["rank"]}: {_brief(event)}: {moved} bytes below it'


def check_children(events, expected, mpi, program, options):
    """What is wrong below the MPI-IO calls; empty if the program has none."""
    if not any(call['layer'] == 'mpiio' for call in expected[0]):
        return []
    own, by_id, children = _own(events, expected), {event['id']: event for event in events}, {}
    problems = list(_check_nesting(own, by_id))
    for event in own:
        children.setdefault(event['parent'], []).append(event)
    transfers = [event for event in own if event['layer'] == 'mpiio' and event['class'] in DATA]
    if program == 's3d' and options.get('mode') == 'sieving' and not uses_ompio(mpi):
        problems += _check_sieving(transfers, children)
    elif program == 's3d' and options.get('mode') in ('independent', 'sieving'):
        problems += _check_rows(transfers, children)
    elif program.startswith('forms'):
        pass  # MPI may combine rows
    elif program.startswith(('btio', 's3d')):
        problems += _check_collective(transfers, children, len(expected), mpi)
    elif options.get('collective') and not options.get('unique'):
        problems += _check_collective(transfers, children, len(expected), mpi, gaps=options.get('random'))
    else:
        problems += _check_one_to_one(transfers, children)
    return problems[:MAX_PROBLEMS]
