#include "fmt/record_id.h"

#include <string.h>

enum { WORDS = 3, BLOCK_BYTES = WORDS * sizeof(uint64_t) };

struct hashing {
    uint64_t state[WORDS];
    uint8_t block[BLOCK_BYTES];
    size_t used; // bytes of the block
    uint64_t len;
};

static void mix(uint64_t state[WORDS]) {
    // How far the next word is shifted into each: to the right, to the left, to the right.
    static const struct {
        uint8_t right, left, right_again;
    } turns[] = {{43, 9, 8}, {38, 23, 5}, {35, 49, 11}, {12, 18, 22}};
    uint64_t a = state[0], b = state[1], c = state[2];
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        a = (a - b - c) ^ c >> turns[i].right;
        b = (b - c - a) ^ a << turns[i].left;
        c = (c - a - b) ^ b >> turns[i].right_again;
    }
    state[0] = a;
    state[1] = b;
    state[2] = c;
}

// Words are in the order of the machine, which is little-endian.
static void add_block(struct hashing *hashing) {
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, hashing->block + i * sizeof word, sizeof word);
        hashing->state[i] += word;
    }
    mix(hashing->state);
}

static void add(struct hashing *hashing, const char *text, size_t len) {
    hashing->len += len;
    for (size_t i = 0; i < len; i++) {
        hashing->block[hashing->used++] = (uint8_t)text[i];
        if (hashing->used < BLOCK_BYTES) continue;
        add_block(hashing);
        hashing->used = 0;
    }
}

// The last block has the length in front of its last seven bytes.
static uint64_t finish(struct hashing *hashing) {
    enum { LENGTH_AT = 2 * sizeof(uint64_t) };
    memset(hashing->block + hashing->used, 0, BLOCK_BYTES - hashing->used);
    memmove(hashing->block + LENGTH_AT + 1, hashing->block + LENGTH_AT, BLOCK_BYTES - LENGTH_AT - 1);
    hashing->block[LENGTH_AT] = 0;
    hashing->state[WORDS - 1] += hashing->len;
    add_block(hashing);
    return hashing->state[WORDS - 1];
}

uint64_t record_id(const char *name, size_t name_len, const char *object, size_t object_len) {
    struct hashing hashing = {.state = {0, 0, UINT64_C(0x9e3779b97f4a7c13)}};
    add(&hashing, name, name_len);
    if (object) add(&hashing, ":", 1);
    if (object) add(&hashing, object, object_len);
    return finish(&hashing);
}
