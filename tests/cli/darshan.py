"""The arithmetic of Darshan's counters, written from their description, on what `ioseer dump --json` prints.

Shares nothing with ioseer. Memory alignment is not in the dump and is left out; so is the hash of a renamed file's name.
"""
import collections

BINS = [(100, '0_100'), (1 << 10, '100_1K'), (10 << 10, '1K_10K'), (100 << 10, '10K_100K'), (1 << 20, '100K_1M'),
        (4 << 20, '1M_4M'), (10 << 20, '4M_10M'), (100 << 20, '10M_100M'), (1 << 30, '100M_1G'), (None, '1G_PLUS')]
NOT_COMPARED = {'POSIX_MEM_NOT_ALIGNED', 'POSIX_RENAMED_FROM'}
STATS = {'stat', 'lstat', 'fstat', 'fstatat', 'statx'}
RENAMES = {'rename', 'renameat', 'renameat2'}
DUPS = {'dup', 'dup2', 'dup3'}
FSYNCS = {'fsync', 'aio_fsync', 'io_submit_sync', 'io_uring_sync'}
DUP_COMMANDS = (0, 1030)  # F_DUPFD, F_DUPFD_CLOEXEC
PREFIX = {'posix': 'POSIX_', 'stdio': 'STDIO_', 'mpiio': 'MPIIO_'}
TIMES = ('READ', 'WRITE', 'META')


def ns(seconds):
    return round(seconds * 1e9)


def role(event):
    """What a call counts as, or None."""
    op, kind = event['op'], event['class']
    if kind in ('read', 'write'):
        return kind
    if kind == 'open':
        return {'opendir': None, 'fdopendir': None, 'fdopen': 'fdopen'}.get(op, 'open')
    if kind == 'close':
        return None if op == 'closedir' else 'close'
    if kind == 'seek':
        return None if op.startswith('MPI') else 'seek'
    if op in DUPS or op == 'fcntl' and event.get('flags', 0) in DUP_COMMANDS:
        return 'dup'
    for names, found in ((FSYNCS, 'fsync'), (STATS, 'stat'), (RENAMES, 'rename')):
        if op in names:
            return found
    return {'fdatasync': 'fdsync', 'fflush': 'flush', 'fileno': 'fileno', 'mmap': 'mmap', 'MPI_File_sync': 'sync',
            'MPI_File_set_view': 'view', 'MPI_File_set_info': 'info'}.get(op)


def mpiio_kind(op):
    if op.endswith('_begin'):
        return 'SPLIT'
    if op.startswith(('MPI_File_iread', 'MPI_File_iwrite')):
        return 'NB'
    return 'COLL' if op.endswith(('_all', '_ordered')) else 'INDEP'


def asked_for_hints(event):
    return event.get('hints', {}).get('asked') is not None


class Record:
    """One file in one process and layer."""

    def __init__(self, layer):
        self.layer = layer
        self.count = collections.Counter()
        self.sizes, self.strides = collections.Counter(), collections.Counter()
        self.first, self.last = {}, {}
        self.busy, self.time = dict.fromkeys(TIMES, 0), dict.fromkeys(TIMES, 0)
        self.longest = {'READ': (0, 0), 'WRITE': (0, 0)}
        self.byte, self.max_byte = {'READ': 0, 'WRITE': 0}, {'READ': 0, 'WRITE': 0}
        self.mode = 0
        self.last_kind = None

    def spend(self, name, event):
        start, end = ns(event['start']), ns(event['start']) + ns(event['duration'])
        if end > self.busy[name]:
            self.time[name] += end - max(start, self.busy[name])
            self.busy[name] = end

    def stamp(self, name, event):
        start, end = ns(event['start']), ns(event['start']) + ns(event['duration'])
        self.first[name] = min(self.first.get(name, start), start)
        self.last[name] = max(self.last.get(name, end), end)

    def access(self, event, kind):
        size, other = event['result'], 'WRITE' if kind == 'READ' else 'READ'
        count = self.count
        count[kind + 'S'] += 1
        count['BYTES_READ' if kind == 'READ' else 'BYTES_WRITTEN'] += size
        count[f'SIZE_{kind}_' + next(name for limit, name in BINS if limit is None or size <= limit)] += 1
        count['RW_SWITCHES'] += self.last_kind == other
        self.last_kind = kind
        self.sizes[size] += 1
        self.stamp(kind, event)
        self.spend(kind, event)
        if ns(event['duration']) > self.longest[kind][0]:
            self.longest[kind] = ns(event['duration']), size
        if self.layer == 'mpiio':
            count[f'{mpiio_kind(event["op"])}_{kind}S'] += 1
        elif event['offset'] is not None:
            self.position(event['offset'], size, kind)

    def position(self, offset, size, kind):
        last = self.byte[kind]
        self.count[f'SEQ_{kind}S'] += offset > last
        self.count[f'CONSEC_{kind}S'] += offset == last + 1
        self.strides[offset - last - 1 if offset > last and last != 0 else 0] += 1
        self.byte[kind] = offset + size - 1
        self.max_byte[kind] = max(self.max_byte[kind], offset + size - 1)
        self.count['offsets', offset] += 1

    def open(self, event, how):
        self.count['OPENS'] += 1
        self.count[{'dup': 'DUPS', 'fileno': 'FILENOS', 'fdopen': 'FDOPENS'}.get(how, '')] += 1
        self.mode = event.get('mode', 0) or self.mode
        if self.layer == 'mpiio':
            self.count['INDEP_OPENS' if event['comm_size'] == 1 else 'COLL_OPENS'] += 1
            self.count['HINTS'] += asked_for_hints(event)
            self.mode = event['flags']
        self.stamp('OPEN', event)
        self.spend('META', event)
        if how == 'open':
            self.byte = {'READ': 0, 'WRITE': 0}

    def add(self, event, how, is_target):
        if how in ('read', 'write'):
            self.access(event, how.upper())
        elif how in ('open', 'dup', 'fileno', 'fdopen'):
            self.open(event, how)
        elif how == 'close':
            self.stamp('CLOSE', event)
            self.spend('META', event)
        else:
            names = {'seek': 'SEEKS', 'stat': 'STATS', 'mmap': 'MMAPS', 'fsync': 'FSYNCS', 'fdsync': 'FDSYNCS',
                     'flush': 'FLUSHES', 'sync': 'SYNCS', 'view': 'VIEWS', 'info': 'HINTS',
                     'rename': 'RENAME_TARGETS' if is_target else 'RENAME_SOURCES'}
            self.count[names[how]] += 1
            if how == 'view':
                self.count['HINTS'] += asked_for_hints(event)
            if how != 'mmap':
                self.spend('WRITE' if how in ('fsync', 'fdsync', 'flush', 'sync') else 'META', event)

    def seconds(self):
        return sum(self.time.values())

    def bytes(self):
        return self.count['BYTES_READ'] + self.count['BYTES_WRITTEN']


