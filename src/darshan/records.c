// Records of one module of a Darshan log.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "darshan/read.h"
#include "darshan/words.h"

enum { MOST_WORDS = 1 << 20 }; // of one record; real ones have thousands

int darshan_records_open(struct darshan_records *records, const struct darshan_log *log, unsigned module) {
    *records = (struct darshan_records){.log = log, .module = module};
    RETURN_IF(module >= DARSHAN_SLOTS, ERR_USAGE);
    records->layout = darshan_version(module, log->module_version[module]);
    RETURN_IF(!records->layout || darshan_module(module)->shape == DARSHAN_OPAQUE, ERR_VERSION);
    return darshan_region_open(&records->region, log->fd, &log->place[module], log->codec);
}

void darshan_records_close(struct darshan_records *records) {
    darshan_region_close(records->region);
    bytes_free(&records->words);
    records->region = NULL;
}

// Appends words as they are in the log. Memory grows with what is really there.
static int read_words(struct darshan_records *records, uint64_t count) {
    enum { STEP = 1 << 13 };
    RETURN_IF(count > MOST_WORDS, ERR_FORMAT);
    while (count > 0) {
        size_t step = count < STEP ? (size_t)count : STEP;
        uint8_t *room = bytes_reserve(&records->words, step * 8);
        RETURN_IF(!room, -ENOMEM);
        int code = darshan_region_read(records->region, room, step * 8);
        RETURN_IF(code <= 0, code < 0 ? code : ERR_TRUNCATED);
        records->words.len += step * 8;
        count -= step;
    }
    return 0;
}

// The beginning of a record, which may be missing: 1, or 0 at the end of the region.
static int read_head(struct darshan_records *records, size_t words) {
    records->words.len = 0;
    uint8_t *room = bytes_reserve(&records->words, words * 8);
    RETURN_IF(!room, -ENOMEM);
    int code = darshan_region_read(records->region, room, words * 8);
    if (code > 0) records->words.len = words * 8;
    return code;
}

static int64_t word(const struct darshan_records *records, size_t i) {
    return (int64_t)words_u64(records->words.data + i * 8, records->log->is_swapped);
}

static double real_word(const struct darshan_records *records, size_t i) {
    return words_f64(records->words.data + i * 8, records->log->is_swapped);
}

// Turns words into numbers in place and points `more` at those from `first` on.
static void give_more(struct darshan_records *records, struct darshan_record *record, size_t first) {
    size_t count = records->words.len / 8;
    int64_t *words = (int64_t *)(void *)records->words.data;
    for (size_t i = first; i < count; i++) words[i] = word(records, i);
    record->more = words + first;
    record->more_count = count - first;
}

// UUIDs and names are bytes: no order of theirs is changed.
static void keep_bytes(const struct darshan_records *records, int64_t *words, size_t count) {
    for (size_t i = 0; records->log->is_swapped && i < count; i++)
        words[i] = (int64_t)__builtin_bswap64((uint64_t)words[i]);
}

// --- counters

static size_t head_words(const struct darshan_records *records) {
    const struct darshan_module *module = darshan_module(records->module);
    const struct darshan_version *layout = records->layout;
    size_t words = 2 + module->numbers + module->reals + layout->dropped;
    words -= (size_t)__builtin_popcountll(layout->missing_numbers) + (size_t)__builtin_popcount(layout->missing_reals);
    return words + (module->shape == DARSHAN_OF_FILE && !layout->lacks_file);
}

static bool is_missing(uint64_t mask, unsigned counter) { return counter < 64 && mask >> counter & 1; }

