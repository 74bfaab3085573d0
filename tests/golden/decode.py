#!/usr/bin/env python3
"""decode.py [--counters | --comm] LOG: prints the events of a log as `ioseer dump --json` does, its counters records,
or what `ioseer dump --comm --json` prints.

Written from doc/format.md and shares nothing with ioseer. Needs the zstd command.
"""
import collections
import errno
import json
import os
import struct
import subprocess
import sys
import tempfile

from xxh64 import xxh64

VERSION = 1
HEADER_BYTES, LONG_HEADER_BYTES, SHORT_HEADER_BYTES, TRAILER_BYTES, OLD_TRAILER_BYTES = 64, 96, 16, 12, 32
LOG_MAGIC, LONG_MAGIC, SHORT_MAGIC = b'\x89IOSEER\n', b'\xf1IOBLOCK', b'\xf1IOR'
BLOCK_MARK = b'\xf1IO'
TRAILER_MAGIC, OLD_TRAILER_MAGIC = b'\x89IOE', b'\x89IOSEND\n'
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
BLOCK_RECORDS, BLOCK_EVENTS, BLOCK_INDEX = 1, 2, 3
CODEC_PLAIN, CODEC_ZSTD, CODEC_BARE, CODEC_SHARED = range(4)
PLAIN, BEFORE, LEFT, BYTES = range(4)
MAX_PAYLOAD = 16 << 20

PROCESS, FILE, CALL, PROCESS_FILE, CALL_SITE, COUNTERS, BLOCK, STREAM = 2, 3, 4, 5, 7, 10, 11, 12
DATATYPE, HINTS, PROCESS_DATATYPE, PROCESS_HINTS, COMMUNICATOR = 14, 15, 16, 17, 19
SELECTION, PROCESS_SELECTION, DATASET, PROCESS_DATASET, IMPORT, IMPORTED = 20, 21, 22, 23, 34, 35
# Moments of counters of several ranks: each is the difference from the one before it.
CHAINED = (50, 54, 51, 55, 52, 56, 53, 57, 112, 113)
# The keys that tell what a record is about: a later record on the same thing replaces an earlier one.
IDENTITY = {PROCESS: (1,), FILE: (1,), CALL: (1,), PROCESS_FILE: (1, 2), CALL_SITE: (5, 1), COUNTERS: (1, 2, 3),
            STREAM: (1,), DATATYPE: (1,), HINTS: (1,), PROCESS_DATATYPE: (1, 2), PROCESS_HINTS: (1, 2),
            COMMUNICATOR: (1, 2), SELECTION: (1,), PROCESS_SELECTION: (1, 2), DATASET: (1,), PROCESS_DATASET: (1, 2)}
FIRST_COUNTER = 16
SAME_COUNTERS = ((67, 55), (68, 56), (69, 57), (75, 51), (76, 52), (77, 50), (78, 55), (79, 56), (80, 54), (63, 16),
                 (64, 17), (61, 58), (62, 59))
LAYERS = {1: 'posix', 2: 'stdio', 3: 'mpiio', 4: 'hdf5', 5: 'pnetcdf', 6: 'client', 7: 'net', 8: 'server', 9: 'disk', 10: 'netcdf'}
CLASSES = {1: 'read', 2: 'write', 3: 'open', 4: 'close', 5: 'sync', 6: 'seek', 7: 'meta'}
HAS_OFFSET, HAS_SIZE, RESULT_IS_SIZE, RESULT_IS_OFFSET, ASYNCHRONOUS, COLLECTIVE = 1, 2, 4, 8, 16, 32

RUN, MOVE, RESIZE, EXTENDED = range(4)
EVENT, SLOT, THREAD, BEGIN, REOPEN, LOST, COMMUNICATION, LEAVE, PARTNERS = range(9)
COMMUNICATION_KINDS = ('synchronising', 'moving', 'completing')
MPI_FEATURE, PARTNERS_FEATURE, BELOW_FEATURE, TRIGGERS_FEATURE, REDUCED_FEATURE, SHORT_FEATURE, IMPORTED_FEATURE, \
    STEPS_FEATURE, GROUPS_FEATURE = (1 << bit for bit in range(9))
KNOWN_FEATURES = (1 << 9) - 1
LAYERS_BELOW = ('client', 'net', 'server', 'disk')
ORIGINS = ('unknown', 'world', 'self', 'dup', 'split', 'create', 'group', 'shared', 'topology', 'inter', 'merge', 'spawn',
           'connect')
# Those that a file that cannot be opened gives.
MPI_ERRORS = {'MPICH': {20: (errno.EACCES, 'MPI_ERR_ACCESS'), 25: (errno.EEXIST, 'MPI_ERR_FILE_EXISTS'),
                        37: (errno.ENOENT, 'MPI_ERR_NO_SUCH_FILE')},
              'Open MPI': {20: (errno.EACCES, 'MPI_ERR_ACCESS'), 28: (errno.EEXIST, 'MPI_ERR_FILE_EXISTS'),
                           42: (errno.ENOENT, 'MPI_ERR_NO_SUCH_FILE')}}
SELECTIONS = (None, 'none', 'all', 'hyperslab', 'irregular', 'points')
LAYOUTS = ('compact', 'contiguous', 'chunked', 'virtual')
TYPE_CLASSES = ('integer', 'float', 'time', 'string', 'bitfield', 'opaque', 'compound', 'reference', 'enum', 'vlen',
                'array')
ALLOCATION_TIMES, FILL_TIMES = ('default', 'early', 'late', 'incremental'), ('alloc', 'never', 'ifset')
PARTNER_ROLES = ('all', 'from_root', 'to_root', 'send', 'receive', 'more')
MORE = 5
MAX_PARTNERS = 64
HAS_MOVE, NEW_SIZE, HAS_RESULT, HAS_ERROR, BACKWARDS, ANNOUNCED, HAS_ATTRIBUTES, NO_OFFSET, NO_RESULT = \
    (1 << bit for bit in range(9))