def records(events):
    """{(rank, pid, layer, file): Record}; the pid is None for ranks."""
    found = {}
    for event in events:
        how = role(event)
        layer = 'posix' if event['op'] == 'fileno' else event['layer']
        if how is None or event['errno'] or event['result'] is None or event['result'] < 0:
            continue
        for name, is_target in ((event['file'], False), (event.get('file2') if how == 'rename' else None, True)):
            if name is not None:
                key = event['rank'], event['pid'], layer, name
                found.setdefault(key, Record(layer)).add(event, how, is_target)
    return found


def merged(parts):
    """Records of several ranks, side by side."""
    whole = Record(parts[0].layer)
    for part in parts:
        whole.count.update(part.count)
        whole.sizes.update(part.sizes)
        whole.strides.update(part.strides)
        for name, value in part.first.items():
            whole.first[name] = min(whole.first.get(name, value), value)
            whole.last[name] = max(whole.last.get(name, 0), part.last[name])
        for name in TIMES:
            whole.time[name] += part.time[name]
        for kind in ('READ', 'WRITE'):
            whole.longest[kind] = max(whole.longest[kind], part.longest[kind], key=lambda longest: longest[0])
            whole.max_byte[kind] = max(whole.max_byte[kind], part.max_byte[kind])
        whole.mode = part.mode or whole.mode
    return whole


def variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def listed(record, alignment, ranks=None):
    """The counters by name. `ranks`: the records of the ranks that were made one, by rank."""
    out = collections.defaultdict(int, record.count)
    out['MODE'], out['MEM_ALIGNMENT'], out['FILE_ALIGNMENT'] = record.mode, 8, alignment
    out['FILE_NOT_ALIGNED'] = sum(times for key, times in record.count.items()
                                  if isinstance(key, tuple) and alignment and key[1] % alignment)
    for kind, done in (('READ', 'READ'), ('WRITE', 'WRITTEN')):
        out[f'MAX_BYTE_{done}'] = record.max_byte[kind]
        out[f'F_MAX_{kind}_TIME'], out[f'MAX_{kind}_TIME_SIZE'] = record.longest[kind][0] / 1e9, record.longest[kind][1]
        for _, name in BINS:
            out[f'SIZE_{kind}_AGG_{name}'] = record.count[f'SIZE_{kind}_{name}']
    for values, name in ((record.sizes, 'ACCESS'), (record.strides, 'STRIDE')):
        top = sorted((item for item in values.items() if item[0]), key=lambda item: (-item[1], -item[0]))[:4]
        for i, (value, times) in enumerate(top, 1):
            out[f'{name}{i}_{name}'], out[f'{name}{i}_COUNT'] = value, times
    for name in ('OPEN', 'READ', 'WRITE', 'CLOSE'):
        out[f'F_{name}_START_TIMESTAMP'] = record.first.get(name, 0) / 1e9
        out[f'F_{name}_END_TIMESTAMP'] = record.last.get(name, 0) / 1e9
    for name in TIMES:
        out[f'F_{name}_TIME'] = record.time[name] / 1e9
    if ranks:
        fastest = min(ranks, key=lambda rank: (ranks[rank].seconds(), rank))
        slowest = min(ranks, key=lambda rank: (-ranks[rank].seconds(), rank))
        for name, rank in (('FASTEST', fastest), ('SLOWEST', slowest)):
            out[f'{name}_RANK'], out[f'{name}_RANK_BYTES'] = rank, ranks[rank].bytes()
            out[f'F_{name}_RANK_TIME'] = ranks[rank].seconds() / 1e9
        out['F_VARIANCE_RANK_TIME'] = variance([part.seconds() / 1e9 for part in ranks.values()])
        out['F_VARIANCE_RANK_BYTES'] = variance([part.bytes() for part in ranks.values()])
    return out


def differences(told, expected, prefix):
    """Wrong counters of `ioseer stats`: name, printed value, expected value."""
    for name, value in told.items():
        if name in NOT_COMPARED:
            continue
        wanted = expected[name.removeprefix(prefix)]
        tolerance = 1e-9 * max(1, abs(wanted)) if isinstance(value, float) or isinstance(wanted, float) else 0
        if 'VARIANCE' in name:
            tolerance = 1e-9 * abs(wanted) + 1e-15
        if abs(value - wanted) > tolerance:
            yield name, value, wanted
