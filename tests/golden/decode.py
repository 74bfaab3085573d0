#!/usr/bin/env python3
"""decode.py LOG: prints the events of a log as `ioseer dump --json` does, following doc/format.md.

Simple and slow, and shares no code with ioseer: it is there to find where the two disagree. It needs the `zstd` command.
"""
import json
import struct
import subprocess
import sys

MASK = (1 << 64) - 1
LAYERS = [None, 'posix', 'stdio', 'mpiio', 'hdf5', 'pnetcdf', 'client', 'net', 'server', 'disk']
CLASSES = [None, 'read', 'write', 'open', 'close', 'sync', 'seek', 'meta']

HEADER_MAGIC = b'\x89IOSEER\n'
BLOCK_MAGIC = b'\xf1IOBLOCK'
TRAILER_MAGIC = b'\x89IOSEND\n'
HEADER_BYTES, BLOCK_BYTES, TRAILER_BYTES = 64, 96, 32
MAX_RAW = 16777216
VERSION, KNOWN_FEATURES = 1, 0
BLOCK_RECORDS, BLOCK_EVENTS, BLOCK_INDEX = 1, 2, 3
JOB, PROCESS, FILE, CALL, PROCESS_FILE, CALLSITE, STREAM = 1, 2, 3, 4, 5, 7, 12
HAS_OFFSET, HAS_SIZE, TRANSFERS, RESULT_IS_OFFSET, ASYNC, COLLECTIVE = 1, 2, 4, 8, 16, 32


class Damage(Exception):
    """The bytes are not what the format says."""


# --- XXH64, seed 0

P1, P2, P3 = 11400714785074694791, 14029467366897019727, 1609587929392839161
P4, P5 = 9650029242287828579, 2870177450012600261


def rotl(x, r):
    return (x << r | x >> (64 - r)) & MASK


