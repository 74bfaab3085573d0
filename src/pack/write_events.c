// Decodes each chunk of events, sums it up, and writes it unchanged as a block of the log.
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fmt/counters.h"
#include "fmt/stream.h"
#include "pack/private.h"

// What one pass over a chunk's events finds. Times are clock units.
struct chunk_facts {
    uint32_t events;
    uint64_t earliest;
    uint64_t latest;
    bool sorted;
    bool has_comm;     // communication after the last event
    size_t good_bytes; // up to the end of the last event that could be read
    uint64_t moved[2]; // bytes read and written
    uint64_t counted[2];
    struct log_summary summary;
};

static const struct call_info *call_of(uint32_t id) {
    static const struct call_info unknown = {0};
    return id < call_table_len ? &call_table[id] : &unknown;
}

// Higher layers count the same bytes again.
static bool is_lowest(unsigned layer) { return layer == LAYER_POSIX || layer == LAYER_STDIO; }

static inline void add_event(struct chunk_facts *facts, const struct call_info *call, uint64_t start, uint64_t duration,
                             uint64_t moved) {
    unsigned class = call->class < CLASS_COUNT ? call->class : CLASS_NONE;
    uint64_t end = start + duration;
    facts->events++;
    if (start < facts->earliest) facts->earliest = start;
    if (end > facts->latest) facts->latest = end;
    log_summary_add(&facts->summary, class, duration, moved);
    if (!moved || !is_lowest(call->layer) || (class != CLASS_READ && class != CLASS_WRITE)) return;
    facts->moved[class == CLASS_WRITE] += moved;
    if (call->layer == LAYER_POSIX && !(call->traits & CALL_UNCOUNTED)) facts->counted[class == CLASS_WRITE] += moved;
}

// A call's record comes before its first event, so that a log that is cut off has the names.
static void write_call_once(struct pack *pack, uint32_t id) {
    if (id < call_table_len && !pack->call_written[id] && call_names[id]) pack_write_call(pack, id);
}

// The plain events that come next. Most events are plain.
static void add_plain(struct pack *pack, struct stream_decoder *decoder, uint64_t *last_start,
                      struct chunk_facts *facts) {
    struct stream_plain plain;
    while (stream_decode_plain(decoder, &plain)) {
        const struct stream_slot_state *slot = &decoder->slot[plain.slot];
        bool moves = slot->traits & CALL_TRANSFERS && slot->size <= INT64_MAX;
        if (plain.start < *last_start) facts->sorted = false;
        *last_start = plain.start;
        add_event(facts, call_of(slot->call), plain.start, plain.duration, moves ? slot->size : 0);
        write_call_once(pack, slot->call);
    }
}

// Only good events go into the log: a damaged chunk ends before the first bad one. With a process, its events may have
// caused calls of a stack.
static int decode_chunk(struct pack *pack, const struct pack_process *process, const struct spill_piece *piece,
                        struct chunk_facts *facts) {
    const struct bytes *payload = &pack->payload;
    struct stream_start start = {
        .stream = piece->chunk.stream,
        .tid = piece->chunk.tid,
        .first_number = piece->chunk.first_number,
        .base = piece->chunk.base,
        .tick = piece->chunk.tick,
    };
    struct stream_decoder decoder;
    struct stream_event event;
    stream_decoder_init(&decoder, &start, payload->data, payload->len);
    *facts = (struct chunk_facts){.earliest = UINT64_MAX, .sorted = true};
    uint64_t last_start = 0;
    bool has_join = process && pack_has_join(pack);
    int more;
    for (;;) {
        if (!has_join) add_plain(pack, &decoder, &last_start, facts);
        facts->good_bytes = (size_t)(decoder.at - payload->data);
        if ((more = stream_decode(&decoder, &event)) <= 0) break;
        facts->good_bytes = (size_t)(decoder.at - payload->data);
        if (event.start < last_start || event.parent_number != STREAM_NO_PARENT) facts->sorted = false;
        last_start = event.start;
        const struct call_info *call = call_of(event.call);
        add_event(facts, call, event.start, event.duration, stream_moved(call->traits, &event));
        write_call_once(pack, event.call);
        if (!has_join) continue;
        FORWARD(pack_join_code(pack, pack_tie_event(pack, process, &event)));
        has_join = pack_has_join(pack); // it ends where memory does
    }
    if (more < 0) return 0;
    facts->good_bytes = payload->len;
    facts->has_comm = decoder.comm_mask || decoder.tick != piece->chunk.tick;
    return 0;
}

static uint64_t to_ns(const struct clock_map *clock, uint64_t units) {
    int64_t ns = clock_map_ns(clock, units);
    return ns > 0 ? (uint64_t)ns : 0;
}