EVENT_FLAGS = (1 << 9) - 1
SLOT_UNALIGNED, SLOT_SITE, SLOT_DIFFERENCES = 1, 2, 4
MAX_OPEN = MAX_ATTRIBUTES = ATTRIBUTE_LIMIT = 32
OTHER_FILE, CALL_TIME, PARENT_STREAM, PARENT_NUMBER, OWN_STREAM, OWN_NUMBER, TICK = 4, 5, 6, 7, 15, 16, 17
PRINTED_ATTRIBUTES = {0: 'flags', 1: 'mode', 2: 'fd', 3: 'file_size', 8: 'whence', 9: 'pieces', 10: 'view_offset',
                      11: 'comm_size', 12: 'etype_bytes', 13: 'filetype_bytes', 14: 'filetype_extent',
                      23: 'comm', 27: 'mapped_read', 28: 'mapped_dirty', 29: 'mapped_copied', 30: 'server'}
SELECTION_NUMBER, DATASET_NUMBER, IS_COLLECTIVE = 24, 25, 26
HAS_HINTS, HINTS_NUMBER, ETYPE, FILETYPE, MEMORY_TYPE = 18, 19, 20, 21, 22
ACCESS_MODES = ('CREATE', 'RDONLY', 'WRONLY', 'RDWR', 'DELETE_ON_CLOSE', 'UNIQUE_OPEN', 'EXCL', 'APPEND', 'SEQUENTIAL')
COMBINERS = ('other', 'named', 'dup', 'contiguous', 'vector', 'hvector', 'indexed', 'hindexed', 'indexed_block',
             'hindexed_block', 'struct', 'subarray', 'darray', 'resized', 'f90')
MAX_ITEMS, MAX_LOOPS = 4096, 16
PRINTED_ITEMS, TEXT_ITEMS = 64, 8  # of a datatype, by dump

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
MAX_NS = 1 << 61


class Damage(Exception):
    """What is read here does not follow the format."""


class NotALog(Exception):
    """Nothing of the file can be read."""


def signed(number):
    """The 64 bits as a number in two's complement."""
    return number - (1 << 64) if number >> 63 else number


def unfold(number):
    return -(number >> 1) - 1 if number & 1 else number >> 1


