// The log file: a header, blocks, a trailer. Little-endian, written once from start to end.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    LOG_HEADER_BYTES = 64,
    LOG_BLOCK_HEADER_BYTES = 96,
    LOG_TRAILER_BYTES = 32,
    LOG_BLOCK_MAGIC_BYTES = 8,    // the first bytes of every block: a reader searches for them after damage
    LOG_VERSION = 1,              // of this writer
    LOG_MIN_READER = 1,           // older readers must refuse
    LOG_BLOCK_MAX_RAW = 16 << 20, // a reader refuses larger blocks
};

enum log_block_type {
    BLOCK_RECORDS = 1, // tagged records (fmt/fields.h)
    BLOCK_EVENTS = 2,  // one chunk of one event stream (fmt/stream.h)
    BLOCK_INDEX = 3,   // RECORD_BLOCK records; the last block
    BLOCK_SAMPLES = 4, // reserved: device samples
};

enum log_feature { // bits that a reader must know; an unknown one means ERR_VERSION
    FEATURE_NONE = 0,
    FEATURE_MPI = 1 << 0, // event streams may hold communication and calls that were left open (KIND_COMM, KIND_LEAVE)
    FEATURE_PARTNERS = 1 << 1, // and with whom it was (KIND_PARTNERS)
    FEATURE_BELOW = 1 << 2,    // there may be calls below the system call (BLOCK_BELOW)
    FEATURE_CHOSEN = 1 << 3,   // the counters of a process may contain its events, too (PROCESS_COUNTS_ALL)
    FEATURE_REDUCED = 1 << 4,  // counters may be those of several ranks (RECORD_REDUCTION)
};

struct log_header {
    uint16_t version;
    uint16_t min_reader;
    uint64_t features;
    uint8_t job_id[16];
    uint64_t created_ns; // since the epoch
};

struct log_block {
    uint16_t type;
    uint16_t codec; // 0 as it is, 1 zstd
    uint32_t stored_len;
    uint32_t raw_len;
    uint32_t stream;
    uint32_t tid;    // at the block's start
    uint32_t events; // number of events that end in this block
    uint32_t flags;  // enum log_block_flag
    uint64_t first_number;
    uint64_t base; // clock units, for the stream decoder
    uint64_t tick;
    uint64_t start_ns; // of the earliest event, since the job's start
    uint64_t end_ns;
    uint64_t payload_hash; // xxh64 of the stored bytes
};

enum log_block_flag {
    BLOCK_SORTED = 1 << 0, // start times never decrease and no event is a child: can be streamed as it is
    BLOCK_BELOW = 1 << 1,  // all its calls are below the system call (call_layer_is_below)
};

// Fixed layouts, as in doc/format.md. The _get functions check magic, hash, version and every length.
void log_header_put(uint8_t out[LOG_HEADER_BYTES], const struct log_header *header);
int log_header_get(const uint8_t in[LOG_HEADER_BYTES], struct log_header *header);
void log_block_put(uint8_t out[LOG_BLOCK_HEADER_BYTES], const struct log_block *block);
int log_block_get(const uint8_t in[LOG_BLOCK_HEADER_BYTES], struct log_block *block);
void log_trailer_put(uint8_t out[LOG_TRAILER_BYTES], uint64_t index_offset);
int log_trailer_get(const uint8_t in[LOG_TRAILER_BYTES], uint64_t *index_offset);

// Compresses raw bytes for a block: fills codec, stored_len, raw_len and payload_hash, appends the stored bytes to
// `out`.
int log_block_store(struct log_block *block, const uint8_t *raw, size_t len, struct bytes *out);
// Decompresses `stored`, which has block->stored_len bytes. Replaces the contents of `raw`.
int log_block_load(const struct log_block *block, const uint8_t *stored, struct bytes *raw);
