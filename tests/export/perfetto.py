"""An independent reader of Perfetto's traces: Protocol Buffers by hand, with the numbers of Perfetto's definitions. It holds
a trace to what Perfetto's trace processor demands. That program itself is in neither Debian nor npm, only on Google's
servers, from which a test cannot get it."""
import collections
import struct

BEGIN, END, COUNTER = 1, 2, 4


def fields(data):
    """Field numbers with their values: integers, or bytes."""
    at, found = 0, collections.defaultdict(list)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found[tag >> 3].append(varint())
        elif tag & 7 == 1:
            found[tag >> 3].append(data[at:at + 8])
            at += 8
        elif tag & 7 == 2:
            size = varint()
            assert at + size <= len(data)
            found[tag >> 3].append(data[at:at + size])
            at += size
        else:
            raise AssertionError(f'wire type {tag & 7}')
    return found


def one(message, field, default=None):
    assert len(message.get(field, ())) < 2, (message, field)
    return message[field][0] if field in message else default


class Slice:
    def __init__(self, track, start, about):
        self.track, self.start, self.end, self.outer, self.flows = track, start, None, None, []
        self.__dict__.update(about)


class Trace:
    def __init__(self, path):
        self.interned = collections.defaultdict(dict)  # by field
        self.tracks = {}                               # by uuid: fields of the descriptor
        self.slices, self.counters = [], collections.defaultdict(list)
        self.open, self.last = collections.defaultdict(list), {}
        with open(path, 'rb') as file:
            packets = fields(file.read())
        assert set(packets) == {1}
        for number, packet in enumerate(packets[1]):
            self.add(fields(packet), number)
        assert not any(self.open.values())

    def add(self, packet, number):
        assert one(packet, 10) == 1 and one(packet, 13) == (1 if number == 0 else 2)
        for field, entries in fields(one(packet, 12, b'')).items():
            for entry in map(fields, entries):
                assert one(entry, 1) not in self.interned[field] and one(entry, 1) > 0
                self.interned[field][one(entry, 1)] = one(entry, 2).decode('utf-8')
        if 60 in packet:
            track = fields(one(packet, 60))
            assert one(track, 1) not in self.tracks
            assert one(track, 5) is None or one(track, 5) in self.tracks
            self.tracks[one(track, 1)] = track
        if 11 in packet:
            self.event(one(packet, 8), fields(one(packet, 11)))

    def event(self, time, event):
        track, kind = one(event, 11), one(event, 9)
        assert time >= self.last.get(track, 0), 'the times of a track go back'
        self.last[track] = time
        assert (8 in self.tracks[track]) == (kind == COUNTER)
        if kind == COUNTER:
            self.counters[one(self.tracks[track], 2).decode()].append((time, *struct.unpack('<d', one(event, 44))))
        elif kind == BEGIN:
            about = {'op': self.interned[2][one(event, 10)], 'layer': self.interned[1][one(event, 3)]}
            begun = Slice(track, time, dict(about, **dict(map(self.annotation, event[4]))))
            begun.flows = [struct.unpack('<Q', flow)[0] for flow in event.get(47, ())]
            begun.outer = self.open[track][-1] if self.open[track] else None
            self.open[track].append(begun)
            self.slices.append(begun)
        else:
            assert kind == END
            self.open[track].pop().end = time

    def annotation(self, data):
        message = fields(data)
        name = self.interned[3][one(message, 1)]
        if 17 in message:
            return name, self.interned[29][one(message, 17)]
        if 6 in message:
            return name, one(message, 6).decode('utf-8')
        value = one(message, 4)
        return name, value - (1 << 64) if value >> 63 else value