class Cursor:
    """Reads bytes from front to back."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Damage('cut off')
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        if self.at == len(self.data):
            raise Damage('cut off')
        self.at += 1
        return self.data[self.at - 1]

    def varint(self, limit=MASK64):
        value = shift = 0
        more = True
        while more:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            more = byte & 128
            if value > limit or more and shift == 70:
                raise Damage('a number is too large')
        return value

    def folded(self):
        return unfold(self.varint())


class Block:
    """A block whose header is good and whose payload lies within the log."""

    LONG = struct.Struct('<8sHHIIIIIIIQQQQQQQ')

    def __init__(self, log, at):
        self.at, self.is_short = at, log.startswith(SHORT_MAGIC, at)
        header = log[at:at + (SHORT_HEADER_BYTES if self.is_short else LONG_HEADER_BYTES)]
        if not self.is_short and (len(header) < LONG_HEADER_BYTES or not header.startswith(LONG_MAGIC)):
            raise Damage('no block')
        stored = self.read_short(header) if self.is_short else self.read_long(header)
        self.end = at + len(header) + stored
        if self.end > len(log):
            raise Damage('the length of the block is wrong')
        self.data = log[at + len(header):self.end]

    def read_long(self, header):
        (_, self.type, self.codec, _, stored, self.length, self.stream, self.tid, _, _, self.first, self.base,
         self.tick, _, _, self.payload_hash, header_hash) = self.LONG.unpack(header)
        if xxh64(header[:88]) != header_hash:
            raise Damage('the header of the block is damaged')
        if stored > self.length or self.length > MAX_PAYLOAD:
            raise Damage('the length of the block is wrong')
        return stored

    def read_short(self, header):
        if len(header) < SHORT_HEADER_BYTES or xxh64(header[:12]) & MASK32 != int.from_bytes(header[12:], 'little'):
            raise Damage('the header of the block is damaged')
        self.type, self.codec, self.stream = header[4] & 15, header[4] >> 4, 0
        self.payload_hash = int.from_bytes(header[8:12], 'little')
        return int.from_bytes(header[5:8], 'little')

    def payload(self):
        """Events or records."""
        if xxh64(self.data) & (MASK32 if self.is_short else MASK64) != self.payload_hash:
            raise Damage('the payload is damaged')
        if self.codec not in ((CODEC_PLAIN, CODEC_BARE, CODEC_SHARED) if self.is_short else (CODEC_PLAIN, CODEC_ZSTD)):
            raise Damage(f'unknown codec {self.codec}')
        payload = self.unpacked()
        if self.is_short:
            return records_of(Cursor(payload))
        if len(payload) != self.length:
            raise Damage('the payload has a wrong length')
        return payload

    def unpacked(self):
        if self.codec == CODEC_PLAIN:
            return self.data
        if self.codec == CODEC_ZSTD:
            return unpack(self.data)
        return unpack(ZSTD_MAGIC + self.data, ('-D', DICTIONARY.name) if self.codec == CODEC_SHARED else ())


def varint_of(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


class Group:
    """Records that have the same kind and the same keys, column by column."""

    def __init__(self, cursor):
        self.kind, count = cursor.varint(MASK32), cursor.varint()
        self.fields, self.rows, key = [], 0, 0
        for _ in range(count):
            head = cursor.varint()
            key += unfold(head >> 2)
            if not 0 <= key <= MASK32:
                raise Damage('a key that is none')
            self.fields.append((key, head & 3))

    def read_columns(self, cursor):
        columns, left = [], [0] * self.rows
        for _, form in self.fields:
            column = [cursor.varint() for _ in range(self.rows)]
            if form == BYTES:
                columns.append([cursor.take(length) for length in column])
                continue
            before = 0
            for row, number in enumerate(column):
                if form != PLAIN:
                    number = (before if form == BEFORE else left[row]) + unfold(number) & MASK64
                column[row] = before = left[row] = number
            columns.append(column)
        self.records = iter([self.record(values) for values in zip(*columns)] if columns else [self.record(())] * self.rows)

    def record(self, values):
        body = b''.join(varint_of(key << 1 | 1) + varint_of(len(value)) + value if form == BYTES else
                        varint_of(key << 1) + varint_of(value) for (key, form), value in zip(self.fields, values))
        return varint_of(self.kind) + varint_of(len(body)) + body


def records_of(cursor):
    """The records that columns stand for."""
    groups, order = [], []
    for _ in range(cursor.varint()):
        number = cursor.varint(len(groups))
        if number == len(groups):
            groups.append(Group(cursor))
        groups[number].rows += 1
        order.append(groups[number])
    for group in groups:
        group.read_columns(cursor)
    if cursor.at != len(cursor.data):
        raise Damage('bytes behind the columns')
    records_made = b''.join(next(group.records) for group in order)
    if len(records_made) > MAX_PAYLOAD:
        raise Damage('the columns stand for too much')
    return records_made


def read_dictionary():
    """A file with the dictionary of the specification."""
    with open(os.path.join(os.path.dirname(__file__), '..', '..', 'doc', 'format.md'), encoding='utf-8') as text:
        digits = text.read().split('## Appendix: the dictionary')[1].split('```')[1]
    file = tempfile.NamedTemporaryFile(prefix='ioseer-dictionary-')  # pylint: disable=consider-using-with
    file.write(bytes.fromhex(digits))
    file.flush()
    return file


DICTIONARY = read_dictionary()


def unpack(packed, options=()):
    """The contents of a zstd frame, which must state its length."""
    descriptor = packed[4] if packed.startswith(ZSTD_MAGIC) and len(packed) > 4 else 0
    single = descriptor >> 5 & 1
    at = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    width = (single, 2, 4, 8)[descriptor >> 6]
    length = int.from_bytes(packed[at:at + width], 'little') + (256 if width == 2 else 0)
    if width == 0 or length > MAX_PAYLOAD:
        raise Damage('not a zstd frame that states its length')
    with tempfile.TemporaryFile() as file:
        file.write(packed)
        file.seek(0)
        with subprocess.Popen(['zstd', '-d', '-c', '-q', *options], stdin=file, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as zstd:
            payload = zstd.stdout.read(length + 1)
    if zstd.returncode != 0 or len(payload) != length:
        raise Damage('the payload does not unpack')
    return payload


def check_header(log, problems):
    if not log.startswith(LOG_MAGIC) or len(log) < HEADER_BYTES:
        raise NotALog('not a log')
    _, min_reader, length, features = struct.unpack_from('<HHIQ', log, 8)
    if xxh64(log[:56]) != int.from_bytes(log[56:64], 'little'):
        problems.append('the header of the log is damaged')
    elif min_reader > VERSION or features & ~KNOWN_FEATURES or length != HEADER_BYTES:
        raise NotALog('the log is of a newer version')


def read_trailer(log):
    """(where the index begins, where it ends); both are the same without an index. The last is whether there is one."""
    end = len(log) - TRAILER_BYTES
    if end >= HEADER_BYTES and log[end + 4:end + 8] == TRAILER_MAGIC and \
            xxh64(log[end:end + 8]) & MASK32 == int.from_bytes(log[end + 8:], 'little'):
        length = int.from_bytes(log[end:end + 4], 'little')
        return end - length, end, length > 0
    end = len(log) - OLD_TRAILER_BYTES
    at, _, checksum, magic = struct.unpack('<QQQ8s', log[end:]) if end >= HEADER_BYTES else (0, 0, 0, b'')
    if magic != OLD_TRAILER_MAGIC or xxh64(log[end:end + 16]) != checksum:
        raise Damage('no trailer')
    return at, end, True


def indexed_places(log):
    """Where the blocks are according to the index, or one behind the other without one; Damage if that is not good."""
    at, end, has_index = read_trailer(log)
    places = []
    if not has_index:
        at = HEADER_BYTES
    while at != end:
        block = Block(log, at) if 0 <= at < end else None
        if block is None or block.end > end or has_index and block.type != BLOCK_INDEX:
            raise Damage('no index, or no block, where it should be')
        places += ([fields.number(1) for kind, fields in records(block.payload(), []) if kind == BLOCK] if has_index else
                   [block.at])
        at = block.end
    return places


def searched_blocks(log, problems):
    """All blocks that can be found without index and trailer."""
    at = HEADER_BYTES
    while 0 <= at < len(log):
        try:
            block = Block(log, at)
            yield block
            at = block.end
        except Damage as damage:
            problems.append(f'bytes from {at} on: {damage}')
            at = log.find(BLOCK_MARK, at + 1)


def find_blocks(log, problems):
    """All blocks but the index, in the order of the file."""
    check_header(log, problems)
    try:
        places = indexed_places(log)
    except Damage as damage:
        problems.append(f'no index ({damage}): the log was not finished, was cut off or is damaged')
        return [block for block in searched_blocks(log, problems) if block.type != BLOCK_INDEX]
    blocks = []
    for at in places:
        try:
            blocks.append(Block(log, at))
        except Damage as damage:
            problems.append(f'block at {at}: {damage}')
    return blocks


class Fields:
    """The fields of a record. If a key that is not a list occurs several times, the last value counts."""

    def __init__(self, body):
        self.numbers, self.lists, self.strings = {}, collections.defaultdict(list), collections.defaultdict(list)
        cursor = Cursor(body)
        while cursor.at < len(cursor.data):
            key = cursor.varint()
            if key & 1:
                self.strings[key >> 1].append(cursor.take(cursor.varint()))
            else:
                self.numbers[key >> 1] = cursor.varint()
                self.lists[key >> 1].append(self.numbers[key >> 1])

    def number(self, key):
        return self.numbers.get(key, 0)

    def string(self, key):
        return self.strings[key][-1] if key in self.strings else b''

    def text(self, key):
        return self.string(key).decode('utf-8', 'surrogateescape')

    def pairs(self, key):
        cursor = Cursor(self.string(key))
        pairs = []
        while cursor.at < len(cursor.data):
            pairs.append([cursor.varint(), cursor.varint()])
        return pairs


NO_FIELDS = Fields(b'')


def records(payload, problems):
    """(kind, fields) of all records that are whole."""
    cursor = Cursor(payload)
    try:
        while cursor.at < len(cursor.data):
            kind = cursor.varint()
            body = cursor.take(cursor.varint())
            try:
                yield kind, Fields(body)
            except Damage as damage:
                problems.append(f'a record of kind {kind}: {damage}')
    except Damage as damage:
        problems.append(f'the rest of a block of records: {damage}')


class Item:
    """A piece, or a loop, of a flattened datatype."""

    def __init__(self, cursor, place, loops):
        head = cursor.varint()
        self.offset, self.count, self.stride, self.body = place + cursor.folded(), 1, 0, []
        self.span, self.bytes = 1, head >> 1
        if head & 1:
            self.count, self.stride = head >> 1, cursor.folded()
            self.body = items_of(cursor, cursor.varint(), loops + 1)
            self.span += sum(item.span for item in self.body)
            self.bytes = self.count * sum(item.bytes for item in self.body)
        single = len(self.body) == 1 and not self.body[0].body
        if self.bytes == 0 or head & 1 and self.count < 2 or single and self.stride == self.body[0].bytes:
            raise Damage('a piece without bytes, or a loop that is none')

    def end(self):
        return self.offset + (self.count * self.stride if self.body else self.bytes)

    def described(self):
        if not self.body:
            return {'offset': self.offset, 'length': self.bytes}
        return {'offset': self.offset, 'count': self.count, 'stride': self.stride,
                'pieces': [item.described() for item in self.body]}

    def text(self, left):
        """In words; `left` is how many more items may be printed."""
        words = f'{self.bytes} bytes'
        if self.body:
            simple = len(self.body) == 1 and not self.body[0].body and self.body[0].offset == 0
            inside = text_of(self.body, left)
            words = f'{self.count} x {inside if simple else f"({inside})"} every {self.stride}'
        return words + (f' at {self.offset}' if self.offset else '')


def items_of(cursor, count, loops=0):
    """Items of a body that has `count` with all inside; None: up to the end."""
    items, place, taken = [], 0, 0
    if count == 0 or loops > MAX_LOOPS:
        raise Damage('a loop without a body, or too deep')
    while cursor.at < len(cursor.data) if count is None else taken < count:
        items.append(Item(cursor, place, loops))
        if len(items) > 1 and not items[-2].body and not items[-1].body and items[-1].offset == place:
            raise Damage('two pieces that are one')
        place, taken = items[-1].end(), taken + items[-1].span
    if taken > MAX_ITEMS or count is not None and taken != count:
        raise Damage('a wrong number of items')
    return items


def text_of(items, left):
    words = []
    for item in items:
        if left[0] == 0:
            return ' + '.join([*words, '...'])
        left[0] -= 1
        words.append(item.text(left))
    return ' + '.join(words)


class Datatype:
    def __init__(self, row):
        self.bytes, self.lower_bound, self.extent = row.number(2), unfold(row.number(3)), unfold(row.number(4))
        self.name, combiner, self.cut = row.text(5) or None, row.number(6), row.number(8) == 1
        self.combiner = COMBINERS[combiner if combiner < len(COMBINERS) else 0]
        self.items = items_of(Cursor(row.string(7)), None)
        known = sum(item.bytes for item in self.items)
        if known > self.bytes or known != self.bytes and not self.cut:
            raise Damage('the form of a datatype has another size')

    def text(self):
        if self.combiner == 'named' and self.name:
            return self.name
        left = [TEXT_ITEMS]
        words = f'{self.combiner} {text_of(self.items, left)}'
        if self.cut:
            words += f'{" + ..." if self.items and left[0] else ""} of {self.bytes} bytes'
        elif not self.items:
            words += '0 bytes'
        return f'{words}, extent {self.extent}'

    def described(self):
        printed, left = [], PRINTED_ITEMS
        for item in self.items:
            left -= item.span
            if left < 0:
                break
            printed.append(item.described())
        return {'name': self.name, 'combiner': self.combiner, 'bytes': self.bytes, 'lower_bound': self.lower_bound,
                'extent': self.extent, 'text': self.text(), 'pieces': printed, 'complete': not self.cut and left >= 0}


def hints_of(row):
    """Asked for, in force."""
    lists = []
    for key in (2, 3):
        pairs = [pair.partition(b'\0') for pair in row.strings.get(key, ())]
        if not all(zero for _, zero, _ in pairs):
            raise Damage('a hint without a value')
        lists.append({name.decode('utf-8', 'surrogateescape'): value.decode('utf-8', 'surrogateescape')
                      for name, _, value in pairs})
    return lists


def selection_of(row):
    kind = row.number(2)
    selection = {'kind': SELECTIONS[kind], 'dims': [size or None for size in row.lists.get(3, [])]}
    selection['points'] = row.number(7) if 7 in row.numbers else None
    if selection['points'] is None and not selection['dims']:
        selection['points'] = 0
    lists = [row.lists.get(key, []) for key in (4, 5, 6)]
    if any(len(values) != (len(selection['dims']) if kind > 2 else 0) for values in lists):
        raise Damage('a selection with lists of other lengths')
    if kind == 3:
        selection.update(zip(('stride', 'count', 'block'), lists))
    elif kind > 3:
        selection['box'] = lists[2]
    if kind == 4:
        selection['blocks'] = row.number(8)
    return selection


def named(names, number):
    return names[number] if 0 <= number < len(names) else None


def dataset_of(row):
    filters = [text.decode('utf-8', 'surrogateescape').partition(' ') for text in row.strings.get(6, ())]
    return {'dims': row.lists.get(2, []), 'max_dims': [None if size == MASK64 else size for size in row.lists.get(3, [])],
            'type': named(TYPE_CLASSES, row.number(7) - 1), 'element_size': row.number(8),
            'layout': named(LAYOUTS, row.number(4) - 1), 'chunk': row.lists.get(5, []),
            'filters': [{'id': int(number), 'name': name or None} for number, _, name in filters],
            'allocation_time': named(ALLOCATION_TIMES, row.number(9)), 'fill_time': named(FILL_TIMES, row.number(10) - 1),
            'alignment_threshold': row.number(11) if row.number(12) else None, 'alignment': row.number(12) or None,
            'mpiio': row.number(13) == 1, 'collective_metadata_reads': row.number(14) == 1,
            'collective_metadata_writes': row.number(15) == 1}


Call = collections.namedtuple('Call', 'name layer kind traits')
UNKNOWN_CALL = Call('unknown', None, None, 0)


class Tables:
    """The records of a log, by kind and number."""

    def __init__(self, blocks, problems):
        self.of = {kind: {} for kind in IDENTITY}
        for block in blocks:
            if block.type == BLOCK_RECORDS:
                try:
                    last_file = 0
                    for kind, fields in records(block.payload(), problems):
                        if kind not in IDENTITY:
                            continue
                        identity = [fields.number(key) for key in IDENTITY[kind]]
                        if kind == FILE:
                            last_file = identity[0] = identity[0] or last_file + 1
                        if kind == COUNTERS and not identity[0]:
                            identity[1] = identity[1] or last_file
                        self.of[kind][tuple(identity)] = fields
                except Damage as damage:
                    problems.append(f'block at {block.at}: {damage}')
        self.datatypes = self.made(DATATYPE, Datatype, problems)
        self.hints = self.made(HINTS, hints_of, problems)
        self.selections = self.made(SELECTION, selection_of, problems)
        self.datasets = self.made(DATASET, dataset_of, problems)
        self.processes = {number: Process(self, number, row) for (number,), row in self.of[PROCESS].items()}
        self.streams = {(row.number(2), row.number(3)): number for (number,), row in self.of[STREAM].items()}
        self.calls = {number: Call(row.text(2), LAYERS.get(row.number(3)), CLASSES.get(row.number(4)), row.number(5))
                      for (number,), row in self.of[CALL].items()}

    def made(self, kind, make, problems):
        """What is made of the records of a kind, by number, but for damaged ones."""
        found = {}
        for (number,), row in self.of[kind].items():
            try:
                found[number] = make(row)
            except Damage as damage:
                problems.append(f'record {number} of kind {kind}: {damage}')
        return found

    def process_of(self, stream):
        row = self.of[STREAM].get((stream,))
        return self.processes.get(row.number(2)) if row else None


class Process:
    def __init__(self, tables, number, row):
        self.tables, self.number = tables, number
        self.pid, self.host = row.number(2), row.text(4) or None
        self.rank = row.number(12) - 1 if row.number(12) else None
        self.mpi = row.text(24)
        self.via = {0: 'preload', 1: 'ptrace', 2: 'link', 3: 'import'}.get(row.number(38))
        self.origin_units, self.origin_ns = row.number(14), unfold(row.number(15))
        self.span_units, self.span_ns = (row.number(29), row.number(30)) if row.number(29) else (1, 1)
        calls, sizes, times = ({value & 15: value >> 4 for value in row.lists[key]} for key in (32, 33, 34))
        self.untraced = {kind: (count, sizes.get(kind, 0), times.get(kind, 0)) for kind, count in calls.items()}

    def length(self, units):
        """Nanoseconds of a length of time; the fraction is cut off."""
        ns = min(abs(units) * self.span_ns // self.span_units, MAX_NS)
        return ns if units >= 0 else -ns

    def moment(self, units):
        return self.origin_ns + self.length(signed(units - self.origin_units & MASK64))

    def file_row(self, own_number):
        row = self.tables.of[PROCESS_FILE].get((self.number, own_number)) if own_number else None
        return self.tables.of[FILE].get((row.number(3),)) if row else None

    def file(self, own_number):
        """The name of a file of the process; None if there is none."""
        file = self.file_row(own_number)
        return file.text(2) if file else None

    def object(self, own_number):
        file = self.file_row(own_number)
        return file.text(10) or None if file else None

    def linked(self, kind, table, own_number):
        """What the process's own number stands for in a table of the log; None if there is none."""
        row = self.tables.of[kind].get((self.number, own_number)) if own_number else None
        return table.get(row.number(3)) if row else None

    def datatype(self, own_number):
        found = self.linked(PROCESS_DATATYPE, self.tables.datatypes, own_number)
        return found.described() if found else None

    def call_site(self, number):
        return self.tables.of[CALL_SITE].get((self.number, number), NO_FIELDS).text(4) or None if number else None


