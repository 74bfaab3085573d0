"""The operations in a log that its model describes, and those that a model expands to, in one form.

Threads are compared as multisets of sequences, process by process: a model numbers threads by what they do, and
processes without MPI by their start.
"""
import collections
import json

from harness import ioseer

COUNTED = ('read', 'write')


def run_json(*words):
    done = ioseer(*words)
    if done.returncode != 0:
        raise AssertionError(f'ioseer {words}: {done.stderr!r}')
    return json.loads(done.stdout)


def form(event):
    """What must be equal. Except for transfers, a model does not distinguish the size 0 from no size."""
    transfers = event['class'] in COUNTED
    result = event['result'] if (transfers or event['class'] == 'seek') and not event['errno'] else None
    return (event['layer'], event['op'], event['class'], event['file'], event.get('file2'), event['offset'],
            event.get('view_offset'), event['size'] or 0, result, event['errno'],
            (event.get('flags') or 0) if event['class'] == 'open' else None, event.get('whence') or 0)


class Processes:
    """The process of an event. A pid may stand for several processes, because of exec."""

    def __init__(self, log):
        self.by_pid = collections.defaultdict(list)
        for process in run_json('info', '--json', log)['processes']:
            self.by_pid[process['host'], process['pid'], process['rank']].append(process)

    def of(self, event):
        found = self.by_pid[event['host'], event['pid'], event['rank']]
        begun = [process for process in found if process['start'] <= event['start']] or found[:1]
        return max(begun, key=lambda process: process['start'])


ABOVE = ('hdf5', 'pnetcdf', 'netcdf')  # their bytes are not those of the job, and what they contain counts by itself


def is_chosen(event, parents, layer):
    """Without --layer: the calls that the program itself made; for a copy, its read and its write."""
    if layer:
        return event['layer'] == layer
    if event['layer'] in ABOVE:
        return False
    parent = parents.get(event['parent'])
    if event['parent'] is None or (parent and parent['layer'] in ABOVE):
        return True
    return parent is not None and parent['class'] not in COUNTED and parent['layer'] == event['layer']


def of_log(log, layer=None):
    """A counter of processes, each as (rank or None, counter of threads); and the bytes that all transfers moved."""
    events = run_json('dump', '--json', log)
    parents = {event['id']: event for event in events}
    processes = Processes(log)
    threads = collections.defaultdict(list)
    moved = 0
    for event in events:
        if not is_chosen(event, parents, layer):
            continue
        if event['class'] in COUNTED and not event['errno']:
            moved += max(event['result'] or 0, 0)
        process = processes.of(event)
        if not process['launcher']:
            threads[event['rank'], event['host'], event['pid'], process['start'], event['tid']].append(form(event))
    return gather({key: ops for key, ops in threads.items()}), moved


def gather(threads):
    """From {(rank, ..., thread): operations} to a counter of processes."""
    by_process = collections.defaultdict(collections.Counter)
    for key, ops in threads.items():
        by_process[key[:-1]][tuple(ops)] += 1
    return collections.Counter((key[0], frozenset(counter.items())) for key, counter in by_process.items())


def of_model(model):
    """The same from `model --expand`."""
    with open(model, 'rb') as file:
        programs = json.load(file)['structure']['programs']
    threads = collections.defaultdict(list)
    for op in run_json('model', '--expand', '--json', model):
        if op['op'] == 'barrier':
            continue
        rank = op['rank'] if programs[op['program']]['mpi'] else None
        threads[rank, op['program'], op['rank'], op['thread']].append(form(op))
    return gather(threads)


def weight(model):
    """Bytes of all phases, and those in none."""
    with open(model, 'rb') as file:
        tree = json.load(file)
    return (sum(family['weight'] * family['phases'] for family in tree['structure']['families']),
            tree['observed']['unphased_bytes'])


def difference(expected, found):
    """The first operation of a process that is not as it should be, in words."""
    missing, surplus = list((expected - found).elements()), list((found - expected).elements())
    if not missing or not surplus:
        return f'{len(missing)} processes are missing, {len(surplus)} should not be there'
    rank, threads = missing[0]
    others = [other for other in surplus if other[0] == rank] or surplus
    for (ops, _), (found_ops, _) in zip(sorted(threads, key=str), sorted(others[0][1], key=str)):
        for number, (one, other) in enumerate(zip(ops, found_ops)):
            if one != other:
                return f'rank {rank}, operation {number}: {one} is in the log, {other} in the model'
        if len(ops) != len(found_ops):
            return f'rank {rank}: {len(ops)} operations are in the log, {len(found_ops)} in the model'
    return f'rank {rank}: {len(threads)} threads are in the log, {len(others[0][1])} in the model'