// Returns the number of the word behind the counters, or 0 if the record is spoilt.
static size_t give_counters(const struct darshan_records *records, struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(records->module);
    const struct darshan_version *layout = records->layout;
    size_t at = 2;
    uint64_t added = 0;
    bool is_behind = !layout->dropped; // what is dropped
    if (module->shape == DARSHAN_OF_FILE && !layout->lacks_file) record->file = (uint64_t)word(records, at++);
    for (unsigned i = 0, in_log = 0; i < module->numbers; i++) {
        if (!is_behind && in_log == layout->dropped_at) {
            if (layout->spoils && word(records, at) > 0) return 0;
            if (layout->is_added) added = (uint64_t)word(records, at);
            at += layout->dropped;
            is_behind = true;
        }
        if (is_missing(layout->missing_numbers, i)) {
            record->number[i] = is_missing(layout->zero_numbers, i) ? 0 : -1;
            continue;
        }
        record->number[i] = (int64_t)((uint64_t)word(records, at++) + added);
        added = 0;
        in_log++;
    }
    for (unsigned i = 0; i < module->reals; i++)
        record->real[i] = is_missing(layout->missing_reals, i) ? -1 : real_word(records, at++);
    return at;
}

static int next_counters(struct darshan_records *records, struct darshan_record *record) {
    enum { POOL_WORDS = 4, OBJECT_WORDS = 2 };
    const struct darshan_module *module = darshan_module(records->module);
    size_t words = head_words(records), behind = 0;
    while (!behind) {
        int code = read_head(records, words);
        RETURN_IF(code <= 0, code);
        record->id = (uint64_t)word(records, 0);
        record->rank = word(records, 1);
        behind = give_counters(records, record);
        records->spoilt += !behind;
    }
    if (module->shape == DARSHAN_OF_POOL) FORWARD(read_words(records, POOL_WORDS));
    if (module->shape == DARSHAN_OF_OBJECT) FORWARD(read_words(records, POOL_WORDS + OBJECT_WORDS));
    if (module->shape == DARSHAN_OF_SERVERS) {
        int64_t servers = record->number[module->numbers - 1];
        FORWARD(read_words(records, servers > 1 ? (uint64_t)servers : 1)); // there is always room for one
    }
    give_more(records, record, behind);
    if (module->shape == DARSHAN_OF_POOL || module->shape == DARSHAN_OF_OBJECT)
        keep_bytes(records, record->more, POOL_WORDS);
    return 1;
}

// --- Lustre

// Version 1 knew one part only.
static int next_old_layout(struct darshan_records *records, struct darshan_record *record) {
    enum { SIZE = 2 + 3, WIDTH = 2 + 4, OLD_WORDS = 2 + DARSHAN_OLD_LAYOUT_NUMBERS };
    int code = read_head(records, OLD_WORDS);
    RETURN_IF(code <= 0, code);
    record->id = (uint64_t)word(records, 0);
    record->rank = word(records, 1);
    int64_t size = word(records, SIZE), width = word(records, WIDTH);
    FORWARD(read_words(records, width > 0 ? (uint64_t)width : 0));
    RETURN_IF(!bytes_reserve(&records->words, (DARSHAN_PART_WORDS - OLD_WORDS) * 8), -ENOMEM);
    records->words.len += (DARSHAN_PART_WORDS - OLD_WORDS) * 8;
    int64_t *words = (int64_t *)(void *)records->words.data;
    size_t servers = width > 0 ? (size_t)width : 0;
    for (size_t i = servers; i-- > 0;) words[DARSHAN_PART_WORDS + i] = word(records, OLD_WORDS + i);
    const int64_t part[DARSHAN_PART_WORDS] = {size, width, -1, -1, 0, -1, -1, 0, 0};
    memcpy(words, part, sizeof part);
    record->number[0] = 1;
    record->number[1] = width;
    record->more = words;
    record->more_count = DARSHAN_PART_WORDS + servers;
    return 1;
}

static size_t servers_of_part(const int64_t *part) {
    return part[DARSHAN_STRIPE_COUNT] > 0 ? (size_t)part[DARSHAN_STRIPE_COUNT] : 0;
}