class Slot:
    def __init__(self, cursor, defined):
        self.call, file, handle, flags = cursor.varint(MASK32), cursor.varint(), cursor.varint(), cursor.varint()
        if flags & ~(SLOT_UNALIGNED | SLOT_SITE | SLOT_DIFFERENCES):
            raise Damage('an unknown flag of a slot')
        if flags & SLOT_DIFFERENCES:
            file, handle = (before + unfold(number) for before, number in zip(defined, (file, handle)))
        if not (0 <= file <= MASK32 and 0 <= handle <= MASK32):
            raise Damage('a slot of an impossible file')
        self.file, self.handle = file, handle
        self.site = cursor.varint(MASK32) if flags & SLOT_SITE else 0
        self.last = self.displacement = self.size = 0


class Event:
    """One call, as the chunk has it."""

    def __init__(self, slot, tid, offset=None):
        self.slot, self.tid, self.offset, self.size = slot, tid, offset, slot.size
        self.result_given, self.result, self.error = False, None, 0  # a result not given follows from the traits
        self.number = self.parent = self.start = self.end = self.tick = None
        self.attributes = {}
        self.communication, self.announced, self.partners = {}, None, {}


def add_partner(partners, partner, calls):
    """The last place is for all that have none."""
    if partner not in partners and len(partners) >= MAX_PARTNERS - 1:
        partner = 0, MORE, 0
    partners[partner] = partners.get(partner, 0) + calls


