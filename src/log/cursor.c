#include "log/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/glob.h"

// A block that is not sorted is put in order this many events at a time. The writer's blocks have fewer; only a block
// that is bigger than any it makes could come out with its parts in turn.
enum { SORT_EVENTS = 1 << 20, EVENT_HEAD_BYTES = offsetof(struct stream_event, attribute) };

struct sort_key {
    uint64_t start;
    uint64_t number;
    size_t offset; // in `events`
};

static bool file_passes(struct log_cursor *cursor, const struct log_file *file)
{
    if (!file) return false;
    uint8_t *known = &cursor->sieve->files[log_file_index(cursor->log, file)];
    if (*known == SIEVE_UNKNOWN)
        *known = glob_match(cursor->sieve->filter.file_glob, file->name) ? SIEVE_PASSES : SIEVE_FAILS;
    return *known == SIEVE_PASSES;
}

static const struct log_file *second_file(const struct log_cursor *cursor, const struct stream_event *raw)
{
    if (!(raw->attribute_mask & 1u << ATTRIBUTE_FILE2)) return NULL;
    return log_process_file(cursor->log, cursor->place->process, (uint32_t)raw->attribute[ATTRIBUTE_FILE2]);
}

// Most calls go to one of a few files.
static const struct log_file *first_file(struct log_cursor *cursor, uint32_t local)
{
    unsigned at = local % CURSOR_RECENT_FILES;
    if (local != cursor->recent[at].local) {
        cursor->recent[at].local = local;
        cursor->recent[at].file = log_process_file(cursor->log, cursor->place->process, local);
    }
    return cursor->recent[at].file;
}

static bool time_passes(const struct log_cursor *cursor, const struct stream_event *raw)
{
    const struct log_filter *filter = &cursor->sieve->filter;
    const struct clock_map *clock = &cursor->place->process->clock;
    int64_t start_ns = clock_map_ns_at(clock, cursor->clock_rate, raw->start), last_ns = start_ns;
    if (filter->under_way) last_ns = clock_map_ns_at(clock, cursor->clock_rate, raw->start + raw->duration);
    return (!filter->has_from || last_ns >= filter->from_ns) && (!filter->has_to || start_ns <= filter->to_ns);
}

static bool passes(struct log_cursor *cursor, const struct stream_event *raw)
{
    const struct log_sieve *sieve = cursor->sieve;
    if (sieve->calls && !(raw->call < sieve->call_ids && sieve->calls[raw->call])) return false;
    if (sieve->has_time && !time_passes(cursor, raw)) return false;
    if (!sieve->files) return true;
    return file_passes(cursor, first_file(cursor, raw->file)) || file_passes(cursor, second_file(cursor, raw));
}

// Decodes up to the next event that passes. Where damage begins the rest is counted as lost.
static int decode_next(struct log_cursor *cursor)
{
    struct stream_event *raw = &cursor->event.raw;
    int more = 0;
    while (!cursor->failed && (more = stream_decode(&cursor->decoder, raw)) > 0) {
        cursor->decoded++;
        if (raw->call < cursor->log->call_ids) cursor->log->call_seen[raw->call] = true;
        if (passes(cursor, raw)) return 1;
    }
    if (more < 0) {
        cursor->failed = true;
        uint64_t claimed = cursor->place->events;
        log_note_damage(cursor->log, cursor->place, claimed > cursor->decoded ? claimed - cursor->decoded : 0);
    }
    return 0;
}

static int keep_event(struct log_cursor *cursor)
{
    const struct stream_event *raw = &cursor->event.raw;
    if (cursor->key_count == cursor->key_capacity) {
        size_t capacity = cursor->key_capacity ? cursor->key_capacity * 2 : 1024;
        struct sort_key *key = realloc(cursor->key, capacity * sizeof *key);
        RETURN_IF(!key, -ENOMEM);
        cursor->key = key;
        cursor->key_capacity = capacity;
    }
    cursor->key[cursor->key_count++] = (struct sort_key){raw->start, raw->number, cursor->events.len};
    FORWARD(bytes_append(&cursor->events, raw, EVENT_HEAD_BYTES));
    for (uint32_t mask = raw->attribute_mask; mask; mask &= mask - 1) {
        uint64_t value = raw->attribute[__builtin_ctz(mask)];
        FORWARD(bytes_append(&cursor->events, &value, sizeof value));
    }
    return 0;
}

static void restore_event(struct log_cursor *cursor, size_t offset)
{
    struct stream_event *raw = &cursor->event.raw;
    const uint8_t *at = cursor->events.data + offset;
    memcpy(raw, at, EVENT_HEAD_BYTES);
    at += EVENT_HEAD_BYTES;
    for (uint32_t mask = raw->attribute_mask; mask; mask &= mask - 1, at += sizeof(uint64_t))
        memcpy(&raw->attribute[__builtin_ctz(mask)], at, sizeof(uint64_t));
}

// A parent is announced before its children, so at the same moment its number puts it first.
static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;
    if (left->start != right->start) return left->start < right->start ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int sort_more(struct log_cursor *cursor)
{
    int more = 1;
    cursor->events.len = 0;
    cursor->key_count = cursor->key_at = 0;
    while (cursor->key_count < SORT_EVENTS && (more = decode_next(cursor)) > 0) FORWARD(keep_event(cursor));
    FORWARD(more);
    if (cursor->key_count > 1) qsort(cursor->key, cursor->key_count, sizeof *cursor->key, compare_keys);
    return 0;
}