def xxh_round(accumulator, lane):
    return rotl((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    at, length = 0, len(data)
    if length >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= length:
            lanes = [xxh_round(lane, word) for lane, word in zip(lanes, struct.unpack_from('<4Q', data, at))]
            at += 32
        hash_ = sum(rotl(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            hash_ = ((hash_ ^ xxh_round(0, lane)) * P1 + P4) & MASK
    else:
        hash_ = P5
    hash_ = (hash_ + length) & MASK
    while at + 8 <= length:
        hash_ = (rotl(hash_ ^ xxh_round(0, struct.unpack_from('<Q', data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= length:
        hash_ = (rotl(hash_ ^ struct.unpack_from('<I', data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        hash_ = rotl(hash_ ^ byte * P5 & MASK, 11) * P1 & MASK
    hash_ = (hash_ ^ hash_ >> 33) * P2 & MASK
    hash_ = (hash_ ^ hash_ >> 29) * P3 & MASK
    return hash_ ^ hash_ >> 32


# --- numbers


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        if not self.more():
            raise Damage('cut off')
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            if shift == 63 and byte > 1:
                break
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value
        raise Damage('a number over 64 bits')

    def folded(self):
        return unfold(self.varint())

    def bytes(self, length):
        if length > len(self.data) - self.at:
            raise Damage('cut off')
        self.at += length
        return self.data[self.at - length:self.at]


def unfold(value):
    return -(value >> 1) - 1 if value & 1 else value >> 1


def signed64(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


# --- the file


class Block:
    def __init__(self, data, at):
        self.offset = at
        head = data[at:at + BLOCK_BYTES]
        if len(head) < BLOCK_BYTES or head[:8] != BLOCK_MAGIC:
            raise Damage('no block')
        (self.type, self.codec, self.flags, self.stored_len, self.raw_len, self.stream, self.tid, self.events, _,
         self.first_number, self.base, self.tick, self.start_ns, self.end_ns, self.payload_hash,
         head_hash) = struct.unpack_from('<HHIIIIIIIQQQQQQQ', head, 8)
        if head_hash != xxh64(head[:88]):
            raise Damage('the checksum of a block header is wrong')
        if self.raw_len > MAX_RAW or self.stored_len > self.raw_len:
            raise Damage('impossible length')
        self.stored = data[at + BLOCK_BYTES:at + BLOCK_BYTES + self.stored_len]
        self.end = at + BLOCK_BYTES + self.stored_len
        self.whole = len(self.stored) == self.stored_len

    def payload(self):
        if not self.whole:
            raise Damage('cut off')
        if xxh64(self.stored) != self.payload_hash:
            raise Damage('the checksum of a payload is wrong')
        if self.codec == 0:
            raw = self.stored
        elif self.codec == 1:
            raw = subprocess.run(['zstd', '-q', '-d', '-c'], input=self.stored, stdout=subprocess.PIPE,
                                 check=True).stdout
        else:
            raise Damage('unknown codec')
        if len(raw) != self.raw_len:
            raise Damage('a payload has the wrong length')
        return raw


def check_header(data):
    header = data[:HEADER_BYTES]
    if header[:8] != HEADER_MAGIC or len(header) < HEADER_BYTES:
        raise Damage('not a log')
    if struct.unpack_from('<Q', header, 56)[0] != xxh64(header[:56]):
        raise Damage('the checksum of the header is wrong')
    min_reader, _, features = struct.unpack_from('<HIQ', header, 10)
    if min_reader > VERSION or features & ~KNOWN_FEATURES:
        sys.exit('decode.py: the log is of a newer version')


def has_trailer(data):
    trailer = data[-TRAILER_BYTES:]
    return (len(data) >= HEADER_BYTES + TRAILER_BYTES and trailer[24:] == TRAILER_MAGIC and
            struct.unpack_from('<Q', trailer, 16)[0] == xxh64(trailer[:16]))


def find_blocks(data, problems):
    """All good block headers of the file, without help of the index."""
    if has_trailer(data):
        data = data[:-TRAILER_BYTES]
    else:
        problems.append('the log has no end')
    at = HEADER_BYTES
    while at < len(data):
        try:
            block = Block(data, at)
            if not block.whole:
                raise Damage('a block that is cut off')
        except Damage as problem:
            problems.append(str(problem))
            at = data.find(BLOCK_MAGIC, at + 1)
            if at < 0:
                return
            continue
        yield block
        at = block.end


# --- tagged records


def records(payload):
    """(kind, {key: [values]}) of each record."""
    reader = Reader(payload)
    while reader.more():
        kind = reader.varint()
        body = Reader(reader.bytes(reader.varint()))
        try:
            yield kind, fields_of(body)
        except Damage:
            continue


def fields_of(body):
    fields = {}
    while body.more():
        tag = body.varint()
        value = body.bytes(body.varint()) if tag & 1 else body.varint()
        fields.setdefault(tag >> 1, []).append(value)
    return fields


class Tables:
    def __init__(self):
        self.processes, self.files, self.calls, self.streams = {}, {}, {}, {}
        self.process_files, self.callsites, self.local_streams = {}, {}, {}

    def add(self, kind, fields):
        def first(key, default=0):
            return fields.get(key, [default])[0]

        if kind == PROCESS:
            self.processes[first(1)] = {
                'pid': first(2), 'host': text(first(4, b'')), 'rank': first(12) - 1 if 12 in fields else None,
                'origin_units': first(14), 'origin_ns': unfold(first(15)),
                'span_units': first(29), 'span_ns': first(30)}
        elif kind == FILE:
            self.files[first(1)] = text(first(2, b''))
        elif kind == CALL:
            self.calls[first(1)] = {'name': text(first(2, b'')), 'layer': first(3), 'class': first(4),
                                    'traits': first(5)}
        elif kind == PROCESS_FILE:
            self.process_files[first(1), first(2)] = first(3)
        elif kind == CALLSITE:
            self.callsites[first(5), first(1)] = text(first(4, b''))
        elif kind == STREAM:
            self.streams[first(1)] = first(2)
            self.local_streams[first(2), first(3)] = first(1)

    def file(self, process, local):
        return self.files.get(self.process_files.get((process, local))) if local else None


def text(raw):
    return raw.decode('utf-8', 'surrogateescape')


# --- event streams


class Slot:
    def __init__(self, call, file, handle, callsite):
        self.call, self.file, self.handle, self.callsite = call, file, handle, callsite
        self.last = self.displacement = self.size = 0


class Chunk:
    """Decodes the events of one block; `calls` gives the traits."""

    def __init__(self, block, payload, calls):
        self.reader = Reader(payload)
        self.calls = calls
        self.stream, self.tick = block.stream, block.tick
        self.number, self.clock, self.tid = block.first_number, block.base, block.tid
        self.open, self.slots = [], {}

    def events(self):
        while self.reader.more():
            head = self.reader.byte()
            slot_number, form = head >> 2, head & 3
            if form == 3:
                event = self.extended(slot_number)
                if event:
                    yield event
            else:
                yield self.plain(self.slot(slot_number), form)

    def slot(self, number):
        if number not in self.slots:
            raise Damage('a slot that was not defined')
        return self.slots[number]

    def traits(self, slot):
        call = self.calls.get(slot.call)
        return call['traits'] if call else 0

    def plain(self, slot, form):
        if form == 0:
            offset = slot.last + slot.displacement
        else:
            moved = self.reader.folded()
            offset = slot.last + moved
            slot.displacement = moved
        if form == 2:
            slot.size = slot.displacement = self.reader.varint()
        slot.last = offset = offset & MASK
        return self.finish(slot, offset=offset, flags=0, given_result=None, error=0, attributes={})

    def extended(self, slot_number):
        reader = self.reader
        kind = reader.byte()
        if kind == 0:
            return self.event(self.slot(slot_number))
        if kind == 1:
            call, file, handle, flags = (reader.varint() for _ in range(4))
            callsite = reader.varint() if flags & 2 else 0
            if flags >> 2 or max(call, file, handle, callsite) >> 32:
                raise Damage('an impossible slot')
            self.slots[slot_number] = Slot(call, file, handle, callsite)
        elif kind == 2:
            self.tid = reader.varint()
            if self.tid >> 32:
                raise Damage('an impossible thread id')
        elif kind == 3:
            self.push(self.number)
            self.number += 1
        elif kind == 4:
            self.push(reader.varint())
        elif kind == 5:
            reader.varint(), reader.varint()
        else:
            raise Damage('unknown kind')
        return None

    def push(self, number):
        if len(self.open) == 32:
            raise Damage('too deep')
        self.open.append(number)

    def event(self, slot):
        reader = self.reader
        flags = reader.varint()
        if flags >> 9:
            raise Damage('unknown flags')
        moved = reader.folded() if flags & 1 else None
        size = reader.varint() if flags & 2 else None
        result = reader.folded() if flags & 4 else None
        error = reader.varint() if flags & 8 else 0
        attributes = {}
        if flags & 64:
            count = reader.varint()
            if count > 32:
                raise Damage('too many attributes')
            for _ in range(count):
                attribute, value = reader.varint(), reader.varint()
                if attribute >= 32:
                    raise Damage('unknown attribute')
                attributes[attribute] = value
        offset = (slot.last + (slot.displacement if moved is None else moved)) & MASK
        if not flags & 128:
            slot.last = offset
            if moved is not None:
                slot.displacement = moved
            if size is not None:
                slot.displacement = size
        if size is not None:
            slot.size = size
        return self.finish(slot, offset, flags, result, error, attributes)

    def finish(self, slot, offset, flags, given_result, error, attributes):
        gap, duration = self.reader.varint(), self.reader.varint()
        start = (self.clock - gap if flags & 16 else self.clock + gap) & MASK
        self.clock = (start + duration) & MASK
        if flags & 32:
            if not self.open:
                raise Damage('no announced call')
            number = self.open.pop()
        else:
            number = self.number
            self.number += 1
        parent = (self.stream, self.open[-1]) if self.open else None
        if 7 in attributes:
            parent = (None, attributes[7])
        traits = self.traits(slot)
        result = given_result
        if result is None:
            result = -1 if error else self.expected_result(slot, traits, 0 if flags & 128 else offset)
        return {'stream': self.stream, 'number': number, 'parent': parent, 'tid': self.tid, 'slot': slot,
                'call': slot.call, 'offset': None if flags & 128 or not traits & HAS_OFFSET else offset,
                'size': slot.size if traits & HAS_SIZE else None, 'result': None if flags & 256 else result,
                'errno': error, 'start': start, 'duration': duration, 'tick': self.tick, 'attributes': attributes}

    @staticmethod
    def expected_result(slot, traits, offset):
        if traits & TRANSFERS:
            return signed64(slot.size)
        return signed64(offset) if traits & RESULT_IS_OFFSET else 0


# --- what dump prints

ATTRIBUTE_KEYS = {0: 'flags', 1: 'mode', 2: 'fd', 3: 'file_size', 8: 'whence', 9: 'pieces', 10: 'view_offset'}


def to_ns(process, units):
    return int(float(units) * (process['span_ns'] / process['span_units'])) if process['span_units'] else units


def moment(process, units):
    """Nanoseconds since the job's start."""
    return process['origin_ns'] + to_ns(process, signed64(units - process['origin_units']))


def event_id(stream, number):
    return stream << 32 | number & 0xffffffff


def as_json(event, process_number, process, call, tables):
    slot, parent = event['slot'], event['parent']
    if parent and parent[0] is None:
        own = event['attributes'].get(6)
        stream = event['stream'] if own is None else tables.local_streams.get((process_number, own))
        parent = (stream, parent[1]) if stream is not None else None
    start, end = moment(process, event['start']), moment(process, event['start'] + event['duration'])
    shown = {
        'id': event_id(event['stream'], event['number']),
        'parent': event_id(*parent) if parent else None,
        'rank': process['rank'], 'pid': process['pid'], 'tid': event['tid'], 'host': process['host'],
        'layer': LAYERS[call['layer']], 'op': call['name'], 'class': CLASSES[call['class']],
        'file': tables.file(process_number, slot.file),
        'offset': event['offset'], 'size': event['size'], 'result': event['result'], 'errno': event['errno'],
        'tick': event['tick'],
        'start': start / 1e9, 'duration': (end - start) / 1e9,
        'collective': bool(call['traits'] & COLLECTIVE),
        'line': tables.callsites.get((process_number, slot.callsite)),
    }
    if slot.handle:
        shown['handle'] = slot.handle
    attributes = event['attributes']
    for attribute, key in ATTRIBUTE_KEYS.items():
        if attribute in attributes:
            shown[key] = attributes[attribute]
    if tables.file(process_number, attributes.get(4, 0)) is not None:
        shown['file2'] = tables.file(process_number, attributes[4])
    if call['traits'] & ASYNC:
        shown['call_time'] = (to_ns(process, attributes[5]) if 5 in attributes else end - start) / 1e9
    return shown


def decode(data, known_calls=None):
    """The events in the order of their starts, what is wrong with the log, and its calls.

    `known_calls` is for logs that lost these: a reader may have a table of its own, because call numbers never move.
    """
    problems, tables, event_blocks, events = [], Tables(), [], []
    tables.calls.update(known_calls or {})
    try:
        check_header(data)
    except Damage as problem:
        if not data.startswith(HEADER_MAGIC) or len(data) < HEADER_BYTES:
            sys.exit(f'decode.py: {problem}')
        problems.append(str(problem))
    for block in find_blocks(data, problems):
        if block.type == BLOCK_EVENTS:
            event_blocks.append(block)
        elif block.type == BLOCK_RECORDS:
            try:
                for kind, fields in records(block.payload()):
                    tables.add(kind, fields)
            except Damage as problem:
                problems.append(str(problem))
    for block in event_blocks:
        number = tables.streams.get(block.stream)
        process = tables.processes.get(number)
        if process is None:
            problems.append('a stream without a process')
            continue
        try:
            for event in Chunk(block, block.payload(), tables.calls).events():
                call = tables.calls.get(event['call'])
                if call is None:
                    raise Damage('a call without a name')
                events.append(as_json(event, number, process, call, tables))
        except Damage as problem:
            problems.append(str(problem))
    events.sort(key=lambda event: (event['start'], event['id']))
    return events, problems, tables.calls


def main():
    with open(sys.argv[1], 'rb') as log:
        events, problems, _ = decode(log.read())
    print('[' + ',\n '.join(json.dumps(event) for event in events) + ']')
    for problem in problems:
        print('decode.py:', problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
