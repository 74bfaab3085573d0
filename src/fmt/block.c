#include "fmt/block.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"

// The byte over 127 and the newline reveal a file that was converted as text.
static const uint8_t header_magic[8] = {0x89, 'I', 'O', 'S', 'E', 'E', 'R', '\n'};
static const uint8_t block_magic[8] = {0xf1, 'I', 'O', 'B', 'L', 'O', 'C', 'K'};
static const uint8_t trailer_magic[8] = {0x89, 'I', 'O', 'S', 'E', 'N', 'D', '\n'};

enum {
    FAST_LEVEL = 3,
    THOROUGH_LEVEL = 19, // for blocks that are few and small, which is nearly all that the logs of small jobs have
    THOROUGH_BYTES = 64 << 10,
    RECORDS_LEVEL = 9, // for others that are not events
};

enum {
    CODEC_NONE = 0,
    CODEC_ZSTD = 1,
    KNOWN_FEATURES = FEATURE_MPI | FEATURE_PARTNERS | FEATURE_BELOW | FEATURE_CHOSEN | FEATURE_REDUCED
};

static void put_uint(uint8_t *out, uint64_t value, unsigned len) {
    for (unsigned i = 0; i < len; i++) out[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_uint(const uint8_t *in, unsigned len) {
    uint64_t value = 0;
    for (unsigned i = 0; i < len; i++) value |= (uint64_t)in[i] << 8 * i;
    return value;
}

static void put_hash(uint8_t *out, const uint8_t *data, size_t len) { put_uint(out, XXH64(data, len, 0), 8); }

static bool hash_matches(const uint8_t *in, const uint8_t *data, size_t len) {
    return get_uint(in, 8) == XXH64(data, len, 0);
}

void log_header_put(uint8_t out[LOG_HEADER_BYTES], const struct log_header *header) {
    memset(out, 0, LOG_HEADER_BYTES);
    memcpy(out, header_magic, 8);
    put_uint(out + 8, header->version, 2);
    put_uint(out + 10, header->min_reader, 2);
    put_uint(out + 12, LOG_HEADER_BYTES, 4);
    put_uint(out + 16, header->features, 8);
    memcpy(out + 24, header->job_id, 16);
    put_uint(out + 40, header->created_ns, 8);
    put_hash(out + 56, out, 56);
}

int log_header_get(const uint8_t in[LOG_HEADER_BYTES], struct log_header *header) {
    RETURN_IF(memcmp(in, header_magic, 8) != 0, ERR_FORMAT);
    RETURN_IF(!hash_matches(in + 56, in, 56), ERR_CHECKSUM);
    header->version = (uint16_t)get_uint(in + 8, 2);
    header->min_reader = (uint16_t)get_uint(in + 10, 2);
    header->features = get_uint(in + 16, 8);
    memcpy(header->job_id, in + 24, 16);
    header->created_ns = get_uint(in + 40, 8);
    RETURN_IF(header->min_reader > LOG_VERSION, ERR_VERSION);
    RETURN_IF(header->features & ~(uint64_t)KNOWN_FEATURES, ERR_VERSION);
    RETURN_IF(get_uint(in + 12, 4) != LOG_HEADER_BYTES, ERR_FORMAT);
    return 0;
}

void log_block_put(uint8_t out[LOG_BLOCK_HEADER_BYTES], const struct log_block *block) {
    memset(out, 0, LOG_BLOCK_HEADER_BYTES);
    memcpy(out, block_magic, 8);
    put_uint(out + 8, block->type, 2);
    put_uint(out + 10, block->codec, 2);
    put_uint(out + 12, block->flags, 4);
    put_uint(out + 16, block->stored_len, 4);
    put_uint(out + 20, block->raw_len, 4);
    put_uint(out + 24, block->stream, 4);
    put_uint(out + 28, block->tid, 4);
    put_uint(out + 32, block->events, 4);
    put_uint(out + 40, block->first_number, 8);
    put_uint(out + 48, block->base, 8);
    put_uint(out + 56, block->tick, 8);
    put_uint(out + 64, block->start_ns, 8);
    put_uint(out + 72, block->end_ns, 8);
    put_uint(out + 80, block->payload_hash, 8);
    put_hash(out + 88, out, 88);
}

int log_block_get(const uint8_t in[LOG_BLOCK_HEADER_BYTES], struct log_block *block) {
    RETURN_IF(memcmp(in, block_magic, 8) != 0, ERR_FORMAT);
    RETURN_IF(!hash_matches(in + 88, in, 88), ERR_CHECKSUM);
    block->type = (uint16_t)get_uint(in + 8, 2);
    block->codec = (uint16_t)get_uint(in + 10, 2);
    block->flags = (uint32_t)get_uint(in + 12, 4);
    block->stored_len = (uint32_t)get_uint(in + 16, 4);
    block->raw_len = (uint32_t)get_uint(in + 20, 4);
    block->stream = (uint32_t)get_uint(in + 24, 4);
    block->tid = (uint32_t)get_uint(in + 28, 4);
    block->events = (uint32_t)get_uint(in + 32, 4);
    block->first_number = get_uint(in + 40, 8);
    block->base = get_uint(in + 48, 8);
    block->tick = get_uint(in + 56, 8);
    block->start_ns = get_uint(in + 64, 8);
    block->end_ns = get_uint(in + 72, 8);
    block->payload_hash = get_uint(in + 80, 8);
    RETURN_IF(block->raw_len > LOG_BLOCK_MAX_RAW || block->stored_len > block->raw_len, ERR_FORMAT);
    return 0;
}

void log_trailer_put(uint8_t out[LOG_TRAILER_BYTES], uint64_t index_offset) {
    memset(out, 0, LOG_TRAILER_BYTES);
    put_uint(out, index_offset, 8);
    put_hash(out + 16, out, 16);
    memcpy(out + 24, trailer_magic, 8);
}

int log_trailer_get(const uint8_t in[LOG_TRAILER_BYTES], uint64_t *index_offset) {
    RETURN_IF(memcmp(in + 24, trailer_magic, 8) != 0, ERR_FORMAT);
    RETURN_IF(!hash_matches(in + 16, in, 16), ERR_CHECKSUM);
    *index_offset = get_uint(in, 8);
    return 0;
}

// Data that does not shrink is stored as it is, so that stored_len never exceeds raw_len.
int log_block_store(struct log_block *block, const uint8_t *raw, size_t len, struct bytes *out) {
    RETURN_IF(len > LOG_BLOCK_MAX_RAW, ERR_LIMIT);
    size_t room = ZSTD_compressBound(len);
    uint8_t *stored = bytes_reserve(out, room);
    RETURN_IF(!stored, -ENOMEM);
    int level = block->type == BLOCK_EVENTS ? FAST_LEVEL : len <= THOROUGH_BYTES ? THOROUGH_LEVEL : RECORDS_LEVEL;
    size_t stored_len = ZSTD_compress(stored, room, raw, len, level);
    block->codec = CODEC_ZSTD;
    if (ZSTD_isError(stored_len) || stored_len >= len) {
        if (len) memcpy(stored, raw, len);
        stored_len = len;
        block->codec = CODEC_NONE;
    }
    out->len += stored_len;
    block->stored_len = (uint32_t)stored_len;
    block->raw_len = (uint32_t)len;
    block->payload_hash = XXH64(stored, stored_len, 0);
    return 0;
}

int log_block_load(const struct log_block *block, const uint8_t *stored, struct bytes *raw) {
    raw->len = 0;
    RETURN_IF(block->raw_len > LOG_BLOCK_MAX_RAW || block->stored_len > block->raw_len, ERR_FORMAT);
    RETURN_IF(XXH64(stored, block->stored_len, 0) != block->payload_hash, ERR_CHECKSUM);
    if (block->codec == CODEC_NONE) {
        RETURN_IF(block->stored_len != block->raw_len, ERR_FORMAT);
        return bytes_append(raw, stored, block->raw_len);
    }
    RETURN_IF(block->codec != CODEC_ZSTD, ERR_FORMAT);
    RETURN_IF(ZSTD_getFrameContentSize(stored, block->stored_len) != block->raw_len, ERR_FORMAT);
    uint8_t *out = bytes_reserve(raw, block->raw_len);
    RETURN_IF(!out, -ENOMEM);
    RETURN_IF(ZSTD_decompress(out, block->raw_len, stored, block->stored_len) != block->raw_len, ERR_FORMAT);
    raw->len = block->raw_len;
    return 0;
}