class Chunk:
    """Decodes the payload of a block of events."""

    def __init__(self, block):
        self.cursor = Cursor(block.payload())
        self.number, self.clock, self.tid, self.tick = block.first, block.base, block.tid, block.tick
        self.open, self.slots = [], {}
        self.defined = 0, 0  # file and handle of the slot defined last
        self.communication, self.announced = {}, None  # since the last event; the first call begun since
        self.partners = {}  # (communicator, role, peer): calls

    def events(self):
        """Yields the events up to the end or to the first damage, which it raises."""
        while self.cursor.at < len(self.cursor.data):
            head = self.cursor.byte()
            number, form = head >> 2, head & 3
            kind = self.cursor.byte() if form == EXTENDED else EVENT
            if kind != EVENT:
                self.change_state(kind, number)
            elif number not in self.slots:
                raise Damage('a slot that is not defined')
            elif form == EXTENDED:
                yield self.full_event(self.slots[number])
            else:
                yield self.plain_event(self.slots[number], form)

    def change_state(self, kind, slot):
        if kind == SLOT:
            self.slots[slot] = Slot(self.cursor, self.defined)
            self.defined = self.slots[slot].file, self.slots[slot].handle
        elif kind == THREAD:
            self.tid = self.cursor.varint(MASK32)
        elif kind in (BEGIN, REOPEN):
            if len(self.open) == MAX_OPEN:
                raise Damage('too many announced calls')
            if kind == BEGIN and self.communication and self.announced is None:
                self.announced = self.number
            self.open.append(self.number if kind == BEGIN else self.cursor.varint())
            self.number += 1 if kind == BEGIN else 0
        elif kind == LEAVE:
            if not self.open:
                raise Damage('a call is left that was not announced')
            self.open.pop()
        elif kind == COMMUNICATION:
            self.add_communication()
        elif kind == PARTNERS:
            self.add_partners()
        elif kind == LOST:
            self.cursor.varint()
            self.cursor.varint()
        else:
            raise Damage(f'unknown kind {kind}')

    def add_communication(self):
        advance = self.cursor.varint()
        mask = self.cursor.varint()
        if mask >> len(COMMUNICATION_KINDS):
            raise Damage('an unknown kind of communication')
        taken = {kind: [self.cursor.varint() for _ in range(3)] for kind in range(len(COMMUNICATION_KINDS))
                 if mask >> kind & 1}
        self.tick += advance
        for kind, values in taken.items():
            self.communication[kind] = [a + b for a, b in zip(self.communication.get(kind, (0, 0, 0)), values)]

    def add_partners(self):
        count = self.cursor.varint()
        if count > MAX_PARTNERS or not self.communication:
            raise Damage('partners of no communication, or too many')
        for _ in range(count):
            head = self.cursor.varint()
            if head & 7 >= len(PARTNER_ROLES) or head >> 3 > MASK32:
                raise Damage('an unknown role, or a communicator over 32 bits')
            partner, calls = (head >> 3, head & 7, self.cursor.varint(MASK32)), self.cursor.varint()
            add_partner(self.partners, partner, calls)

    def plain_event(self, slot, form):
        moved = slot.displacement
        if form != RUN:
            moved = slot.displacement = self.cursor.folded()
        if form == RESIZE:
            slot.size = slot.displacement = self.cursor.varint()
        slot.last = slot.last + moved & MASK64
        return self.finish(Event(slot, self.tid, slot.last))

    def full_event(self, slot):
        read = self.cursor
        flags = read.varint()
        if flags & ~EVENT_FLAGS:
            raise Damage('an unknown flag of an event')
        if flags & ANNOUNCED and not self.open:
            raise Damage('an announced call that is not there')
        moved = displacement = read.folded() if flags & HAS_MOVE else slot.displacement
        if flags & NEW_SIZE:
            slot.size = displacement = read.varint()
        event = Event(slot, self.tid)
        if not flags & NO_OFFSET:
            event.offset = slot.last = slot.last + moved & MASK64
            slot.displacement = displacement
        event.result_given = bool(flags & (HAS_RESULT | HAS_ERROR | NO_RESULT))
        event.result = read.folded() if flags & HAS_RESULT else -1
        event.error = read.varint() if flags & HAS_ERROR else 0
        if flags & NO_RESULT:
            event.result = None
        if flags & HAS_ATTRIBUTES:
            count = read.varint(MAX_ATTRIBUTES)
            event.attributes = dict((read.varint(ATTRIBUTE_LIMIT - 1), read.varint()) for _ in range(count))
        return self.finish(event, flags)

    def finish(self, event, flags=0):
        """Reads the times, which come last; gives the event its number and parent."""
        gap, duration = self.cursor.varint(), self.cursor.varint()
        event.start = self.clock + (-gap if flags & BACKWARDS else gap) & MASK64
        event.end = self.clock = event.start + duration & MASK64
        if flags & ANNOUNCED:
            event.number = self.open.pop()
        elif OWN_NUMBER not in event.attributes:
            event.number = self.number
            self.number += 1
        event.parent = self.open[-1] if self.open else None
        if OWN_NUMBER in event.attributes:
            event.number, event.parent = event.attributes[OWN_NUMBER], None
        event.tick = event.attributes.get(TICK, self.tick)
        event.communication, event.announced, event.partners = self.communication, self.announced, self.partners
        self.communication, self.announced, self.partners = {}, None, {}
        return event