// The log's number of a stream of which an attribute has the process's own; false where it knows none.
static bool find_stream(const struct log *log, const struct log_process *process, uint64_t local, uint32_t *stream)
{
    uint64_t key = lookup_pair(process->id, (uint32_t)local);
    uint32_t at = local > UINT32_MAX ? LOOKUP_NONE : lookup_find(&log->stream_by_local, key);
    if (at == LOOKUP_NONE) return false;
    *stream = ((const struct stream_row *)log->streams.item)[at].id;
    return true;
}

uint64_t log_event_id(const struct log *log, const struct log_process *process, uint32_t stream,
                      const struct stream_event *raw)
{
    const uint32_t own = 1u << ATTRIBUTE_OWN_STREAM | 1u << ATTRIBUTE_OWN_NUMBER;
    if ((raw->attribute_mask & own) == own) find_stream(log, process, raw->attribute[ATTRIBUTE_OWN_STREAM], &stream);
    return lookup_pair(stream, (uint32_t)raw->number);
}

static void take_parent(struct log_cursor *cursor)
{
    struct log_event *event = &cursor->event;
    const struct stream_event *raw = &event->raw;
    event->has_parent = raw->parent_number != STREAM_NO_PARENT;
    if (!event->has_parent) return;
    uint32_t stream = cursor->stream;
    if (raw->attribute_mask & 1u << ATTRIBUTE_PARENT_STREAM)
        event->has_parent = find_stream(cursor->log, event->process, raw->attribute[ATTRIBUTE_PARENT_STREAM], &stream);
    event->parent = lookup_pair(stream, (uint32_t)raw->parent_number);
}

static const struct log_datatype *datatype_of(const struct log_cursor *cursor, enum event_attribute attribute)
{
    const struct stream_event *raw = &cursor->event.raw;
    if (!(raw->attribute_mask & 1u << attribute)) return NULL;
    return log_process_datatype(cursor->log, cursor->event.process, raw->attribute[attribute]);
}

static void take_descriptions(struct log_cursor *cursor)
{
    struct log_event *event = &cursor->event;
    event->etype = datatype_of(cursor, ATTRIBUTE_ETYPE);
    event->filetype = datatype_of(cursor, ATTRIBUTE_FILETYPE);
    event->datatype = datatype_of(cursor, ATTRIBUTE_DATATYPE);
    bool has_hints = event->raw.attribute_mask & 1u << ATTRIBUTE_HINTS_ID;
    event->hints =
        has_hints ? log_process_hints(cursor->log, event->process, event->raw.attribute[ATTRIBUTE_HINTS_ID]) : NULL;
}

// What the log adds to the stream's own fields.
static void complete_event(struct log_cursor *cursor)
{
    struct log_event *event = &cursor->event;
    const struct stream_event *raw = &event->raw;
    const struct clock_map *clock = &event->process->clock;
    event->id = log_event_id(cursor->log, event->process, cursor->stream, raw);
    take_parent(cursor);
    event->start_ns = clock_map_ns_at(clock, cursor->clock_rate, raw->start);
    event->duration_ns = clock_map_ns_at(clock, cursor->clock_rate, raw->start + raw->duration) - event->start_ns;
    event->call_time_ns = event->duration_ns;
    event->call = log_call_of(cursor->log, raw->call);
    event->file = first_file(cursor, raw->file);
    event->file2 = NULL;
    event->hints = NULL;
    event->etype = event->filetype = event->datatype = NULL;
    event->line = raw->callsite ? log_callsite(cursor->log, event->process, raw->callsite) : NULL;
    if (!raw->attribute_mask) return;
    event->file2 = second_file(cursor, raw);
    take_descriptions(cursor);
    if (raw->attribute_mask & 1u << ATTRIBUTE_CALL_TIME)
        event->call_time_ns = clock_map_scale(clock, (int64_t)raw->attribute[ATTRIBUTE_CALL_TIME]);
}

int log_cursor_start(struct log_cursor *cursor, const struct log_place *place)
{
    struct log_block block;
    FORWARD(log_read_events(cursor->log, place, &block, &cursor->raw, &cursor->decoder));
    cursor->place = place;
    cursor->stream = block.stream;
    cursor->sorted = block.flags & BLOCK_SORTED;
    cursor->failed = false;
    cursor->decoded = 0;
    cursor->key_count = cursor->key_at = 0;
    cursor->clock_rate = clock_map_rate(&place->process->clock);
    memset(cursor->recent, 0, sizeof cursor->recent);
    cursor->event.process = place->process;
    return 0;
}

int log_cursor_next(struct log_cursor *cursor)
{
    if (cursor->sorted) {
        int more = decode_next(cursor);
        if (more <= 0) return more;
    } else {
        if (cursor->key_at == cursor->key_count) FORWARD(sort_more(cursor));
        if (cursor->key_at == cursor->key_count) return 0;
        restore_event(cursor, cursor->key[cursor->key_at++].offset);
    }
    complete_event(cursor);
    return 1;
}

void log_cursor_free(struct log_cursor *cursor)
{
    bytes_free(&cursor->raw);
    bytes_free(&cursor->events);
    free(cursor->key);
}