int pack_write_chunk(struct pack *pack, struct pack_process *process, const struct spill_piece *piece,
                     enum log_block_flag flags) {
    struct chunk_facts facts;
    bool is_below = flags & BLOCK_BELOW;
    FORWARD(decode_chunk(pack, pack_has_join(pack) && !is_below ? process : NULL, piece, &facts));
    if (facts.good_bytes < pack->payload.len) process->damaged_bytes += pack->payload.len - facts.good_bytes;
    if (facts.events == 0) {
        if (!facts.has_comm) return 0;
        facts.earliest = facts.latest = piece->chunk.base;
    }

    struct log_block block = {
        .type = BLOCK_EVENTS,
        .stream = lookup_find(&process->streams, piece->chunk.stream),
        .tid = piece->chunk.tid,
        .events = facts.events,
        .flags = flags | (facts.sorted ? BLOCK_SORTED : 0u),
        .first_number = piece->chunk.first_number,
        .base = piece->chunk.base,
        .tick = piece->chunk.tick,
        .start_ns = to_ns(&process->clock, facts.earliest),
        .end_ns = to_ns(&process->clock, facts.latest),
    };
    if (block.end_ns < block.start_ns) block.end_ns = block.start_ns;
    facts.summary.process = process->id;
    log_summary_end(&facts.summary, &process->clock);
    if (!is_below) pack->result.events += facts.events;
    for (unsigned i = 0; i < 2 && !process->spill.header.counts_all; i++) {
        pack->result.bytes[i] += facts.moved[i];
        pack->result.counted[i] += facts.counted[i];
    }
    return log_writer_events(&pack->writer, &block, pack->payload.data, facts.good_bytes, &facts.summary);
}

static int write_chunk(struct pack *pack, struct pack_process *process, const struct spill_piece *piece) {
    return pack_write_chunk(pack, process, piece, 0);
}

static void write_entry(struct pack *pack, const struct pack_process *process, struct spill_counters *entry) {
    if (entry->counters.sizes.used > COUNTERS_CANDIDATES) entry->counters.sizes.used = COUNTERS_CANDIDATES;
    if (entry->counters.strides.used > COUNTERS_CANDIDATES) entry->counters.strides.used = COUNTERS_CANDIDATES;
    for (unsigned i = 0; i < 2 && is_lowest(entry->layer); i++) {
        uint64_t moved = entry->counters.value[COUNTER_BYTES_READ + i];
        pack->result.bytes[i] += moved;
        pack->result.counted[i] += entry->layer == LAYER_POSIX ? moved : 0;
    }
    counters_to_ns(&entry->counters, &process->clock);
    counters_put(log_writer_room(&pack->writer, COUNTERS_MAX_RECORD), process->id, entry);
    log_writer_added(&pack->writer);
}

// A rank that could not hand its counters over has those from before and from after the attempt, each in its place.
static int join_entry(struct pack_process *process, const struct spill_counters *entry) {
    uint64_t key = lookup_pair(entry->layer, entry->file);
    uint32_t place = lookup_find(&process->place_of, key);
    if (place != LOOKUP_NONE) {
        counters_merge(&process->joined[place].counters, &entry->counters, NULL);
        return 0;
    }
    FORWARD(lookup_set(&process->place_of, key, (uint32_t)process->joined_count));
    return array_push(process->joined, process->joined_count, *entry);
}

static int write_counters(struct pack *pack, struct pack_process *process, const struct spill_piece *piece) {
    (void)piece;
    struct spill_counters entry;
    const struct bytes *payload = &pack->payload;
    bool is_twice = process->spill.header.part && !pack_has_handed(pack, process);
    for (size_t at = 0; payload->len - at >= sizeof entry; at += sizeof entry) {
        memcpy(&entry, payload->data + at, sizeof entry);
        if (entry.file == 0) continue;
        if (is_twice)
            FORWARD(join_entry(process, &entry));
        else
            write_entry(pack, process, &entry);
    }
    return 0;
}

typedef int write_piece(struct pack *pack, struct pack_process *process, const struct spill_piece *piece);

static int write_pieces(struct pack *pack, struct pack_process *process, enum spill_chunk_kind kind,
                        write_piece *write) {
    const struct pack_options *options = pack->options;
    for (size_t i = 0; i < process->spill.count; i++) {
        const struct spill_piece *piece = &process->spill.piece[i];
        if (piece->chunk.kind != kind || pack_is_handed(pack, process, piece)) continue;
        int code = spill_read_payload(&process->spill, piece, &pack->payload);
        RETURN_IF(code == -ENOMEM, code);
        if (code < 0) {
            process->damaged_bytes += piece->chunk.used;
            continue;
        }
        FORWARD(write(pack, process, piece));
        pack->done_bytes += piece->chunk.used;
        if (options && options->progress) {
            options->progress(options->progress_context, pack->done_bytes, pack->all_bytes);
        }
    }
    return 0;
}

int pack_write_events(struct pack *pack, struct pack_process *process) {
    return write_pieces(pack, process, CHUNK_EVENTS, write_chunk);
}

int pack_write_counters(struct pack *pack, struct pack_process *process) {
    FORWARD(write_pieces(pack, process, CHUNK_COUNTERS, write_counters));
    for (size_t i = 0; i < process->joined_count; i++) write_entry(pack, process, &process->joined[i]);
    uint64_t damaged = process->damaged_bytes + process->spill.damaged_bytes;
    if (damaged) pack_write_loss(pack, process, LOSS_DAMAGED, 0, damaged);
    pack->result.damaged_bytes += damaged;
    return 0;
}
