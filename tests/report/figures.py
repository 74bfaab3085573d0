"""The figures of a log, computed a second time: from the events of `dump --json` and from the definitions in doc/page.md
and the manual pages, not from the code. Times are whole nanoseconds, so that sums are exact."""
import bisect
import collections
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

MOVES = ('read', 'write')
SECOND = 10 ** 9


def load(text):
    """JSON with exact numbers."""
    return json.loads(text, parse_float=Decimal)


def ns(seconds):
    return int(seconds.scaleb(9)) if isinstance(seconds, Decimal) else seconds * SECOND


# --- numbers as text (CONVENTIONS in ioseer(1))

def rounded(value, digits):
    """Halves are rounded up."""
    return format(Decimal(math.floor(value * 10 ** digits + Fraction(1, 2))).scaleb(-digits), 'f')


def bytes_text(count):
    units, value = ['B', 'KiB', 'MiB', 'GiB', 'TiB'], Fraction(count)
    while value >= Fraction('1023.95') and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f'{rounded(value, 0 if units[0] == "B" else 1)} {units[0]}'


def rate_text(per_second):
    return bytes_text(math.floor(per_second + 0.5)) + '/s'


def time_text(time_ns):
    """Three significant digits."""
    if time_ns == 0:
        return '0 s'
    units, value = ['s', 'ms', 'us'], Fraction(time_ns, SECOND)
    while value < Fraction('0.9995') and len(units) > 1:
        value *= 1000
        units.pop(0)
    digits = next((digits for digits, least in enumerate(('99.95', '9.995', '0.9995')) if value >= Fraction(least)), 3)
    return f'{rounded(value, digits)} {units[0]}'


def percent_text(fraction):
    """One decimal; what is less than all is not 100."""
    tenths = math.floor(fraction * 1000 + 0.5)
    return f'{rounded(Fraction(min(tenths, 999) if fraction < 1 else tenths, 10), 1)} %'


def count_text(count, noun=''):
    plural = '' if count == 1 or not noun else 'es' if noun.endswith('s') else 's'
    return f'{count:,} {noun}{plural}'.strip()


# --- events

def start(event):
    return event['start']


def end(event):
    return event['start'] + event['duration']


def moved(event):
    return max(event['result'] or 0, 0)


def in_calls(event):
    """An asynchronous request takes the time of its calls only."""
    return event.get('call_time', event['duration'])


def union(events):
    """The time with at least one of these calls in progress. They are ordered by start."""
    total = until = 0
    for event in events:
        total += max(0, end(event) - max(until, start(event)))
        until = max(until, end(event))
    return total


def busy(events):
    """The time in calls: simultaneous calls count once."""
    return union([e for e in events if 'call_time' not in e]) + sum(e['call_time'] for e in events if 'call_time' in e)


def directions(events):
    return [sum(moved(e) for e in events if e['class'] == kind) for kind in MOVES]


# --- counters as Darshan defines them

COUNTED = {**dict.fromkeys(('stat', 'lstat', 'fstat', 'fstatat', 'statx'), 'STATS'), 'mmap': 'MMAPS',
           **dict.fromkeys(('rename', 'renameat', 'renameat2'), 'RENAME_SOURCES'),
           **dict.fromkeys(('dup', 'dup2', 'dup3'), 'DUPS'), 'fileno': 'FILENOS', 'fdopen': 'FDOPENS', 'fflush': 'FLUSHES',
           **dict.fromkeys(('fsync', 'aio_fsync', 'io_submit_sync', 'io_uring_sync'), 'FSYNCS'), 'fdatasync': 'FDSYNCS',
           'MPI_File_sync': 'SYNCS', 'MPI_File_set_view': 'VIEWS', 'MPI_File_set_info': 'HINTS'}
