// Follows the spill of a running process. A chunk can be decoded by itself, and what is counted in its `used` does not
// change any more: so a look reads each chunk from where the last one stopped.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "fmt/block.h"
#include "fmt/clock_map.h"
#include "fmt/counters.h"
#include "fmt/fields.h"
#include "live/live.h"

enum {
    MOST_CHUNKS = 1 << 20,
    MOST_FILES = 1 << 16,         // of the job
    MOST_PROCESS_FILES = 1 << 20, // numbers that a process gives
    PATIENCE = 40,                // looks until a chunk that was claimed, but not begun, is skipped
    MOST_SKIPPED = 4096,          // pages, in one look
};

static int read_at(const struct live_process *process, uint64_t offset, void *out, size_t len) {
    ssize_t got;
    do got = pread(process->fd, out, len, (off_t)offset);
    while (got < 0 && errno == EINTR);
    RETURN_IF(got < 0, -errno);
    return (size_t)got == len ? 0 : ERR_TRUNCATED;
}

int64_t live_ns(const struct spill_header *header, uint64_t units) {
    uint64_t span = header->latest.units - header->start.units, ns = header->latest.mono_ns - header->start.mono_ns;
    double rate = header->clock_is_ns ? (double)(UINT64_C(1) << (header->unit_shift & 63))
                  : span              ? (double)ns / (double)span
                                      : 0;
    return clock_map_scale_at(rate, (int64_t)units);
}

// --- chunks

static bool is_sound(const struct spill_chunk *chunk) {
    return chunk->magic == SPILL_CHUNK_MAGIC && chunk->bytes >= SPILL_CHUNK_HEADER_BYTES &&
           chunk->used <= chunk->bytes - SPILL_CHUNK_HEADER_BYTES && chunk->used <= LOG_BLOCK_MAX_RAW;
}

// Finds chunks that were begun since. One that is claimed but not begun is waited for, because its length is not known
// yet; if its process found no room for it, it never comes.
static int find_chunks(struct live_process *process) {
    struct spill_header header;
    struct spill_chunk head;
    unsigned skipped = 0;
    int code = read_at(process, 0, &header, sizeof header);
    if (code < 0 || header.magic != SPILL_MAGIC) return 0;
    process->header = header;
    while (process->walked + sizeof head <= header.next && process->chunks < MOST_CHUNKS) {
        if (read_at(process, process->walked, &head, sizeof head) < 0) return 0;
        if (!is_sound(&head)) {
            if ((process->waits++ < PATIENCE && !process->has_ended) || skipped++ == MOST_SKIPPED) return 0;
            process->walked += SPILL_ALIGN;
            continue;
        }
        process->waits = 0;
        struct live_chunk chunk = {.offset = process->walked, .kind = head.kind};
        FORWARD(array_push(process->chunk, process->chunks, chunk));
        process->walked += ((uint64_t)head.bytes + SPILL_ALIGN - 1) / SPILL_ALIGN * SPILL_ALIGN;
    }
    return 0;
}

// How far the chunks of these kinds are written. From the last one to the first: if a later chunk of a stream is in
// use, the earlier one is complete. There is one stream of records.
static int measure(struct live *live, struct live_process *process, bool records) {
    const uint64_t key_of_records = UINT64_MAX;
    struct spill_chunk head;
    lookup_clear(&live->seen);
    for (size_t i = process->chunks; i-- > 0;) {
        struct live_chunk *chunk = &process->chunk[i];
        if (chunk->kind == CHUNK_COUNTERS || (chunk->kind == CHUNK_RECORDS) != records) continue;
        if (read_at(process, chunk->offset, &head, sizeof head) < 0 || !is_sound(&head) || head.used < chunk->read)
            continue;
        chunk->used = head.used;
        if (head.used == 0) continue; // it does not say yet to which stream it belongs
        // What the header says besides `used` may be older than that.
        if (!chunk->read && read_at(process, chunk->offset, &head, sizeof head) < 0) continue;
        chunk->stream = head.stream;
        uint64_t key = records ? key_of_records : chunk->stream;
        chunk->is_whole = lookup_find(&live->seen, key) != LOOKUP_NONE;
        FORWARD(lookup_set(&live->seen, key, 1));
    }
    return 0;
}

