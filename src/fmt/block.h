// The log file: a header, blocks, a trailer. Little-endian, written once from start to end. Blocks of events have a
// long header, those of records and of the index a short one; in older logs, all have the long one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    LOG_HEADER_BYTES = 64,
    LOG_BLOCK_HEADER_BYTES = 96,
    LOG_SHORT_HEADER_BYTES = 16,
    LOG_TRAILER_BYTES = 12,
    LOG_OLD_TRAILER_BYTES = 32,
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
    FEATURE_SHORT = 1 << 5,    // blocks may have short headers; the trailer is short
    FEATURE_IMPORTED = 1 << 6, // counters are those of another program's log (RECORD_IMPORTED)
    FEATURE_STEPS = 1 << 7,    // slots of event streams may be defined by differences (SLOT_STEP)
    FEATURE_GROUPS = 1 << 8,   // a process record may stand for several processes (PROCESS_MEMBERS)
};

struct log_header {
    uint16_t version;
    uint16_t min_reader;
    uint64_t features;
    uint8_t job_id[16];
    uint64_t created_ns; // since the epoch
};

struct log_trailer {
    uint32_t bytes;        // of itself
    uint64_t index_offset; // of the first block of the index
    bool has_index;        // otherwise blocks follow each other without gaps, and none has events
};

struct log_block {
    uint16_t type;
    uint16_t codec;        // enum log_codec
    uint32_t header_bytes; // LOG_BLOCK_HEADER_BYTES or LOG_SHORT_HEADER_BYTES; what follows is 0 with a short one
    uint32_t stored_len;
    uint32_t raw_len; // with a short header the payload says it
    uint32_t stream;
    uint32_t tid;    // at the block's start
    uint32_t events; // number of events that end in this block
    uint32_t flags;  // enum log_block_flag
    uint64_t first_number;
    uint64_t base; // clock units, for the stream decoder
    uint64_t tick;
    uint64_t start_ns; // of the earliest event, since the job's start
    uint64_t end_ns;
    uint64_t payload_hash; // xxh64 of the stored bytes; with a short header its lower half
};

enum log_codec {
    CODEC_NONE = 0,
    CODEC_ZSTD = 1,
    CODEC_BARE = 2,   // zstd, without the magic of the frame: only with short headers
    CODEC_SHARED = 3, // the same, with the dictionary (dictionary.h)
};

enum log_block_flag {
    BLOCK_SORTED = 1 << 0, // start times never decrease and no event is a child: can be streamed as it is
    BLOCK_BELOW = 1 << 1,  // all its calls are below the system call (call_layer_is_below)
};

// Fixed layouts, as in doc/format.md. The _get functions check magic, hash, version and every length.
void log_header_put(uint8_t out[LOG_HEADER_BYTES], const struct log_header *header);
int log_header_get(const uint8_t in[LOG_HEADER_BYTES], struct log_header *header);
void log_block_put(uint8_t out[LOG_BLOCK_HEADER_BYTES], const struct log_block *block);
// Of a log's last bytes, up to LOG_OLD_TRAILER_BYTES. Without an index, it would begin where the trailer begins.
void log_trailer_put(uint8_t out[LOG_TRAILER_BYTES], uint32_t index_bytes);
int log_trailer_get(const uint8_t *end, size_t len, uint64_t log_bytes, struct log_trailer *trailer);

// Either header. `len` bytes are there: LOG_BLOCK_HEADER_BYTES are enough for both.
int log_block_get(const uint8_t *in, size_t len, struct log_block *block);
// The first place where a block may begin, for a reader that searches after damage; `len` if there is none before the
// last bytes, which may be those of a mark.
enum { LOG_BLOCK_MARK_BYTES = 3 };
size_t log_block_search(const uint8_t *data, size_t len);

// Compresses raw bytes for a block with the long header: fills codec, stored_len, raw_len and payload_hash, appends the
// stored bytes to `out`.
int log_block_store(struct log_block *block, const uint8_t *raw, size_t len, struct bytes *out);
// Appends a whole block of records (fmt/fields.h), with a short header. Fills `block`, but for its type.
int log_block_append(struct log_block *block, const uint8_t *records, size_t len, struct bytes *out);
// Decompresses `stored`, which has block->stored_len bytes. Replaces the contents of `raw`: events, or records.
int log_block_load(const struct log_block *block, const uint8_t *stored, struct bytes *raw);