NOT_COUNTED = ('opendir', 'fdopendir', 'closedir', 'MPI_File_seek')
BY_CLASS = {'read': 'READS', 'write': 'WRITES', 'open': 'OPENS', 'close': 'CLOSES', 'seek': 'SEEKS'}
OPENS = ('OPENS', 'DUPS', 'FILENOS', 'FDOPENS')  # all of which the counter of opens counts
WRITE_TIME = ('WRITES', 'FSYNCS', 'FDSYNCS', 'FLUSHES', 'SYNCS')
DUPLICATES = (0, 1030)  # F_DUPFD, F_DUPFD_CLOEXEC


def counter_of(event):
    """What the call adds to; None if it does not count."""
    if 'error' in event or event['errno'] or event['result'] is None or event['result'] < 0:
        return None
    if event['op'] == 'fcntl':
        return 'DUPS' if event.get('flags', 0) in DUPLICATES else None
    return COUNTED.get(event['op'], None if event['op'] in NOT_COUNTED else BY_CLASS.get(event['class']))


class Counters:
    """Of one layer and file: sums over the program images, each of which has its own times."""

    def __init__(self):
        self.count, self.bytes, self.ns = collections.Counter(), [0, 0], {'READ': 0, 'WRITE': 0, 'META': 0}
        self.processes, self.ranks = set(), set()

    def add(self, process, events):
        self.processes.add(process)
        self.ranks.update(e['rank'] for _, e in events if e['rank'] is not None)
        for kind, event in events:
            self.count[kind] += 1
        for index, counter in enumerate(('READS', 'WRITES')):
            self.bytes[index] += sum(moved(e) for kind, e in events if kind == counter)
        for name, has_it in (('READ', lambda kind: kind == 'READS'), ('WRITE', lambda kind: kind in WRITE_TIME),
                             ('META', lambda kind: kind not in ('READS', 'MMAPS', *WRITE_TIME))):
            self.ns[name] += union([e for kind, e in events if has_it(kind)])

    def opens(self):
        return sum(self.count[name] for name in OPENS)