// The bytes of a chunk that are new; none if they cannot be read.
static int read_new(struct live *live, struct live_process *process, const struct live_chunk *chunk) {
    size_t len = chunk->used - chunk->read;
    live->payload.len = 0;
    RETURN_IF(!bytes_reserve(&live->payload, len ? len : 1), -ENOMEM);
    uint64_t from = chunk->offset + SPILL_CHUNK_HEADER_BYTES + chunk->read;
    if (read_at(process, from, live->payload.data, len) == 0) live->payload.len = len;
    live->left -= len < live->left ? len : live->left;
    return 0;
}

// --- records

static int set_text(char **text, const struct field *field) {
    free(*text);
    *text = strndup((const char *)field->data, field->len);
    return *text ? 0 : -ENOMEM;
}

static int read_process(struct live_process *process, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key == PROCESS_RANK && field.number) {
            process->has_rank = true;
            process->rank = (uint32_t)(field.number - 1);
        }
        if (field.key == PROCESS_HOST && field.is_bytes && field.len < sizeof process->host) {
            memcpy(process->host, field.data, field.len);
            process->host[field.len] = 0;
        }
        if (field.key == PROCESS_EXE && field.is_bytes && field.len) {
            const uint8_t *slash = memrchr(field.data, '/', field.len);
            if (slash) field.len -= (size_t)(slash + 1 - field.data), field.data = slash + 1;
            FORWARD(set_text(&process->program, &field));
        }
    }
    return 0;
}

// Beyond the limit files are not told apart.
static int find_file(struct live *live, const struct field *name, uint32_t *index) {
    uint64_t key = hash_bytes(0, name->data, name->len);
    *index = lookup_find(&live->by_name, key);
    if (*index != LOOKUP_NONE) return 0;
    *index = 0;
    if (live->files >= MOST_FILES) return 0;
    struct live_file file = {.name = strndup((const char *)name->data, name->len)};
    RETURN_IF(!file.name, -ENOMEM);
    *index = (uint32_t)live->files;
    FORWARD(lookup_set(&live->by_name, key, *index));
    return array_push(live->file, live->files, file);
}

static int read_file(struct live *live, struct live_process *process, struct fields_in body) {
    struct field f[FILE_NAME + 1];
    if (fields_by_key(body, f, FILE_NAME + 1) < 0 || !f[FILE_NAME].is_bytes) return 0;
    uint64_t number = f[FILE_ID].number;
    if (number >= MOST_PROCESS_FILES) return 0;
    while (process->files <= number) FORWARD(array_push(process->file, process->files, 0));
    return find_file(live, &f[FILE_NAME], &process->file[number]);
}

static int read_records(struct live *live, struct live_process *process) {
    struct fields_in records = fields_of(&live->payload), body;
    unsigned kind;
    while (fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_PROCESS) FORWARD(read_process(process, body));
        if (kind == RECORD_FILE) FORWARD(read_file(live, process, body));
    }
    return 0;
}

static int follow_records(struct live *live, struct live_process *process) {
    FORWARD(measure(live, process, true));
    for (size_t i = 0; i < process->chunks; i++) {
        struct live_chunk *chunk = &process->chunk[i];
        if (chunk->kind != CHUNK_RECORDS || chunk->used == chunk->read) continue;
        FORWARD(read_new(live, process, chunk));
        chunk->read = chunk->used;
        FORWARD(read_records(live, process));
    }
    return 0;
}

// --- events

static void add(struct live *live, struct live_process *process, uint32_t file, const struct live_sums *sums) {
    uint32_t index = file < process->files ? process->file[file] : 0;
    struct live_sums *all[] = {&live->total.sums, &process->flow.sums, &live->file[index].flow.sums};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        for (unsigned direction = 0; direction < 2; direction++) all[i]->bytes[direction] += sums->bytes[direction];
        all[i]->calls += sums->calls;
        all[i]->metadata += sums->metadata;
    }
}