def parent_of(event, stream, process):
    number = event.attributes.get(PARENT_NUMBER, event.parent)
    if PARENT_STREAM in event.attributes:
        stream = process.tables.streams.get((process.number, event.attributes[PARENT_STREAM]))
    return None if number is None or stream is None else (stream << 32) + number


def id_of(event, stream, process):
    if OWN_NUMBER in event.attributes and OWN_STREAM in event.attributes:
        stream = process.tables.streams.get((process.number, event.attributes[OWN_STREAM]), stream)
    return (stream << 32) + (event.number & MASK32)


def result_of(event, traits):
    if event.result_given:
        return event.result
    if traits & RESULT_IS_SIZE:
        return signed(event.size)
    return signed(event.offset or 0) if traits & RESULT_IS_OFFSET else 0


def amode_of(flags):
    names = [f'MPI_MODE_{name}' for bit, name in enumerate(ACCESS_MODES) if flags >> bit & 1]
    rest = flags >> len(ACCESS_MODES) << len(ACCESS_MODES)
    return '|'.join(names + ([hex(rest)] if rest or not flags else []))


def describe_mpi(row, event, process):
    """Adds what only calls of MPI-IO have."""
    attributes = event.attributes
    if row['class'] == 'open' and 0 in attributes:
        row['amode'] = amode_of(attributes[0])
    hints = process.linked(PROCESS_HINTS, process.tables.hints, attributes.get(HINTS_NUMBER))
    if HAS_HINTS in attributes or hints:
        asked, in_force = hints or ({}, {})
        row['hints'] = {'asked': asked if HAS_HINTS in attributes else None, 'in_force': in_force}
    etype, filetype = (process.datatype(attributes.get(key)) for key in (ETYPE, FILETYPE))
    if etype or filetype:
        row['view'] = {'displacement': event.offset, 'etype': etype, 'filetype': filetype}
    memory = process.datatype(attributes.get(MEMORY_TYPE))
    if memory:
        row['datatype'] = memory