// Leaves out parts that are not in use, which come last, and joins their servers to the others.
static int cut_layout(struct darshan_record *record, size_t parts, size_t stripes) {
    size_t used = 0, servers = 0;
    record->number[1] = 0;
    for (; used < parts && record->more[used * DARSHAN_PART_WORDS + DARSHAN_STRIPE_SIZE] != -1; used++) {
        const int64_t *part = record->more + used * DARSHAN_PART_WORDS;
        record->number[1] = (int64_t)((uint64_t)record->number[1] + (uint64_t)part[DARSHAN_STRIPE_COUNT]);
        RETURN_IF(servers_of_part(part) > stripes - servers, ERR_FORMAT);
        servers += servers_of_part(part);
    }
    record->number[0] = (int64_t)used;
    memmove(record->more + used * DARSHAN_PART_WORDS, record->more + parts * DARSHAN_PART_WORDS, servers * 8);
    record->more_count = used * DARSHAN_PART_WORDS + servers;
    return 1;
}

static int next_layout(struct darshan_records *records, struct darshan_record *record) {
    enum { HEAD_WORDS = 4 };
    if (records->log->module_version[records->module] == 1) return next_old_layout(records, record);
    int code = read_head(records, HEAD_WORDS);
    RETURN_IF(code <= 0, code);
    record->id = (uint64_t)word(records, 0);
    record->rank = word(records, 1);
    record->number[0] = word(records, 2);
    record->number[1] = word(records, 3);
    if (record->number[0] < 1) { // then nothing follows, whatever the number of servers
        give_more(records, record, HEAD_WORDS);
        return 1;
    }
    uint64_t parts = (uint64_t)record->number[0], stripes = record->number[1] > 0 ? (uint64_t)record->number[1] : 0;
    RETURN_IF(parts > MOST_WORDS / DARSHAN_PART_WORDS || stripes > MOST_WORDS, ERR_FORMAT);
    FORWARD(read_words(records, parts * DARSHAN_PART_WORDS + stripes));
    give_more(records, record, HEAD_WORDS);
    for (size_t i = 0; i < parts; i++)
        keep_bytes(records, record->more + i * DARSHAN_PART_WORDS + DARSHAN_LAYOUT_NUMBERS,
                   DARSHAN_LAYOUT_POOL_BYTES / 8);
    return cut_layout(record, parts, stripes);
}

// --- heat maps

// Darshan 3.4.0 to 3.4.3 could leave ranks with one bin more or less than others.
static int even_bins(struct darshan_records *records, struct darshan_record *record, size_t bins) {
    if (!records->first_bins) records->first_bins = bins;
    if (!records->first_width) records->first_width = record->real[0];
    if (record->real[0] != records->first_width) return 1;
    if (bins == records->first_bins + 1) {
        memmove(record->more + bins - 1, record->more + bins, (bins - 1) * 8);
        record->more_count = 2 * (bins - 1);
    } else if (bins + 1 == records->first_bins) {
        size_t first = (size_t)(record->more - (int64_t *)(void *)records->words.data);
        RETURN_IF(!bytes_reserve(&records->words, 2 * 8), -ENOMEM);
        record->more = (int64_t *)(void *)records->words.data + first;
        memmove(record->more + bins + 1, record->more + bins, bins * 8);
        record->more[bins] = record->more[2 * bins + 1] = 0;
        record->more_count = 2 * (bins + 1);
    }
    return 1;
}

static int next_bins(struct darshan_records *records, struct darshan_record *record) {
    enum { WIDTH = 2, BINS = 3, HEAD_WORDS = 6 };
    int code = read_head(records, HEAD_WORDS);
    RETURN_IF(code <= 0, code);
    record->id = (uint64_t)word(records, 0);
    record->rank = word(records, 1);
    record->real[0] = real_word(records, WIDTH);
    int64_t bins = word(records, BINS);
    RETURN_IF(bins < 0 || bins > MOST_WORDS / 2, ERR_FORMAT);
    FORWARD(read_words(records, 2 * (uint64_t)bins));
    give_more(records, record, HEAD_WORDS);
    return even_bins(records, record, (size_t)bins);
}

