"""XXH64 with seed 0, for decode.py."""
import struct

MASK64 = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK64


def xxh_round(lane, word):
    return rotate(lane + word * P2 & MASK64, 31) * P1 & MASK64


def xxh64(data):
    whole = len(data) // 32 * 32
    value = P5
    if whole:
        a, b, c, d = P1 + P2 & MASK64, P2, 0, -P1 & MASK64
        for w, x, y, z in struct.iter_unpack('<4Q', data[:whole]):
            a, b, c, d = xxh_round(a, w), xxh_round(b, x), xxh_round(c, y), xxh_round(d, z)
        value = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18) & MASK64
        for lane in (a, b, c, d):
            value = ((value ^ xxh_round(0, lane)) * P1 + P4) & MASK64
    value = value + len(data) & MASK64
    rest = data[whole:]
    while len(rest) >= 8:
        value = (rotate(value ^ xxh_round(0, int.from_bytes(rest[:8], 'little')), 27) * P1 + P4) & MASK64
        rest = rest[8:]
    if len(rest) >= 4:
        value = (rotate(value ^ int.from_bytes(rest[:4], 'little') * P1 & MASK64, 23) * P2 + P3) & MASK64
        rest = rest[4:]
    for byte in rest:
        value = rotate(value ^ byte * P5 & MASK64, 11) * P1 & MASK64
    value = (value ^ value >> 33) * P2 & MASK64
    value = (value ^ value >> 29) * P3 & MASK64
    return value ^ value >> 32