def start_of(selection, offset, size):
    """The first coordinates: the offset counts elements, the last dimension is the fastest."""
    element = offset // (size // selection['points'])
    start = []
    for dimension in reversed(selection['dims'][1:]):
        element, rest = divmod(element, dimension)
        start.insert(0, rest)
    return [element] + start


def describe_objects(row, event, process):
    """Adds what only calls above MPI-IO have."""
    selection = process.linked(PROCESS_SELECTION, process.tables.selections, event.attributes.get(SELECTION_NUMBER))
    if selection:
        row['selection'] = dict(selection)
        if 'stride' in selection or 'box' in selection:
            if row['offset'] is not None and selection['points'] and row['size']:
                row['selection']['start' if 'stride' in selection else 'box_start'] = \
                    start_of(selection, row['offset'], row['size'])
    dataset = process.linked(PROCESS_DATASET, process.tables.datasets, event.attributes.get(DATASET_NUMBER))
    if dataset:
        row['dataset'] = dataset
    row['collective'] |= event.attributes.get(IS_COLLECTIVE) == 1


def error_of(event, process, call):
    """The error as an errno, and its name. MPI-IO has error classes, which each MPI numbers in its own way."""
    if call.layer in ('hdf5', 'pnetcdf', 'netcdf'):
        return errno.EIO, 'failed'
    if call.layer != 'mpiio':
        return event.error, errno.errorcode.get(event.error)
    return MPI_ERRORS['Open MPI' if process.mpi.startswith('Open MPI') else 'MPICH'][event.error]


def described(event, block, process, call):
    """The event as (start in nanoseconds, what dump prints)."""
    slot, attributes = event.slot, event.attributes
    start = process.moment(event.start)
    duration = process.moment(event.end) - start
    row = {
        'id': id_of(event, block.stream, process), 'parent': parent_of(event, block.stream, process),
        'rank': process.rank, 'pid': process.pid, 'tid': event.tid, 'host': process.host,
        'layer': call.layer, 'op': call.name, 'class': call.kind, 'file': process.file(slot.file),
        'offset': event.offset if call.traits & HAS_OFFSET else None,
        'size': event.size if call.traits & HAS_SIZE else None,
        'result': result_of(event, call.traits), 'errno': event.error, 'tick': None if call.layer in LAYERS_BELOW else event.tick,
        'start': start / 1e9, 'duration': duration / 1e9,
        'collective': bool(call.traits & COLLECTIVE), 'line': process.call_site(slot.site),
        'object': process.object(slot.file), 'via': 'probe' if call.layer in LAYERS_BELOW else process.via, 'selection': None,
    }
    if process.via == 'import':
        row.update(pid=None, tid=None, tick=None, collective=None if call.layer == 'mpiio' else False)
    if event.error:
        row['errno'], row['error'] = error_of(event, process, call)
    if slot.handle:
        row['handle'] = slot.handle
    row.update((PRINTED_ATTRIBUTES[key], value) for key, value in attributes.items() if key in PRINTED_ATTRIBUTES)
    other = process.file(attributes.get(OTHER_FILE, 0))
    if other is not None:
        row['file2'] = other
    if call.layer == 'mpiio':
        describe_mpi(row, event, process)
    if call.layer in ('hdf5', 'pnetcdf', 'netcdf'):
        describe_objects(row, event, process)
    if call.traits & ASYNCHRONOUS:
        row['call_time'] = (process.length(attributes[CALL_TIME]) if CALL_TIME in attributes else duration) / 1e9
    return start, row


def decode(log, calls=None):
    """The events, what is wrong with the log, and the calls; those given are for rows that the log has lost."""
    problems = []
    blocks = find_blocks(log, problems)
    tables = Tables(blocks, problems)
    calls = {**(calls or {}), **tables.calls}
    events = []
    for block in (block for block in blocks if block.type == BLOCK_EVENTS):
        process = tables.process_of(block.stream)
        try:
            if process is None:
                raise Damage('its stream or process has no record')
            for event in Chunk(block).events():
                events.append(described(event, block, process, calls.get(event.slot.call, UNKNOWN_CALL)))
        except Damage as damage:
            problems.append(f'block at {block.at}: {damage}')
    events.sort(key=lambda event: (event[0], event[1]['id']))
    return [row for _, row in events], problems, calls


def ranks_of(fields):
    """Whose counters a record without a process has."""
    is_old = 8 not in fields.strings
    cursor = Cursor(fields.string(7 if is_old else 8))
    ranks = cursor.varint()
    if ranks == 1:
        return {'ranks': 1, 'rank': cursor.varint()}
    fastest, slowest = ([cursor.varint() for _ in range(3)] for _ in range(2))
    if not is_old:
        for which in (fastest, slowest):
            for place, counters in ((1, (14, 15)), (2, (58, 59, 60))):
                mean = sum(fields.number(FIRST_COUNTER + counter) for counter in counters) // ranks
                which[place] = mean + unfold(which[place])
    times, sizes = struct.unpack_from('<dd' if is_old else '>dd', cursor.data[cursor.at:].ljust(16, b'\0'))
    return {'ranks': ranks, 'rank': -1, 'fastest': fastest, 'slowest': slowest, 'variances': [times, sizes]}


