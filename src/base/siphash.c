#include "base/siphash.h"

#include <string.h>

struct sip {
    uint64_t v[4];
};

static uint64_t turned(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }

static void half_round(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, unsigned first, unsigned second) {
    *a += *b;
    *b = turned(*b, first) ^ *a;
    *a = turned(*a, 32);
    *c += *d;
    *d = turned(*d, second) ^ *c;
}

static void rounds(struct sip *sip, unsigned count) {
    uint64_t *v = sip->v;
    while (count-- > 0) {
        half_round(&v[0], &v[1], &v[2], &v[3], 13, 16);
        half_round(&v[2], &v[1], &v[0], &v[3], 17, 21);
    }
}

static void add_word(struct sip *sip, uint64_t word) {
    sip->v[3] ^= word;
    rounds(sip, 2);
    sip->v[0] ^= word;
}

// Words are in the order of the machine, which is little-endian.
uint64_t siphash(const uint64_t key[2], const void *text, size_t len) {
    struct sip sip = {{key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                       key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)}};
    const uint8_t *data = text;
    uint64_t last = (uint64_t)len << 56, word;
    for (; len >= sizeof word; data += sizeof word, len -= sizeof word) {
        memcpy(&word, data, sizeof word);
        add_word(&sip, word);
    }
    for (size_t i = 0; i < len; i++) last |= (uint64_t)data[i] << 8 * i;
    add_word(&sip, last);
    sip.v[2] ^= 0xff;
    rounds(&sip, 4);
    return sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3];
}
