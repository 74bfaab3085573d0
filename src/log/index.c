// Finds the blocks of a log: in the index at its end or, if there is none, by a search for their marks.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "log/private.h"

static int add_class_sum(uint64_t sums[CLASS_COUNT], uint64_t packed) {
    unsigned class = packed & 15;
    RETURN_IF(class >= CLASS_COUNT, ERR_FORMAT);
    sums[class] = packed >> 4;
    return 0;
}

static int parse_place_field(struct log_place *place, const struct field *field) {
    switch (field->key) {
    case INDEX_OFFSET: place->offset = field->number; return 0;
    case INDEX_TYPE: place->type = (uint16_t)field->number; return 0;
    case INDEX_STREAM: place->stream = (uint32_t)field->number; return 0;
    case INDEX_EVENTS: place->events = field->number; return 0;
    case INDEX_START_NS: place->start_ns = field->number; return 0;
    case INDEX_END_NS: place->end_ns = field->number; return 0;
    case INDEX_STORED_LEN: place->stored_len = field->number; return 0;
    case INDEX_FLAGS: place->below = field->number & BLOCK_BELOW; return 0;
    case INDEX_CLASS_COUNT: return add_class_sum(place->class_count, field->number);
    case INDEX_CLASS_BYTES: return add_class_sum(place->class_bytes, field->number);
    case INDEX_CLASS_NS: return add_class_sum(place->class_ns, field->number);
    default: return 0;
    }
}

static int parse_place(struct log *log, struct fields_in body) {
    struct log_place *place = table_add(&log->places, sizeof *place);
    struct field field;
    int more;
    RETURN_IF(!place, -ENOMEM);
    while ((more = fields_next(&body, &field)) > 0) FORWARD(parse_place_field(place, &field));
    RETURN_IF(place->offset < LOG_HEADER_BYTES || place->offset >= log->size, ERR_FORMAT);
    return more;
}

static int parse_index_block(struct log *log, const struct bytes *raw) {
    struct fields_in in = fields_of(raw);
    struct fields_in body;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        if (kind == RECORD_BLOCK) FORWARD(parse_place(log, body));
    }
    return more;
}

static int add_found(struct log *log, const struct log_block *block, uint64_t offset) {
    struct log_place *place = table_add(&log->places, sizeof *place);
    RETURN_IF(!place, -ENOMEM);
    place->offset = offset;
    place->type = block->type;
    place->stream = block->stream;
    place->events = block->events;
    place->start_ns = block->start_ns;
    place->end_ns = block->end_ns;
    place->stored_len = block->stored_len;
    place->below = block->flags & BLOCK_BELOW;
    return 0;
}

// Blocks of the index, up to `end`.
static int read_index(struct log *log, uint64_t offset, uint64_t end) {
    struct bytes stored = {0}, raw = {0};
    int code = 0;
    while (code == 0 && offset < end) {
        struct log_block block;
        code = log_read_block_at(log, offset, &block, &stored, &raw);
        if (code == 0) code = block.type == BLOCK_INDEX ? parse_index_block(log, &raw) : ERR_FORMAT;
        if (code == 0) offset += block.header_bytes + block.stored_len;
    }
    bytes_free(&stored);
    bytes_free(&raw);
    return code == 0 && offset != end ? ERR_FORMAT : code;
}

// Without an index, all blocks up to `end`, which follow each other.
static int walk(struct log *log, uint64_t end) {
    for (uint64_t offset = LOG_HEADER_BYTES; offset < end;) {
        struct log_block block;
        FORWARD(log_read_block_header(log, end, offset, &block));
        FORWARD(add_found(log, &block, offset));
        offset += block.header_bytes + block.stored_len;
    }
    return 0;
}

// Moves `end` to the start of the trailer.
static int follow_trailer(struct log *log, uint64_t *end) {
    uint8_t bytes[LOG_OLD_TRAILER_BYTES];
    struct log_trailer trailer;
    size_t len = sizeof bytes;
    RETURN_IF(log->size < LOG_HEADER_BYTES, ERR_TRUNCATED);
    if (len > log->size - LOG_HEADER_BYTES) len = (size_t)(log->size - LOG_HEADER_BYTES);
    FORWARD(log_read_at(log, bytes, len, log->size - len));
    FORWARD(log_trailer_get(bytes + len, len, log->size, &trailer));
    *end = log->size - trailer.bytes;
    return trailer.has_index ? read_index(log, trailer.index_offset, *end) : walk(log, *end);
}

// Moves `offset` to the next place where a block may begin, or to the end.
static int search_mark(const struct log *log, uint64_t end, uint64_t *offset) {
    enum { WINDOW_BYTES = 16 << 10 };
    uint8_t window[WINDOW_BYTES];
    while (*offset < end && end - *offset >= LOG_SHORT_HEADER_BYTES) {
        size_t len = end - *offset < WINDOW_BYTES ? (size_t)(end - *offset) : WINDOW_BYTES;
        FORWARD(log_read_at(log, window, len, *offset));
        size_t found = log_block_search(window, len);
        *offset += found < len ? found : len - (LOG_BLOCK_MARK_BYTES - 1);
        if (found < len) return 0;
    }
    *offset = end;
    return 0;
}

// One step of the search: adds a good block, or skips everything up to the next mark.
static int scan_one(struct log *log, uint64_t end, uint64_t *offset) {
    struct log_block block = {0};
    int code = log_read_block_header(log, end, *offset, &block);
    if (code == 0) {
        if (block.type != BLOCK_INDEX) FORWARD(add_found(log, &block, *offset));
        *offset += block.header_bytes + block.stored_len;
        return 0;
    }
    if (code == ERR_TRUNCATED) // its events are lost if it is a block
        *(block.flags & BLOCK_BELOW ? &log->health.below_damaged : &log->health.events_damaged) += block.events;
    RETURN_IF(code < 0 && code > ERR_FORMAT, code); // the file cannot be read
    uint64_t next = *offset + 1;
    FORWARD(search_mark(log, end, &next));
    log->health.bytes_skipped += next - *offset;
    log->has_gap = log->has_gap || next < end;
    *offset = next;
    return 0;
}

int log_find_blocks(struct log *log) {
    uint64_t end = log->size;
    int code = follow_trailer(log, &end);
    if (code == 0 || code == -ENOMEM) return code;
    log->health.index_missing = true;
    log->health.truncated = end == log->size;
    log->places.count = 0;
    for (uint64_t offset = LOG_HEADER_BYTES; offset < end;) FORWARD(scan_one(log, end, &offset));
    return 0;
}