def decode_counters(log):
    """Counters from after the end of traces, one row per process, layer and file; and what is wrong."""
    problems, rows = [], []
    tables = Tables(find_blocks(log, problems), problems)
    for (number, file, layer), fields in tables.of[COUNTERS].items():
        process = tables.processes.get(number)
        if process is None and number:
            problems.append(f'counters of process {number}, which has no record')
        else:
            values = {key - FIRST_COUNTER: value for key, value in fields.numbers.items() if key >= FIRST_COUNTER}
            for bit, (counter, same_as) in enumerate(SAME_COUNTERS):
                if fields.number(6) >> bit & 1 and same_as in values:
                    values[counter] = values[same_as]
            last = 0
            for counter in () if process else CHAINED:
                if counter in values:
                    last = values[counter] = last + unfold(values[counter])
            row = tables.of[FILE].get((file,))
            who = ({'pid': process.pid, 'rank': process.rank, 'file': process.file(file)} if process else
                   {**ranks_of(fields), 'file': row and row.text(2)})
            rows.append({**who, 'layer': LAYERS.get(layer), 'counters': values, 'sizes': fields.pairs(4),
                         'strides': fields.pairs(5)})
    return rows, problems


def varints_of(data):
    cursor, numbers = Cursor(data), []
    while cursor.at < len(data):
        numbers.append(cursor.folded())
    return numbers


def decode_imported(log):
    """What the log was made from (kind 34) and its records (kind 35), in the order of the log."""
    problems, origin, rows = [], None, []
    for block in find_blocks(log, problems):
        if block.type != BLOCK_RECORDS:
            continue
        for kind, fields in records(block.payload(), problems):
            if kind == IMPORT:
                origin = fields
            if kind == IMPORTED:
                reals = fields.string(8)
                rows.append({'module': fields.number(1), 'version': fields.number(2), 'rank': unfold(fields.number(3)),
                             'record': fields.number(4), 'file': fields.number(5), 'name': fields.string(6),
                             'numbers': varints_of(fields.string(7)), 'reals': struct.unpack(f'<{len(reals) // 8}d', reals),
                             'of_file': fields.number(9), 'more': varints_of(fields.string(10))})
    return origin, rows


def members_of(fields, key):
    """The members of a group as runs of (first or None, step, count)."""
    cursor, runs = Cursor(fields.string(key)), []
    while cursor.at < len(cursor.data):
        first, step, count = cursor.varint(), cursor.folded(), cursor.varint()
        runs.append((first - 1 if first else None, step, count))
    return runs


def printed_members(runs, cut):
    words = []
    for first, step, count in runs:
        last = None if first is None else first + step * (count - 1)
        words.append(f'?*{count}' if first is None else str(first) if count == 1 else f'{first}-{last}' if step == 1 else
                     f'{first},{last}' if count == 2 else f'{first}-{last}:{step}')
    return ','.join(words + ['...'] * (cut and bool(words)))


def printed_partner(process, comm, role, peer, calls):
    known = process.tables.of[COMMUNICATOR].get((process.number, comm)) if role != MORE else None
    has_peer = role not in (0, MORE)
    ranks = [first if first is None else first + step * i
             for first, step, count in (members_of(known, 10 if known.number(9) else 7) if known else ()) for i in range(count)]
    return {'comm': comm if role != MORE else None, 'role': PARTNER_ROLES[role], 'calls': calls,
            'origin': ORIGINS[known.number(3)] if known else None,
            'members': printed_members(members_of(known, 7), known.number(8)) if known else None,
            'peer': peer if has_peer else None,
            'peer_rank': ranks[peer] if has_peer and peer < len(ranks) else None}


def rows_of_communication(communication, before, who, partners=(), in_ns=False):
    """The first row has the partners."""
    rows = [{**who, 'before': before, 'kind': COMMUNICATION_KINDS[kind], 'count': count, 'bytes': size, 'partners': [],
             'time': (time if in_ns else who['process'].length(time)) / 1e9}
            for kind, (count, size, time) in sorted(communication.items()) if kind < len(COMMUNICATION_KINDS)]
    if rows and partners:
        rows[0]['partners'] = [printed_partner(who['process'], *partner, calls) for partner, calls in partners.items()]
    return rows


def decode_communication(log):
    """Communication between the events, stream by stream, then outside of them; and what is wrong."""
    problems, rows = [], []
    blocks = find_blocks(log, problems)
    tables = Tables(blocks, problems)
    streams = collections.defaultdict(list)
    for block in blocks:
        if block.type == BLOCK_EVENTS and tables.process_of(block.stream):
            streams[block.stream].append(block)
    for stream, parts in sorted(streams.items()):
        process = tables.process_of(stream)
        chunk = None
        for block in parts:
            behind, chunk = chunk, Chunk(block)
            if behind:
                chunk.communication, chunk.announced = behind.communication, behind.announced
                chunk.partners = behind.partners
            for event in chunk.events():
                before = id_of(event, stream, process) if event.announced is None else (stream << 32) + event.announced
                who = {'process': process, 'tid': event.tid, 'tick': event.tick}
                rows += rows_of_communication(event.communication, before, who, event.partners)
        before = None if chunk.announced is None else (stream << 32) + chunk.announced
        rows += rows_of_communication(chunk.communication, before,
                                      {'process': process, 'tid': chunk.tid, 'tick': chunk.tick}, chunk.partners)
    for process in tables.processes.values():
        rows += rows_of_communication(process.untraced, None, {'process': process, 'tid': None, 'tick': None},
                                      in_ns=True)
    for row in rows:
        process = row.pop('process')
        row.update(rank=process.rank, pid=process.pid or None)
    return rows, problems


def main():
    arguments = sys.argv[1:]
    counters, communication = '--counters' in arguments, '--comm' in arguments
    if len(arguments) != 1 + counters + communication:
        sys.exit(__doc__.strip())
    try:
        with open(arguments[-1], 'rb') as file:
            log = file.read()
        if communication:
            rows, problems = decode_communication(log)
        else:
            rows, problems = decode_counters(log) if counters else decode(log)[:2]
    except (OSError, NotALog, Damage) as problem:
        sys.exit(f'decode.py: {problem}')
    print('[', ',\n'.join('  ' + json.dumps(row) for row in rows), ']', sep='\n')
    for problem in problems:
        print('decode.py:', problem, file=sys.stderr)


if __name__ == '__main__':
    main()
