// Segments of DXT as events. Darshan keeps reads and writes of a file apart; here those of a rank are put in order.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "calls.h"
#include "fmt/records.h"
#include "pack/import_private.h"

enum {
    CHUNK_BYTES = 256 << 10,
    MOST_SEGMENTS = 1 << 20, // sorted at a time
    ROOM = 128,
};

// The calls that stand for segments. DXT does not say which function it was: these say no more than it does.
static const uint16_t calls[2][2][2] = {
    // by MPI-IO, by offset is known, by write
    {{CALL_read, CALL_write}, {CALL_read, CALL_write}},
    {{CALL_MPI_File_read, CALL_MPI_File_write}, {CALL_MPI_File_read_at, CALL_MPI_File_write_at}},
};

struct chunk {
    struct stream_writer writer;
    _Atomic uint32_t used;
    struct log_block block;
    struct log_summary summary;
    uint64_t last_start;
    bool is_sorted;
};

static uint64_t nanoseconds(double seconds) {
    if (!(seconds > 0)) return 0;
    return seconds < 1e9 ? (uint64_t)llround(seconds * 1e9) : UINT64_C(1000000000000000000);
}

// --- chunks

static void begin_chunk(struct import *import, struct chunk *chunk, uint64_t base) {
    stream_put_start(&chunk->writer, import->payload.data, CHUNK_BYTES, &chunk->used, base);
    chunk->used = 0;
    chunk->block = (struct log_block){.type = BLOCK_EVENTS,
                                      .stream = import->streams,
                                      .first_number = chunk->writer.next_number,
                                      .base = base,
                                      .start_ns = UINT64_MAX};
    chunk->summary = (struct log_summary){.process = chunk->summary.process};
    chunk->last_start = 0;
    chunk->is_sorted = true;
}

static int end_chunk(struct import *import, struct chunk *chunk) {
    if (!chunk->block.events) return 0;
    if (chunk->is_sorted) chunk->block.flags |= BLOCK_SORTED;
    import->result.events += chunk->block.events;
    return log_writer_events(&import->writer, &chunk->block, import->payload.data, chunk->used, &chunk->summary);
}

// The last segment of MPI-IO that begins before this one, or one shortly before it: the first that contains it.
static const struct import_span *find_parent(const struct import *import, const struct import_span *inner) {
    enum { MOST_AT_ONCE = 16 };
    size_t low = 0, high = import->spans;
    while (low < high) { // finds the first that begins later
        size_t middle = low + (high - low) / 2;
        const struct import_span *span = &import->span[middle];
        if (span->of < inner->of || (span->of == inner->of && span->start <= inner->start))
            low = middle + 1;
        else
            high = middle;
    }
    for (unsigned i = 0; i < MOST_AT_ONCE && low > 0 && import->span[low - 1].of == inner->of; i++, low--) {
        if (import->span[low - 1].end >= inner->end) return &import->span[low - 1];
    }
    return NULL;
}

static void put_event(struct chunk *chunk, uint32_t call, uint32_t file, const struct darshan_segment *segment,
                      const struct import_span *parent) {
    struct stream_writer *w = &chunk->writer;
    uint64_t start = nanoseconds(segment->start), end = nanoseconds(segment->end);
    uint64_t size = segment->length > 0 ? (uint64_t)segment->length : 0, key = lookup_pair(call, file);
    unsigned slot = (unsigned)((key ^ key >> 32) % STREAM_SLOTS), class = call_table[call].class;
    if (end < start) end = start;
    if (w->slot[slot].key != key) stream_put_slot(w, slot, key, call, file, 0, 0, 0);
    struct stream_put_extra extra = {.flags = segment->offset < 0 ? EVENT_NO_OFFSET : 0};
    if (parent) {
        stream_put_attribute(&extra, ATTRIBUTE_PARENT_STREAM, parent->stream);
        stream_put_attribute(&extra, ATTRIBUTE_PARENT_NUMBER, parent->number);
        chunk->is_sorted = false;
    }
    if (extra.flags || parent || start < w->clock)
        stream_put_extended(w, slot, extra.flags ? 0 : (uint64_t)segment->offset, size, start, end, &extra);
    else
        stream_put_plain(w, slot, (uint64_t)segment->offset, size, start, end);
    chunk->block.events++;
    if (start < chunk->block.start_ns) chunk->block.start_ns = start;
    if (end > chunk->block.end_ns) chunk->block.end_ns = end;
    if (start < chunk->last_start) chunk->is_sorted = false;
    chunk->last_start = start;
    chunk->summary.count[class]++;
    chunk->summary.bytes[class] += size;
    chunk->summary.duration_ns[class] += end - start;
}

// --- records that events need

static int link_file(struct import *import, uint32_t process, uint32_t file) {
    uint64_t key = lookup_pair(process, file);
    if (lookup_find(&import->links, key) != LOOKUP_NONE) return 0;
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_PROCESS_FILE, ROOM);
    fields_number(out, LINK_PROCESS, process);
    fields_number(out, LINK_LOCAL, file);
    fields_number(out, LINK_GLOBAL, file);
    log_writer_end(&import->writer);
    return lookup_set(&import->links, key, 0);
}

