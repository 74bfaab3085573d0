#include "fmt/block.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"
#include "fmt/columns.h"
#include "fmt/dictionary.h"

// The byte over 127 and the newline reveal a file that was converted as text.
static const uint8_t header_magic[8] = {0x89, 'I', 'O', 'S', 'E', 'E', 'R', '\n'};
static const uint8_t block_magic[8] = {0xf1, 'I', 'O', 'B', 'L', 'O', 'C', 'K'};
static const uint8_t short_magic[4] = {0xf1, 'I', 'O', 'R'};
static const uint8_t trailer_magic[4] = {0x89, 'I', 'O', 'E'};
static const uint8_t old_trailer_magic[8] = {0x89, 'I', 'O', 'S', 'E', 'N', 'D', '\n'};
static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

enum {
    FAST_LEVEL = 3,
    THOROUGH_LEVEL = 19, // for blocks that are few and small, which is nearly all that the logs of small jobs have
    THOROUGH_BYTES = 64 << 10,
    RECORDS_LEVEL = 9,       // for others that are not events
    SHARED_BYTES = 16 << 10, // larger blocks gain nothing by the dictionary
};

enum {
    KNOWN_FEATURES = FEATURE_MPI | FEATURE_PARTNERS | FEATURE_BELOW | FEATURE_CHOSEN | FEATURE_REDUCED | FEATURE_SHORT |
                     FEATURE_IMPORTED | FEATURE_STEPS | FEATURE_GROUPS,
    SHORT_MAX_STORED = (1 << 24) - 1,
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

// Half of a hash is enough for what is small.
static void put_half_hash(uint8_t *out, const uint8_t *data, size_t len) {
    put_uint(out, (uint32_t)XXH64(data, len, 0), 4);
}

static bool half_hash_matches(const uint8_t *in, const uint8_t *data, size_t len) {
    return get_uint(in, 4) == (uint32_t)XXH64(data, len, 0);
}

// --- header

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

// --- headers of blocks

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

static void put_short(uint8_t out[LOG_SHORT_HEADER_BYTES], const struct log_block *block) {
    memcpy(out, short_magic, sizeof short_magic);
    put_uint(out + 4, block->type | (uint32_t)block->codec << 4, 1);
    put_uint(out + 5, block->stored_len, 3);
    put_uint(out + 8, block->payload_hash, 4);
    put_half_hash(out + 12, out, 12);
}

static int get_long(const uint8_t in[LOG_BLOCK_HEADER_BYTES], struct log_block *block) {
    RETURN_IF(memcmp(in, block_magic, 8) != 0, ERR_FORMAT);
    RETURN_IF(!hash_matches(in + 88, in, 88), ERR_CHECKSUM);
    block->header_bytes = LOG_BLOCK_HEADER_BYTES;
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

static int get_short(const uint8_t in[LOG_SHORT_HEADER_BYTES], struct log_block *block) {
    RETURN_IF(!half_hash_matches(in + 12, in, 12), ERR_CHECKSUM);
    *block = (struct log_block){.type = in[4] & 15,
                                .codec = in[4] >> 4,
                                .header_bytes = LOG_SHORT_HEADER_BYTES,
                                .stored_len = (uint32_t)get_uint(in + 5, 3),
                                .payload_hash = get_uint(in + 8, 4)};
    return 0;
}

int log_block_get(const uint8_t *in, size_t len, struct log_block *block) {
    RETURN_IF(len < LOG_SHORT_HEADER_BYTES, ERR_TRUNCATED);
    if (memcmp(in, short_magic, sizeof short_magic) == 0) return get_short(in, block);
    RETURN_IF(memcmp(in, block_magic, sizeof block_magic) != 0, ERR_FORMAT);
    RETURN_IF(len < LOG_BLOCK_HEADER_BYTES, ERR_TRUNCATED);
    return get_long(in, block);
}

size_t log_block_search(const uint8_t *data, size_t len) {
    _Static_assert(LOG_BLOCK_MARK_BYTES < sizeof short_magic, "the rest tells which");
    const uint8_t *found = memmem(data, len, block_magic, LOG_BLOCK_MARK_BYTES);
    return found ? (size_t)(found - data) : len;
}

// --- trailer

void log_trailer_put(uint8_t out[LOG_TRAILER_BYTES], uint32_t index_bytes) {
    put_uint(out, index_bytes, 4);
    memcpy(out + 4, trailer_magic, sizeof trailer_magic);
    put_half_hash(out + 8, out, 8);
}

static int get_old_trailer(const uint8_t in[LOG_OLD_TRAILER_BYTES], struct log_trailer *trailer) {
    RETURN_IF(memcmp(in + 24, old_trailer_magic, sizeof old_trailer_magic) != 0, ERR_FORMAT);
    RETURN_IF(!hash_matches(in + 16, in, 16), ERR_CHECKSUM);
    *trailer = (struct log_trailer){LOG_OLD_TRAILER_BYTES, get_uint(in, 8), true};
    return 0;
}

int log_trailer_get(const uint8_t *end, size_t len, uint64_t log_bytes, struct log_trailer *trailer) {
    const uint8_t *in = end - LOG_TRAILER_BYTES;
    RETURN_IF(len < LOG_TRAILER_BYTES, ERR_TRUNCATED);
    bool is_short = memcmp(in + 4, trailer_magic, sizeof trailer_magic) == 0 && half_hash_matches(in + 8, in, 8);
    if (!is_short)
        return len < LOG_OLD_TRAILER_BYTES ? ERR_FORMAT : get_old_trailer(end - LOG_OLD_TRAILER_BYTES, trailer);
    uint64_t index_bytes = get_uint(in, 4), blocks_end = log_bytes - LOG_TRAILER_BYTES;
    RETURN_IF(index_bytes > blocks_end, ERR_FORMAT);
    *trailer = (struct log_trailer){LOG_TRAILER_BYTES, blocks_end - index_bytes, index_bytes != 0};
    return 0;
}

// --- payloads

static int level_of(const struct log_block *block, size_t len) {
    if (block->type == BLOCK_EVENTS) return FAST_LEVEL;
    return len <= THOROUGH_BYTES ? THOROUGH_LEVEL : RECORDS_LEVEL;
}

// Data that does not shrink is stored as it is, so that stored_len never exceeds raw_len.
int log_block_store(struct log_block *block, const uint8_t *raw, size_t len, struct bytes *out) {
    RETURN_IF(len > LOG_BLOCK_MAX_RAW, ERR_LIMIT);
    size_t room = ZSTD_compressBound(len);
    uint8_t *stored = bytes_reserve(out, room);
    RETURN_IF(!stored, -ENOMEM);
    size_t stored_len = ZSTD_compress(stored, room, raw, len, level_of(block, len));
    block->codec = CODEC_ZSTD;
    if (ZSTD_isError(stored_len) || stored_len >= len) {
        if (len) memcpy(stored, raw, len);
        stored_len = len;
        block->codec = CODEC_NONE;
    }
    out->len += stored_len;
    block->header_bytes = LOG_BLOCK_HEADER_BYTES;
    block->stored_len = (uint32_t)stored_len;
    block->raw_len = (uint32_t)len;
    block->payload_hash = XXH64(stored, stored_len, 0);
    return 0;
}

static int compress_columns(const struct log_block *block, const struct bytes *raw, uint8_t *out, size_t room,
                            size_t *len) {
    bool is_shared = raw->len <= SHARED_BYTES;
    ZSTD_CCtx *context = ZSTD_createCCtx();
    RETURN_IF(!context, -ENOMEM);
    *len = ZSTD_compress_usingDict(context, out, room, raw->data, raw->len, is_shared ? dictionary : NULL,
                                   is_shared ? DICTIONARY_BYTES : 0, level_of(block, raw->len));
    ZSTD_freeCCtx(context);
    return ZSTD_isError(*len) ? CODEC_NONE : is_shared ? CODEC_SHARED : CODEC_BARE;
}

// The magic of the frame says nothing here; a small block feels its four bytes.
static int store_columns(struct log_block *block, const struct bytes *raw, struct bytes *out) {
    size_t room = ZSTD_compressBound(raw->len), magic = sizeof zstd_magic, len;
    RETURN_IF(raw->len > LOG_BLOCK_MAX_RAW, ERR_LIMIT);
    uint8_t *stored = bytes_reserve(out, room);
    RETURN_IF(!stored, -ENOMEM);
    int codec = compress_columns(block, raw, stored, room, &len);
    FORWARD(codec);
    if (codec != CODEC_NONE && len - magic < raw->len) {
        len -= magic;
        memmove(stored, stored + magic, len);
    } else {
        codec = CODEC_NONE;
        len = raw->len;
        if (len) memcpy(stored, raw->data, len);
    }
    RETURN_IF(len > SHORT_MAX_STORED, ERR_LIMIT);
    out->len += len;
    block->codec = (uint16_t)codec;
    block->stored_len = (uint32_t)len;
    block->raw_len = (uint32_t)raw->len;
    block->header_bytes = LOG_SHORT_HEADER_BYTES;
    block->payload_hash = (uint32_t)XXH64(stored, block->stored_len, 0);
    return 0;
}

int log_block_append(struct log_block *block, const uint8_t *records, size_t len, struct bytes *out) {
    struct bytes columns = {0};
    size_t start = out->len;
    RETURN_IF(len > LOG_BLOCK_MAX_RAW, ERR_LIMIT);
    RETURN_IF(!bytes_reserve(out, LOG_SHORT_HEADER_BYTES), -ENOMEM);
    out->len += LOG_SHORT_HEADER_BYTES;
    int code = columns_from_records(records, len, &columns);
    if (code == 0) code = store_columns(block, &columns, out);
    bytes_free(&columns);
    FORWARD(code);
    put_short(out->data + start, block);
    return 0;
}

static int unpack(const uint8_t *frame, size_t len, size_t raw_len, bool is_shared, struct bytes *raw) {
    RETURN_IF(raw_len > LOG_BLOCK_MAX_RAW || ZSTD_getFrameContentSize(frame, len) != raw_len, ERR_FORMAT);
    uint8_t *out = bytes_reserve(raw, raw_len);
    RETURN_IF(!out, -ENOMEM);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    RETURN_IF(!context, -ENOMEM);
    size_t got = ZSTD_decompress_usingDict(context, out, raw_len, frame, len, is_shared ? dictionary : NULL,
                                           is_shared ? DICTIONARY_BYTES : 0);
    ZSTD_freeDCtx(context);
    RETURN_IF(got != raw_len, ERR_FORMAT);
    raw->len = raw_len;
    return 0;
}

static int unpack_columns(const struct log_block *block, const uint8_t *stored, size_t len, struct bytes *raw) {
    struct bytes frame = {0};
    int code = bytes_append(&frame, zstd_magic, sizeof zstd_magic);
    if (code == 0) code = bytes_append(&frame, stored, len);
    if (code == 0)
        code = unpack(frame.data, frame.len, ZSTD_getFrameContentSize(frame.data, frame.len),
                      block->codec == CODEC_SHARED, raw);
    bytes_free(&frame);
    return code;
}

static int load_short(const struct log_block *block, const uint8_t *stored, struct bytes *raw) {
    struct bytes columns = {0};
    size_t len = block->stored_len;
    RETURN_IF((uint32_t)XXH64(stored, len, 0) != block->payload_hash, ERR_CHECKSUM);
    if (block->codec == CODEC_NONE) return columns_to_records(stored, len, LOG_BLOCK_MAX_RAW, raw);
    RETURN_IF(block->codec != CODEC_BARE && block->codec != CODEC_SHARED, ERR_FORMAT);
    int code = unpack_columns(block, stored, len, &columns);
    if (code == 0) code = columns_to_records(columns.data, columns.len, LOG_BLOCK_MAX_RAW, raw);
    bytes_free(&columns);
    return code;
}

int log_block_load(const struct log_block *block, const uint8_t *stored, struct bytes *raw) {
    raw->len = 0;
    if (block->header_bytes == LOG_SHORT_HEADER_BYTES) return load_short(block, stored, raw);
    RETURN_IF(block->raw_len > LOG_BLOCK_MAX_RAW || block->stored_len > block->raw_len, ERR_FORMAT);
    RETURN_IF(XXH64(stored, block->stored_len, 0) != block->payload_hash, ERR_CHECKSUM);
    if (block->codec == CODEC_NONE) {
        RETURN_IF(block->stored_len != block->raw_len, ERR_FORMAT);
        return bytes_append(raw, stored, block->raw_len);
    }
    RETURN_IF(block->codec != CODEC_ZSTD, ERR_FORMAT);
    return unpack(stored, block->stored_len, block->raw_len, false, raw);
}
