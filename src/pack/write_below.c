// Writes the calls below the system call: after the events that caused them, layer by layer, so that a call's parent is
// known when its turn comes. A process has one stream of them.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "fmt/stream_put.h"
#include "pack/private.h"

enum { CHUNK_BYTES = 128 << 10 };

struct pack_below {
    struct stream_writer writer;
    struct spill_piece piece;
    uint32_t tid;
    uint32_t events; // in the chunk
    uint8_t payload[CHUNK_BYTES];
};

// --- the stream of a process

static uint32_t unused_stream(const struct pack_process *process) {
    uint32_t stream = 1;
    while (lookup_find(&process->streams, stream) != LOOKUP_NONE) stream++;
    return stream;
}

static int flush(struct pack *pack, struct pack_process *process, struct pack_below *below) {
    if (!below->events) return 0;
    below->events = 0;
    pack->payload.len = 0;
    FORWARD(bytes_append(&pack->payload, below->payload, below->piece.chunk.used));
    return pack_write_chunk(pack, process, &below->piece, BLOCK_BELOW);
}

static void begin(struct pack_below *below, uint64_t start, uint32_t tid) {
    struct spill_chunk *chunk = &below->piece.chunk;
    chunk->tid = below->tid = tid;
    chunk->first_number = below->writer.next_number;
    chunk->base = start;
    chunk->used = 0;
    stream_put_start(&below->writer, below->payload, CHUNK_BYTES, &chunk->used, start);
}

// The stream, with room for an event; NULL without memory.
static int stream_with_room(struct pack *pack, struct pack_process *process, uint64_t start, uint32_t tid,
                            struct pack_below **out) {
    struct pack_below *below = pack->stack->below[process->id - 1];
    if (!below) {
        below = pack->stack->below[process->id - 1] = calloc(1, sizeof *below);
        RETURN_IF(!below, -ENOMEM);
        below->piece.chunk.stream = unused_stream(process);
        FORWARD(pack_add_stream(pack, process, below->piece.chunk.stream));
    }
    *out = below;
    if (below->events && stream_put_full(&below->writer)) FORWARD(flush(pack, process, below));
    if (!below->events) begin(below, start, tid);
    return 0;
}

// --- one call

static unsigned slot_for(struct stream_writer *writer, uint32_t call, uint32_t file) {
    uint64_t key = ((uint64_t)call << 32 | file) + 1;
    unsigned slot = (unsigned)(hash_add(0, key) % STREAM_SLOTS);
    if (writer->slot[slot].key != key) stream_put_slot(writer, slot, key, call, file, 0, 0, 0);
    return slot;
}

static int put(struct pack *pack, const struct pack_probe *probe, const struct probe_record *record,
               const struct pack_tie *above, struct pack_tie *tie) {
    const struct pack_stack *stack = pack->stack;
    const struct probe_header *header = &probe->file.header;
    const struct pack_cause *cause = &stack->root[tie->root - 1].cause;
    uint32_t call = stack->call[header->layer - LAYER_CLIENT][record->operation];
    unsigned traits = call_table[call].traits;
    struct pack_below *below;
    FORWARD(stream_with_room(pack, &pack->process[cause->process - 1], tie->from, cause->tid, &below));
    RETURN_IF(below->writer.next_number >= UINT32_MAX, ERR_LIMIT);
    if (below->tid != cause->tid) stream_put_control(&below->writer, KIND_THREAD, &(uint64_t){cause->tid}, 1);
    below->tid = cause->tid;
    unsigned slot = slot_for(&below->writer, call, cause->file);
    uint64_t size = traits & CALL_HAS_SIZE ? record->size : 0;
    int64_t expected = traits & CALL_TRANSFERS ? (int64_t)size : 0;
    struct stream_put_extra extra = {0};
    if (record->error) {
        extra.flags |= EVENT_ERROR;
        extra.error = record->error;
    } else if (record->result != expected) {
        extra.flags |= EVENT_RESULT;
        extra.result = record->result;
    }
    stream_put_attribute(&extra, ATTRIBUTE_PARENT_STREAM,
                         header->layer == LAYER_CLIENT ? cause->stream : below->piece.chunk.stream);
    stream_put_attribute(&extra, ATTRIBUTE_PARENT_NUMBER, above->number);
    if (header->server != PROBE_NO_SERVER) stream_put_attribute(&extra, ATTRIBUTE_SERVER, header->server);
    if (record->flags) stream_put_attribute(&extra, ATTRIBUTE_FLAGS, record->flags);
    tie->number = (uint32_t)below->writer.next_number;
    below->events++;
    stream_put_extended(&below->writer, slot, traits & CALL_HAS_OFFSET ? record->offset : 0, size, tie->from, tie->to,
                        &extra);
    return 0;
}