// What other calls return is a descriptor, a position and the like.
static uint64_t moved_bytes(const struct stream_event *event, const struct call_info *call) {
    bool moves = (call->class == CLASS_READ || call->class == CLASS_WRITE) && call->traits & CALL_TRANSFERS;
    return moves && event->has_result && event->result > 0 ? (uint64_t)event->result : 0;
}

static void note_slow(struct live *live, const struct live_process *process, const struct stream_event *event) {
    const struct spill_header *header = &process->header;
    struct live_call call = {.call = (uint16_t)event->call,
                             .file = event->file < process->files ? process->file[event->file] : 0,
                             .pid = header->pid,
                             .has_rank = process->has_rank,
                             .rank = process->rank,
                             .bytes = moved_bytes(event, &call_table[event->call]),
                             .duration_ns = live_ns(header, event->duration)};
    size_t at = live->slow_count;
    while (at > 0 && live->slowest[at - 1].duration_ns < call.duration_ns) at--;
    if (at == LIVE_SLOWEST) return;
    call.start_ns = live_run_ns(live, header->start.epoch_ns) + live_ns(header, event->start - header->start.units);
    if (live->slow_count < LIVE_SLOWEST) live->slow_count++;
    memmove(&live->slowest[at + 1], &live->slowest[at], (live->slow_count - at - 1) * sizeof call);
    live->slowest[at] = call;
}

// Of an asynchronous transfer, only the time inside calls.
static uint64_t busy_units(const struct stream_event *event, const struct call_info *call) {
    bool is_known = event->attribute_mask & 1u << ATTRIBUTE_CALL_TIME;
    return call->traits & CALL_ASYNC && is_known ? event->attribute[ATTRIBUTE_CALL_TIME] : event->duration;
}

static void add_event(struct live *live, struct live_process *process, const struct stream_event *event) {
    unsigned id = event->call < call_table_len ? event->call : 0;
    const struct call_info *call = &call_table[id];
    if (event->parent_number == STREAM_NO_PARENT) {
        if (!process->header.counts_all) process->io_units += busy_units(event, call);
        if (call_names[id]) note_slow(live, process, event);
    }
    if (process->header.counts_all || (call->layer != LAYER_POSIX && call->layer != LAYER_STDIO)) return;
    struct live_sums sums = {.calls = 1};
    sums.metadata = call->class == CLASS_OPEN || call->class == CLASS_CLOSE || call->class == CLASS_META;
    sums.bytes[call->class == CLASS_WRITE] = moved_bytes(event, call);
    add(live, process, event->file, &sums);
}

static int begin_decoder(const struct live_process *process, const struct live_chunk *chunk, const struct bytes *data,
                         struct stream_decoder *d) {
    struct spill_chunk head;
    FORWARD(read_at(process, chunk->offset, &head, sizeof head));
    struct stream_start start = {.stream = head.stream,
                                 .tid = head.tid,
                                 .first_number = head.first_number,
                                 .base = head.base,
                                 .tick = head.tick};
    stream_decoder_init(d, &start, data->data, data->len);
    return 0;
}

// After damage nothing more is read from the chunk.
static int follow_events(struct live *live, struct live_process *process, struct live_chunk *chunk) {
    struct stream_decoder *d = chunk->decoder;
    struct stream_event event;
    bool is_first = chunk->read == 0;
    FORWARD(read_new(live, process, chunk));
    chunk->read = chunk->used;
    if (is_first && (d = malloc(sizeof *d)) && begin_decoder(process, chunk, &live->payload, d) < 0) free(d), d = NULL;
    if (!d) return 0;
    d->at = live->payload.data;
    d->end = live->payload.data + live->payload.len;
    int more;
    while ((more = stream_decode(d, &event)) > 0) add_event(live, process, &event);
    if (more < 0) live->damaged_bytes += (uint64_t)(d->end - d->at);
    if (more < 0) free(d), d = NULL;
    chunk->decoder = d;
    return 0;
}

// --- counters, which go on after the end of a trace

static struct live_sums sums_of(const struct counters *counters) {
    const uint64_t *value = counters->value;
    uint64_t metadata = value[COUNTER_OPENS] + value[COUNTER_STATS] + value[COUNTER_RENAME_SOURCES];
    return (struct live_sums){.bytes = {value[COUNTER_BYTES_READ], value[COUNTER_BYTES_WRITTEN]},
                              .calls = metadata + value[COUNTER_READS] + value[COUNTER_WRITES] + value[COUNTER_SEEKS],
                              .metadata = metadata};
}