int darshan_next_record(struct darshan_records *records, struct darshan_record *record) {
    *record =
        (struct darshan_record){.module = records->module, .version = records->log->module_version[records->module]};
    switch (darshan_module(records->module)->shape) {
    case DARSHAN_LAYOUT: return next_layout(records, record);
    case DARSHAN_BINS: return next_bins(records, record);
    case DARSHAN_OPAQUE:
    case DARSHAN_SEGMENTS: return ERR_USAGE;
    default: return next_counters(records, record);
    }
}

// --- DXT

static size_t segment_bytes(const struct darshan_trace *trace) {
    return trace->has_threads ? DARSHAN_SEGMENT_THREAD_BYTES : DARSHAN_SEGMENT_BYTES;
}

int darshan_next_trace(struct darshan_records *records, struct darshan_trace *out) {
    enum { SHARED_AT = DARSHAN_BASE_BYTES, HOST_AT = SHARED_AT + 8, COUNTS_AT = HOST_AT + DARSHAN_TRACE_HOST_BYTES };
    uint8_t head[DARSHAN_BASE_BYTES + DARSHAN_TRACE_HEAD_BYTES];
    struct darshan_segment skipped;
    int more;
    while ((more = darshan_next_segment(records, &skipped)) > 0) continue;
    FORWARD(more);
    int code = darshan_region_read(records->region, head, sizeof head);
    RETURN_IF(code <= 0, code);
    bool is_swapped = records->log->is_swapped, is_posix = records->module == DARSHAN_DXT_POSIX;
    unsigned version = records->log->module_version[records->module];
    struct darshan_trace *trace = &records->trace;
    *trace = (struct darshan_trace){
        .module = records->module,
        .version = version,
        .id = words_u64(head, is_swapped),
        .rank = (int64_t)words_u64(head + 8, is_swapped),
        .has_offsets = is_posix || version >= DARSHAN_DXT_MPIIO_OFFSETS,
        .has_threads = version >= (is_posix ? DARSHAN_DXT_POSIX_THREADS : DARSHAN_DXT_MPIIO_THREADS),
    };
    memcpy(trace->host, head + HOST_AT, DARSHAN_TRACE_HOST_BYTES);
    int64_t writes = (int64_t)words_u64(head + COUNTS_AT, is_swapped);
    int64_t reads = (int64_t)words_u64(head + COUNTS_AT + 8, is_swapped);
    RETURN_IF(writes < 0 || reads < 0, ERR_FORMAT);
    trace->segments[0] = records->unread[0] = (uint64_t)reads;
    trace->segments[1] = records->unread[1] = (uint64_t)writes;
    *out = *trace;
    return 1;
}

int darshan_next_segment(struct darshan_records *records, struct darshan_segment *segment) {
    const struct darshan_trace *trace = &records->trace;
    bool is_write = records->unread[1], is_swapped = records->log->is_swapped;
    uint8_t data[DARSHAN_SEGMENT_THREAD_BYTES] = {0};
    if (!records->unread[is_write]) return 0;
    int code = darshan_region_read(records->region, data, segment_bytes(trace));
    RETURN_IF(code <= 0, code < 0 ? code : ERR_TRUNCATED);
    records->unread[is_write]--;
    *segment = (struct darshan_segment){
        .is_write = is_write,
        .offset = trace->has_offsets ? (int64_t)words_u64(data, is_swapped) : -1,
        .length = (int64_t)words_u64(data + 8, is_swapped),
        .start = words_f64(data + 16, is_swapped),
        .end = words_f64(data + 24, is_swapped),
        .thread = words_u64(data + 32, is_swapped),
    };
    return 1;
}