// --- its parent

// What has none is not the job's.
static struct pack_tie find_tie(const struct pack_probe *probe, uint64_t index) {
    size_t low = 0, high = probe->ties;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (probe->tie[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < probe->ties && probe->tie[low].index == index ? probe->tie[low] : (struct pack_tie){0};
}

struct pack_tie pack_parent(const struct pack_stack *stack, const struct pack_probe *probe, uint64_t parent) {
    uint64_t place = probe_id_place(parent);
    if (!parent) return (struct pack_tie){.number = UNTIED_INTERNAL};
    uint32_t at = lookup_find(&stack->probe_of, probe_id_number(parent));
    if (at == LOOKUP_NONE) return (struct pack_tie){.number = UNTIED_LOST};
    const struct pack_probe *above = &stack->probe[at];
    const struct probe_header *header = &above->file.header;
    if (header->layer >= probe->file.header.layer || place < header->first) return (struct pack_tie){0};
    if (place - header->first < above->file.count) return find_tie(above, place - header->first);
    return (struct pack_tie){.number = place < header->next ? UNTIED_LOST : UNTIED_NONE};
}

// The event that caused a call of the client.
static struct pack_tie cause_of(const struct pack_stack *stack, struct pack_probe *probe, uint64_t index) {
    while (probe->next_root < probe->roots_end && stack->root[probe->next_root].index < index) probe->next_root++;
    if (probe->next_root == probe->roots_end) return (struct pack_tie){0};
    const struct pack_root *root = &stack->root[probe->next_root];
    if (root->index != index) return (struct pack_tie){0};
    if (!root->cause.process) return (struct pack_tie){.number = root->reason};
    return (struct pack_tie){.root = (uint32_t)probe->next_root + 1,
                             .number = root->cause.number,
                             .from = root->cause.from,
                             .to = root->cause.to};
}

// Length of a time; one out of range (damage) becomes the nearest limit.
static int64_t units_of(const struct clock_map *clock, int64_t ns) {
    const double limit = (double)(INT64_MAX / 4), units = (double)ns / clock_map_rate(clock);
    return units > limit ? INT64_MAX / 4 : units < -limit ? -(INT64_MAX / 4) : (int64_t)units;
}

static uint64_t to_units(const struct clock_map *clock, int64_t ns) {
    return clock->origin_units + (uint64_t)units_of(clock, ns - clock->origin_ns);
}

static uint64_t within(uint64_t units, const struct pack_tie *above) {
    return units < above->from ? above->from : units > above->to ? above->to : units;
}

// The call's times in the clock of its process, within those of the call above. Clocks differ a little; a call that
// sticks out farther went on by itself.
static bool set_times(const struct pack *pack, const struct pack_probe *probe, const struct probe_record *record,
                      const struct pack_tie *above, struct pack_tie *tie) {
    const struct pack_stack *stack = pack->stack;
    const struct pack_process *process = &pack->process[stack->root[above->root - 1].cause.process - 1];
    int64_t slack_ns = PACK_SAME_CLOCK_NS;
    if (probe->is_other_clock) slack_ns += 2 * (int64_t)stack->clock[probe->file.header.server].fit.error_ns;
    uint64_t slack = (uint64_t)units_of(&process->clock, slack_ns);
    uint64_t from = to_units(&process->clock, pack_probe_ns(stack, probe, record->start_ns));
    uint64_t to = to_units(&process->clock, pack_probe_ns(stack, probe, record->end_ns));
    if (to < from || from + slack < above->from || to > above->to + slack) return false;
    tie->from = within(from, above);
    tie->to = within(to, above);
    return true;
}

static void count(struct pack_stack *stack, const struct pack_probe *probe, const struct probe_record *record,
                  unsigned reason) {
    struct pack_sum *sum = &stack->sum[probe->file.header.layer - LAYER_CLIENT][reason];
    sum->calls++;
    if (record->result <= 0) return;
    if (record->operation == PROBE_readv) sum->bytes[0] += (uint64_t)record->result;
    if (record->operation == PROBE_writev) sum->bytes[1] += (uint64_t)record->result;
}

static int note_change(struct pack *pack, const struct pack_probe *probe, const struct probe_record *record) {
    struct pack_stack *stack = pack->stack;
    int64_t ns = pack_probe_ns(stack, probe, record->start_ns);
    struct pack_link_change change = {
        .server = probe->file.header.server,
        .is_up = record->operation == PROBE_connected,
        .ns = ns > 0 ? (uint64_t)ns : 0,
    };
    return array_push(stack->change, stack->change_count, change);
}

static int write_record(struct pack *pack, struct pack_probe *probe, uint64_t index,
                        const struct probe_record *record) {
    struct pack_stack *stack = pack->stack;
    if (!probe_record_is_good(record)) {
        if (record->operation != PROBE_none) stack->damaged_bytes += sizeof *record;
        return 0;
    }
    if (record->operation >= PROBE_operations) return note_change(pack, probe, record);
    bool is_client = probe->file.header.layer == LAYER_CLIENT;
    struct pack_tie above = is_client ? cause_of(stack, probe, index) : pack_parent(stack, probe, record->parent);
    struct pack_tie tie = {.root = above.root, .number = above.root ? UNTIED_NONE : above.number};
    if (above.root && !record->end_ns) tie = (struct pack_tie){.number = UNTIED_UNFINISHED};
    if (tie.root && probe->is_other_clock && !stack->clock[probe->file.header.server].known)
        tie = (struct pack_tie){.number = UNTIED_CLOCK};
    if (tie.root && !set_times(pack, probe, record, &above, &tie)) tie = (struct pack_tie){.number = UNTIED_LATE};
    if (!tie.root && !tie.number) return 0; // not the job's
    unsigned reason = tie.root ? UNTIED_NONE : tie.number;
    if (tie.root) FORWARD(put(pack, probe, record, &above, &tie));
    count(stack, probe, record, reason);
    tie.index = index;
    tie.is_given_up = record->error == ENOTCONN || record->error == ETIMEDOUT;
    return probe->file.header.layer == LAYER_DISK ? 0 : array_push(probe->tie, probe->ties, tie);
}

static int write_probe(struct pack *pack, struct pack_probe *probe) {
    const struct pack_options *options = pack->options;
    FORWARD(pack_align_server(pack, probe));
    FORWARD(pack_each_record(pack, probe, write_record));
    pack->stack->damaged_bytes += probe->unread * sizeof(struct probe_record);
    pack->done_bytes += probe->file.count * sizeof(struct probe_record);
    if (options && options->progress) options->progress(options->progress_context, pack->done_bytes, pack->all_bytes);
    return 0;
}

int pack_write_below(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    if (!pack_has_join(pack)) return 0;
    int code = pack_tie_rest(pack);
    for (size_t i = 0; i < stack->probe_count && code == 0; i++) code = write_probe(pack, &stack->probe[i]);
    for (size_t i = 0; i < pack->process_count; i++) { // also what was written before a failure
        int flushed = stack->below[i] ? flush(pack, &pack->process[i], stack->below[i]) : 0;
        if (code == 0) code = flushed;
    }
    return pack_join_code(pack, code);
}
