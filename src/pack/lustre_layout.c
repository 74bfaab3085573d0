#include "pack/lustre_layout.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"

enum {
    MAGIC_PLAIN = 0x0BD10BD0,
    MAGIC_POOL = 0x0BD30BD0,
    MAGIC_SERVERS = 0x0BD50BD0, // a pool, and a list of servers
    MAGIC_COMPOSITE = 0x0BD60BD0,
    PLAIN_BYTES = 32,
    POOL_BYTES = 16,
    OBJECT_BYTES = 24,
    COMPOSITE_BYTES = 32,
    ENTRY_BYTES = 48,
    ANY_SERVER = 0xffff,
    ALL_SERVERS = 0xffff,
};

static uint16_t get16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static uint32_t get32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t get64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

// The generation is where a file without objects has its wanted first server.
static int decode_part(struct stripe *stripe, const uint8_t *data, size_t len) {
    RETURN_IF(len < PLAIN_BYTES, ERR_FORMAT);
    uint32_t magic = get32(data);
    bool has_pool = magic == MAGIC_POOL || magic == MAGIC_SERVERS;
    size_t objects = PLAIN_BYTES + (has_pool ? POOL_BYTES : 0);
    RETURN_IF((!has_pool && magic != MAGIC_PLAIN) || len < objects, ERR_FORMAT);
    unsigned count = get16(data + 28), wanted = get16(data + 30);
    stripe->pattern = get32(data + 4);
    stripe->size = get32(data + 24);
    stripe->count = count == ALL_SERVERS ? 0 : count;
    if (len >= objects + OBJECT_BYTES) {
        stripe->first = (uint64_t)get32(data + objects + OBJECT_BYTES - 4) + 1;
    } else if (wanted != ANY_SERVER) {
        stripe->first = (uint64_t)wanted + 1;
    }
    if (has_pool) memcpy(stripe->pool, data + PLAIN_BYTES, strnlen((const char *)data + PLAIN_BYTES, POOL_BYTES - 1));
    return 0;
}

static int decode_composite(struct stripe *stripes, const uint8_t *data, size_t len) {
    size_t count = get16(data + 14);
    RETURN_IF(!count || count > (len - COMPOSITE_BYTES) / ENTRY_BYTES, ERR_FORMAT);
    if (count > LUSTRE_LAYOUT_MOST) count = LUSTRE_LAYOUT_MOST;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *entry = data + COMPOSITE_BYTES + i * ENTRY_BYTES;
        uint64_t end = get64(entry + 16);
        size_t offset = get32(entry + 24), size = get32(entry + 28);
        stripes[i] = (struct stripe){.start = get64(entry + 8), .end = end == UINT64_MAX ? 0 : end};
        RETURN_IF(offset > len || size > len - offset, ERR_FORMAT);
        FORWARD(decode_part(&stripes[i], data + offset, size));
    }
    return (int)count;
}

int lustre_layout_decode(struct stripe stripes[LUSTRE_LAYOUT_MOST], const uint8_t *data, size_t len) {
    RETURN_IF(len < COMPOSITE_BYTES, ERR_FORMAT);
    if (get32(data) == MAGIC_COMPOSITE) return decode_composite(stripes, data, len);
    stripes[0] = (struct stripe){0};
    FORWARD(decode_part(&stripes[0], data, len));
    return 1;
}
