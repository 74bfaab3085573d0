#include "log/comm.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/cursor.h"

// What is under way: a stream's blocks follow each other, and what one ends with belongs to the next one's first event.
struct walk {
    struct log *log;
    struct log_filter filter;
    log_comm_take *take;
    void *context;
    struct bytes raw;
    const struct log_place *place; // the latest block of the stream; NULL before the first
    struct stream_event left;      // its comm waits for the stream's next event
};

static int compare_places(const void *a, const void *b)
{
    const struct log_place *left = *(const struct log_place *const *)a, *right = *(const struct log_place *const *)b;
    if (left->stream != right->stream) return left->stream < right->stream ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void add_comm(struct stream_event *sum, uint32_t mask, const struct stream_comm comm[STREAM_COMM_KINDS])
{
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!(mask & 1u << kind)) continue;
        if (!(sum->comm_mask & 1u << kind)) sum->comm[kind] = (struct stream_comm){0};
        sum->comm[kind].count += comm[kind].count;
        sum->comm[kind].bytes += comm[kind].bytes;
        sum->comm[kind].units += comm[kind].units;
    }
    sum->comm_mask |= mask;
}

static int give(const struct walk *walk, const struct stream_event *raw, bool is_event)
{
    const struct log_process *process = walk->place->process;
    const struct log_filter *filter = &walk->filter;
    struct log_comm comm = {.process = process,
                            .has_thread = true,
                            .tid = raw->tid,
                            .tick = raw->tick,
                            .has_event = is_event || raw->comm_number != STREAM_NO_PARENT};
    comm.start_ns = clock_map_ns(&process->clock, raw->start);
    if (raw->comm_number != STREAM_NO_PARENT) {
        comm.event = lookup_pair(walk->place->stream, (uint32_t)raw->comm_number);
    } else if (is_event) {
        comm.event = log_event_id(walk->log, process, walk->place->stream, raw);
    }
    if (filter->has_from && comm.start_ns < filter->from_ns) return 0;
    if (filter->has_to && comm.start_ns > filter->to_ns) return 0;
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!(raw->comm_mask & 1u << kind)) continue;
        comm.kind = (enum stream_comm_kind)kind;
        comm.count = raw->comm[kind].count;
        comm.bytes = raw->comm[kind].bytes;
        comm.time_ns = clock_map_scale(&process->clock, (int64_t)raw->comm[kind].units);
        FORWARD(walk->take(&comm, walk->context));
    }
    return 0;
}

// What came behind the stream's last event.
static int end_stream(struct walk *walk)
{
    int code = walk->place && walk->left.comm_mask ? give(walk, &walk->left, false) : 0;
    walk->left.comm_mask = 0;
    walk->place = NULL;
    return code;
}

static int walk_events(struct walk *walk, struct stream_decoder *decoder, uint64_t *decoded)
{
    struct stream_event event;
    int more;
    while ((more = stream_decode(decoder, &event)) > 0) {
        ++*decoded;
        if (walk->left.comm_mask) {
            if (!event.comm_mask) event.comm_number = STREAM_NO_PARENT;
            if (walk->left.comm_number != STREAM_NO_PARENT) event.comm_number = walk->left.comm_number;
            add_comm(&event, walk->left.comm_mask, walk->left.comm);
            walk->left.comm_mask = 0;
        }
        if (event.comm_mask) FORWARD(give(walk, &event, true));
    }
    if (!walk->left.comm_mask || walk->left.comm_number == STREAM_NO_PARENT)
        walk->left.comm_number = decoder->comm_number;
    add_comm(&walk->left, decoder->comm_mask, decoder->comm);
    walk->left.tid = decoder->tid;
    walk->left.tick = decoder->tick;
    walk->left.start = decoder->clock;
    return more < 0 ? 1 : 0;
}

static int walk_block(struct walk *walk, const struct log_place *place)
{
    struct stream_decoder decoder;
    struct log_block block;
    uint64_t decoded = 0;
    if (walk->place && walk->place->stream != place->stream) FORWARD(end_stream(walk));
    int code = log_read_events(walk->log, place, &block, &walk->raw, &decoder);
    if (code < 0) return place->damaged ? 0 : code;
    walk->place = place;
    code = walk_events(walk, &decoder, &decoded);
    FORWARD(code);
    if (code > 0) log_note_damage(walk->log, place, place->events > decoded ? place->events - decoded : 0);
    return 0;
}

// Blocks are not chosen by time: what one ends with may belong to a later event.
static int walk_all(struct walk *walk)
{
    const struct log *log = walk->log;
    struct log_sieve sieve = {.filter = walk->filter};
    sieve.filter.has_from = sieve.filter.has_to = false;
    const struct log_place **places = malloc((log->places.count + 1) * sizeof *places);
    RETURN_IF(!places, -ENOMEM);
    size_t count = 0;
    for (size_t i = 0; i < log->places.count; i++) {
        if (log_sieve_place(&sieve, log_place_at(log, i))) places[count++] = log_place_at(log, i);
    }
    if (count > 1) qsort(places, count, sizeof *places, compare_places);
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) code = walk_block(walk, places[i]);
    if (code == 0) code = end_stream(walk);
    free(places);
    return code;
}

static int give_untraced(const struct walk *walk, const struct log_process *process)
{
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        const struct log_comm_sum *sum = &process->comm[kind];
        if (!sum->count) continue;
        const struct log_comm comm = {
            .process = process,
            .kind = (enum stream_comm_kind)kind,
            .count = sum->count,
            .bytes = sum->bytes,
            .time_ns = sum->time_ns,
        };
        FORWARD(walk->take(&comm, walk->context));
    }
    return 0;
}

static int give_all_untraced(const struct walk *walk)
{
    if (walk->filter.has_from || walk->filter.has_to) return 0;
    for (size_t i = 0; i < log_process_count(walk->log); i++) {
        const struct log_process *process = log_process_at(walk->log, i);
        if (log_filter_has_process(&walk->filter, process)) FORWARD(give_untraced(walk, process));
    }
    return 0;
}

int log_comm(struct log *log, const struct log_filter *filter, log_comm_take *take, void *context)
{
    struct walk walk = {.log = log, .take = take, .context = context};
    if (filter) walk.filter = *filter;
    int code = walk_all(&walk);
    if (code == 0) code = give_all_untraced(&walk);
    bytes_free(&walk.raw);
    return code;
}