// A process may be writing a value: what is less than before is looked at again the next time.
static int add_counted(struct live *live, struct live_process *process, size_t place,
                       const struct spill_counters *entry) {
    while (process->counted_count <= place)
        FORWARD(array_push(process->counted, process->counted_count, (struct live_sums){0}));
    if (entry->file == 0 || (entry->layer != LAYER_POSIX && entry->layer != LAYER_STDIO)) return 0;
    struct live_sums *old = &process->counted[place], now = sums_of(&entry->counters);
    bool is_less = now.bytes[0] < old->bytes[0] || now.bytes[1] < old->bytes[1] || now.calls < old->calls ||
                   now.metadata < old->metadata;
    if (is_less) return 0;
    struct live_sums more = {.bytes = {now.bytes[0] - old->bytes[0], now.bytes[1] - old->bytes[1]},
                             .calls = now.calls - old->calls,
                             .metadata = now.metadata - old->metadata};
    *old = now;
    add(live, process, entry->file, &more);
    return 0;
}

static int follow_counters(struct live *live, struct live_process *process) {
    struct spill_chunk head;
    struct spill_counters entry;
    uint64_t units = process->dropped_units;
    size_t place = 0;
    for (size_t i = 0; i < process->chunks; i++) {
        struct live_chunk *chunk = &process->chunk[i];
        if (read_at(process, chunk->offset, &head, sizeof head) < 0 || !is_sound(&head)) continue;
        units += head.tally.io_units;
        if (chunk->kind != CHUNK_COUNTERS) continue;
        *chunk = (struct live_chunk){.offset = chunk->offset, .kind = chunk->kind, .used = head.used};
        FORWARD(read_new(live, process, chunk));
        for (size_t at = 0; live->payload.len - at >= sizeof entry; at += sizeof entry) {
            memcpy(&entry, live->payload.data + at, sizeof entry);
            FORWARD(add_counted(live, process, place++, &entry));
        }
    }
    if (units > process->untraced_units) process->io_units += units - process->untraced_units;
    if (units > process->untraced_units) process->untraced_units = units;
    return 0;
}

// --- all

static void drop_whole_chunks(struct live_process *process) {
    size_t kept = 0;
    for (size_t i = 0; i < process->chunks; i++) {
        struct live_chunk chunk = process->chunk[i];
        if (chunk.is_whole && chunk.read == chunk.used) {
            struct spill_chunk head;
            if (read_at(process, chunk.offset, &head, sizeof head) == 0) process->dropped_units += head.tally.io_units;
            free(chunk.decoder);
            continue;
        }
        process->chunk[kept++] = chunk;
    }
    process->chunks = kept;
}

// A process describes a file before the first event that uses it. So how far the events go is read first, and then all
// records.
int live_follow_process(struct live *live, struct live_process *process) {
    FORWARD(find_chunks(process));
    FORWARD(measure(live, process, false));
    FORWARD(find_chunks(process));
    FORWARD(follow_records(live, process));
    for (size_t i = 0; i < process->chunks; i++) {
        struct live_chunk *chunk = &process->chunk[i];
        if (chunk->kind != CHUNK_EVENTS || chunk->used == chunk->read) continue;
        if (live->left == 0) {
            live->is_behind = true;
            break;
        }
        FORWARD(follow_events(live, process, chunk));
    }
    if (process->header.trace_ended || process->header.counts_all) FORWARD(follow_counters(live, process));
    drop_whole_chunks(process);
    return 0;
}

void live_forget_process(struct live_process *process) {
    for (size_t i = 0; i < process->chunks; i++) free(process->chunk[i].decoder);
    free(process->chunk);
    free(process->file);
    free(process->counted);
    process->chunk = NULL;
    process->file = NULL;
    process->counted = NULL;
    process->chunks = process->files = process->counted_count = 0;
    if (process->fd >= 0) close(process->fd);
    process->fd = -1;
}