class Figures:
    """`info` tells what events do not: when the processes began, and which of them are launchers."""

    def __init__(self, events, comm, info):
        for event in events:
            for key in ('start', 'duration', 'call_time'):
                if key in event:
                    event[key] = ns(event[key])
        self.events, self.comm, self.by_id = events, comm, {e['id']: e for e in events}
        self.run_ns = ns(info['job']['end']) - ns(info['job']['start'])
        self.has_ranks = any(p['rank'] is not None for p in info['processes'])
        self.find_images(info['processes'])
        self.own = [e for e in self.of_program(events) if e['parent'] is None]
        self.transfers = [e for e in self.of_program(events) if self.is_own_transfer(e)]

    # --- who

    def find_images(self, processes):
        """Programs that one process executed one after the other have the same `chain`."""
        self.images = sorted(processes, key=lambda p: (p['host'], p['pid'], p['start']))
        of_pid = {key: list(group) for key, group in itertools.groupby(self.images, lambda p: (p['host'], p['pid']))}
        self.chains = []
        for group in of_pid.values():
            for before, image in zip([None] + group, group):
                if not before or before['exit'] != 'exec':
                    self.chains.append([])
                elif before['launcher'] and not image['launcher']:
                    self.chains[-1] = []  # it left the launcher
                self.chains[-1].append(image)
                image['chain'] = len(self.chains) - 1
        for event in self.events:
            group = of_pid[event['host'], event['pid']]
            place = bisect.bisect_right([ns(p['start']) for p in group], event['start'])
            event['image'] = group[max(place - 1, 0)]
            event['image'].setdefault('events', []).append(event)

    def of_program(self, events):
        return [e for e in events if not e['image']['launcher']]

    def counts(self, image):
        """Whether the image belongs to the application."""
        return not image['launcher'] and (image['rank'] is not None or not self.has_ranks)

    def application(self):
        return [chain for chain in self.chains if any(map(self.counts, chain))]

    # --- which

    def parent(self, event):
        return self.by_id[event['parent']] if event['parent'] is not None else None

    def is_part(self, event):
        """A transfer of a call that consists of several, such as a copy: its time is that of the call."""
        parent = self.parent(event)
        return parent is not None and parent['layer'] == event['layer']

    def is_own_transfer(self, event):
        """A transfer that the program made itself, also as a part of a copy."""
        parent = self.parent(event)
        return (event['class'] in MOVES and not event['errno'] and
                (parent is None or (self.is_part(event) and parent['parent'] is None and parent['class'] not in MOVES)))

    # --- how much

    def process(self, images):
        """(time in I/O, calls, bytes read, bytes written) of these images of a process."""
        events = [image.get('events', []) for image in images]
        own = [[e for e in some if e['parent'] is None] for some in events]
        made = [e for some in events for e in some if self.is_own_transfer(e)]
        return sum(map(busy, own)), sum(map(len, own)), *directions(made)

    def io_ns(self):
        """With MPI the mean of the ranks that did I/O, else the time with any process in I/O."""
        if not self.has_ranks:
            return busy([e for e in self.own if self.counts(e['image'])])
        times = [self.process(chain)[:2] for chain in self.application()]
        did = [time for time, calls in times if calls]
        return sum(did) // len(did)

    def counters(self, events):
        """By layer and file."""
        grouped, found = collections.defaultdict(list), collections.defaultdict(Counters)
        for event in events:
            kind = counter_of(event)
            layer = 'posix' if kind == 'FILENOS' else event['layer']
            for file, name in ((event['file'], kind), (event.get('file2'), 'RENAME_TARGETS')):
                if kind and file and (name == kind or kind == 'RENAME_SOURCES'):
                    grouped[layer, file, id(event['image'])].append((name, event))
        for (layer, file, _), events_of in grouped.items():
            found[layer, file].add(events_of[0][1]['image']['chain'], events_of)
        return found

    def file_times(self):
        """By file: the times of reading, of writing and syncing, and of all other calls that the program made on it, and
        the processes of which one succeeded. Simultaneous calls of one image and kind count once. Of files that the
        program does not use itself, the calls of libraries count."""
        events = self.of_program(self.events)
        own = [e for e in events if e['parent'] is None or self.is_part(e)]
        named = {file for e in own for file in (e['file'], e.get('file2'))}
        grouped, times, users = collections.defaultdict(list), {}, {}
        for event in events:
            kind = {'read': 0, 'write': 1, 'sync': 1}.get(event['class'], 2)
            for file in (event['file'], event.get('file2')):
                if not file or (file in named and event['parent'] is not None and not self.is_part(event)):
                    continue
                grouped[file, kind, id(event['image'])].append(event)
                if not event['errno'] and 'error' not in event:
                    users.setdefault(file, set()).add(event['image']['chain'])
        for (file, kind, _), some in grouped.items():
            times.setdefault(file, [0, 0, 0])[kind] += union(some)
        return {file: times[file] for file in users}, users

    def calls(self):
        """Events by layer and call."""
        found = collections.defaultdict(list)
        for event in self.events:
            found[event['layer'], event['op']].append(event)
        return found

    def children(self):
        """Calls below others, by the call that made them; parts of a copy are not below it."""
        found = collections.defaultdict(list)
        for event in self.of_program(self.events):
            if event['parent'] is not None and not self.is_part(event):
                found[event['parent']].append(event)
        return found

    def bins(self, from_ns, width_ns, count):
        """Bytes read and written in each interval, exactly, and calls that move none by their start. The bytes of a call
        are spread over its duration."""
        found = [[Fraction(0)] * count for _ in range(3)]
        for event in self.own:
            if event['class'] not in MOVES:
                found[2][min(math.floor((start(event) - from_ns) / width_ns), count - 1)] += 1
        for event in self.transfers:
            row, first = found[MOVES.index(event['class'])], (start(event) - from_ns) / width_ns
            last = (end(event) - from_ns) / width_ns
            if math.floor(first) == math.floor(last):
                row[min(math.floor(first), count - 1)] += moved(event)
                continue
            for place in range(math.floor(first), min(math.ceil(last), count)):
                row[place] += moved(event) * (min(last, place + 1) - max(first, place)) / (last - first)
        return found