// Before the first event that has one of them.
static void put_calls(struct import *import) {
    const uint16_t *all = &calls[0][0][0];
    for (size_t i = 0; i < sizeof calls / sizeof *all; i++) {
        const struct call_info *call = &call_table[all[i]];
        struct fields_out *out = log_writer_begin(&import->writer, RECORD_CALL, ROOM);
        fields_number(out, CALL_ID, all[i]);
        fields_string(out, CALL_NAME, call_names[all[i]]);
        fields_number(out, CALL_LAYER, call->layer);
        fields_number(out, CALL_CLASS, call->class);
        fields_number(out, CALL_TRAITS, call->traits);
        log_writer_end(&import->writer);
    }
}

static void put_stream(struct import *import, uint32_t process) {
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_STREAM, ROOM);
    fields_number(out, STREAM_ID, ++import->streams);
    fields_number(out, STREAM_PROCESS, process);
    fields_number(out, STREAM_LOCAL, import->streams);
    log_writer_end(&import->writer);
}

// --- the segments of one rank

static int compare_starts(const void *a, const void *b) {
    const struct import_segment *left = a, *right = b;
    uint64_t left_ns = nanoseconds(left->segment.start), right_ns = nanoseconds(right->segment.start);
    if (left_ns != right_ns) return left_ns < right_ns ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int put_segment(struct import *import, struct chunk *chunk, uint32_t call, const struct import_segment *one) {
    const struct import_span span = {.of = lookup_pair(chunk->summary.process, one->file),
                                     .start = nanoseconds(one->segment.start),
                                     .end = nanoseconds(one->segment.end),
                                     .stream = import->streams,
                                     .number = (uint32_t)chunk->writer.next_number};
    bool is_mpi = call_table[call].layer == LAYER_MPIIO;
    put_event(chunk, call, one->file, &one->segment, is_mpi ? NULL : find_parent(import, &span));
    if (!is_mpi) return 0;
    chunk->is_sorted = false; // what is inside comes later
    return array_push(import->span, import->spans, span);
}

static int write_segments(struct import *import, const struct darshan_trace *trace) {
    uint32_t process = import_process(trace->rank);
    struct chunk chunk = {.summary.process = process, .writer.next_number = 0};
    if (!import->segments) return 0;
    if (!import->streams) put_calls(import);
    qsort(import->segment, import->segments, sizeof *import->segment, compare_starts);
    put_stream(import, process);
    begin_chunk(import, &chunk, nanoseconds(import->segment->segment.start));
    for (size_t i = 0; i < import->segments; i++) {
        const struct import_segment *one = &import->segment[i];
        uint32_t call = calls[trace->module == DARSHAN_DXT_MPIIO][trace->has_offsets][one->segment.is_write];
        if (stream_put_full(&chunk.writer)) {
            FORWARD(end_chunk(import, &chunk));
            begin_chunk(import, &chunk, nanoseconds(one->segment.start));
        }
        FORWARD(put_segment(import, &chunk, call, one));
        if (one->segment.end > import->latest_s) import->latest_s = one->segment.end;
    }
    import->segments = 0;
    return end_chunk(import, &chunk);
}

static int add_trace(struct import *import, struct darshan_records *records, const struct darshan_trace *trace) {
    struct import_segment one;
    int more;
    FORWARD(import_note_rank(import, trace->rank, trace->host));
    FORWARD(import_add_file(import, trace->id, NULL, NULL, &one.file));
    FORWARD(link_file(import, import_process(trace->rank), one.file));
    while ((more = darshan_next_segment(records, &one.segment)) > 0) {
        one.number = (uint32_t)import->segments;
        FORWARD(array_push(import->segment, import->segments, one));
        if (import->segments >= MOST_SEGMENTS) FORWARD(write_segments(import, trace));
    }
    return more;
}

static int compare_spans(const void *a, const void *b) {
    const struct import_span *left = a, *right = b;
    if (left->of != right->of) return left->of < right->of ? -1 : 1;
    if (left->start != right->start) return left->start < right->start ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

int import_traces(struct import *import, struct darshan_records *records, uint64_t *count) {
    struct darshan_trace trace = {.rank = -1}, next;
    int more;
    RETURN_IF(!bytes_reserve(&import->payload, CHUNK_BYTES), -ENOMEM);
    while ((more = darshan_next_trace(records, &next)) > 0) {
        if (next.rank != trace.rank) FORWARD(write_segments(import, &trace));
        trace = next;
        ++*count;
        if (!import_process(trace.rank)) continue; // no rank of a job
        more = add_trace(import, records, &trace);
        if (more < 0) break;
    }
    int code = write_segments(import, &trace); // also those before damage
    if (import->spans > 1) qsort(import->span, import->spans, sizeof *import->span, compare_spans);
    return more < 0 ? more : code;
}
