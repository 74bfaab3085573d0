"""Damaged logs. Each function makes some from a good one, the same ones every time."""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden'))
import decode  # noqa: E402

COPIES = 4
UNKNOWN = 77  # an unknown type of block, kind of record or codec


def good(whole):
    return [whole]


def truncated(whole):
    rng = random.Random(1)
    return [whole[:0], whole[:decode.HEADER_BYTES], whole[:-1]] + [whole[:rng.randrange(len(whole))] for _ in range(COPIES)]


def flipped(whole):
    return [spoil(whole, random.Random(seed), 1 + 20 * seed) for seed in range(COPIES)]


def spoil(data, rng, count):
    out = bytearray(data)
    for _ in range(count if out else 0):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
    return bytes(out)


def is_short(head):
    return bytes(head).startswith(decode.SHORT_MAGIC)


def sealed(head, payload):
    """A block with the fields of `head` and good checksums, not compressed."""
    head = bytearray(head)
    if is_short(head):
        head[5:8] = len(payload).to_bytes(3, 'little')
        struct.pack_into('<I', head, 8, decode.xxh64(payload) & decode.MASK32)
        struct.pack_into('<I', head, 12, decode.xxh64(bytes(head[:12])) & decode.MASK32)
    else:
        struct.pack_into('<II', head, 16, len(payload), len(payload))
        struct.pack_into('<Q', head, 80, decode.xxh64(payload))
        struct.pack_into('<Q', head, 88, decode.xxh64(bytes(head[:88])))
    return bytes(head) + payload


def with_type(head, number):
    return head[:4] + bytes([head[4] & 240 | number & 15]) + head[5:] if is_short(head) else head[:8] + bytes([number, 0]) + head[10:]


def with_codec(head, number):
    return head[:4] + bytes([head[4] & 15 | (number & 15) << 4]) + head[5:] if is_short(head) else head[:10] + bytes([number, 0]) + head[12:]


def blocks(whole):
    """(head, payload) of each; the head says that it is not compressed."""
    for block in decode.searched_blocks(whole, []):
        end = block.at + (decode.SHORT_HEADER_BYTES if block.is_short else decode.LONG_HEADER_BYTES)
        yield with_codec(whole[block.at:end], decode.CODEC_PLAIN), block.unpacked()


def spoiled_inside(whole):
    """Damage behind good checksums: wrong records, impossible numbers."""
    logs = []
    for seed in range(COPIES):
        rng = random.Random(seed)
        out = whole[:decode.HEADER_BYTES]
        for head, payload in blocks(whole):
            # Sometimes changes the head, except its mark, type, codec and lengths.
            if rng.random() < 0.3 and not is_short(head):
                head = head[:24] + spoil(head[24:80], rng, 3) + head[80:]
            out += sealed(head, spoil(payload, rng, rng.randrange(4)))
        logs.append(out)
    return logs


def with_block(whole, block):
    """The log with one more block, before its index."""
    index = decode.read_trailer(whole)[0]
    return whole[:index] + block + whole[index:]


def newer(whole):
    """What a later version may add: another type of block, codec or record; and a log for newer readers only."""
    logs = []
    for head in {is_short(head): head for head, _ in blocks(whole)}.values():
        logs.append(with_block(whole, sealed(head, bytes([UNKNOWN, 3, 1, 2, 3]))))
        for other in (with_type(head, UNKNOWN), with_codec(head, UNKNOWN)):
            logs.append(with_block(whole, sealed(other, b'something new')))
    logs += [log[:-1] for log in logs]  # without the trailer, readers search for the blocks
    header = bytearray(whole[:decode.HEADER_BYTES])
    struct.pack_into('<HH', header, 8, UNKNOWN, UNKNOWN)
    struct.pack_into('<Q', header, 56, decode.xxh64(bytes(header[:56])))
    return logs + [bytes(header) + whole[decode.HEADER_BYTES:]]


KINDS = (good, truncated, flipped, spoiled_inside, newer)
