#include "log/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

struct log_block_due {
    const struct log_place *place;
    size_t stream; // index in the source's table
    bool is_done;  // it has been read
    bool is_good;  // and had no damage at its start
    struct log_comm_notes comm;
};

// Blocks of a stream may end in another order than they were written: a long call begins early and is written late.
// The communication at the end of a block belongs to the first event of the next written block.
struct log_stream_comm {
    size_t at, end; // blocks in `due`, while it is sorted by stream
    size_t *order;  // the stream's blocks as written: indices in `due`
    struct log_comm_note behind;
    struct stream_partner *partner; // of `behind`: STREAM_MAX_PARTNERS, allocated on first use
    uint32_t partners;
    uint64_t announced;
    const struct log_place *last; // NULL before the first good block
};

// --- batches

enum { CACHE_LINE = 64 }; // bytes

int log_batch_init(struct log_batch *batch, size_t events) {
    size_t bytes = (events * sizeof *batch->event + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    *batch = (struct log_batch){.room = events};
    batch->event = aligned_alloc(CACHE_LINE, bytes); // which wants a multiple
    if (batch->event) memset(batch->event, 0, bytes);
    return batch->event ? 0 : -ENOMEM;
}

void log_batch_free(struct log_batch *batch) {
    free(batch->event);
    free(batch->attribute);
    free(batch->comm);
    free(batch->partner);
}

// --- communication

static void add_comm(struct log_comm_note *sum, const struct log_comm_note *more) {
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!(more->mask & 1u << kind)) continue;
        if (!(sum->mask & 1u << kind)) sum->comm[kind] = (struct stream_comm){0};
        sum->comm[kind].count += more->comm[kind].count;
        sum->comm[kind].bytes += more->comm[kind].bytes;
        sum->comm[kind].units += more->comm[kind].units;
    }
    sum->mask |= more->mask;
}

static int add_partners(struct log_stream_comm *stream, const struct log_comm_notes *notes,
                        const struct log_comm_note *note) {
    if (!note->partner_count) return 0;
    if (!stream->partner) stream->partner = malloc(STREAM_MAX_PARTNERS * sizeof *stream->partner);
    RETURN_IF(!stream->partner, -ENOMEM);
    for (uint32_t i = 0; i < note->partner_count; i++)
        stream_add_partner(stream->partner, &stream->partners, notes->partner[note->partner_first + i]);
    return 0;
}

static int give_comm(struct log_batch *batch, const struct log_place *place, const struct log_comm_note *note,
                     bool has_event, const struct stream_partner *partner, uint32_t partners) {
    const struct clock_map *clock = &place->process->clock;
    for (uint32_t i = 0; i < partners; i++) FORWARD(array_push(batch->partner, batch->partners, partner[i]));
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!(note->mask & 1u << kind)) continue;
        FORWARD(array_room(batch->comm, batch->comms));
        batch->comm[batch->comms++] = (struct log_comm){
            .process = place->process,
            .has_thread = true,
            .tid = note->tid,
            .tick = note->tick,
            .has_event = has_event,
            .event = has_event ? note->event : 0,
            .start_ns = clock_map_ns(clock, note->start),
            .kind = (enum stream_comm_kind)kind,
            .count = note->comm[kind].count,
            .bytes = note->comm[kind].bytes,
            .time_ns = clock_map_scale(clock, (int64_t)note->comm[kind].units),
            .partner_count = partners,
        };
        partners = 0;
    }
    return 0;
}

// When the batch is full: its lists do not move any more.
static void link_partners(struct log_batch *batch) {
    const struct stream_partner *partner = batch->partner;
    for (size_t i = 0; i < batch->comms; i++) {
        batch->comm[i].partners = partner;
        if (batch->comm[i].partner_count) partner += batch->comm[i].partner_count;
    }
}

static int join_block(struct log_stream_comm *stream, struct log_block_due *block, struct log_batch *batch) {
    struct log_comm_notes *notes = &block->comm;
    if (notes->count && stream->behind.mask) {
        if (stream->announced != STREAM_NO_PARENT)
            notes->note[0].event = lookup_pair(block->place->stream, (uint32_t)stream->announced);
        add_comm(&notes->note[0], &stream->behind);
        stream->behind.mask = 0;
    }
    for (size_t i = 0; i < notes->count; i++) {
        const struct log_comm_note *note = &notes->note[i];
        const struct stream_partner *partner = notes->partner ? notes->partner + note->partner_first : NULL;
        uint32_t partners = note->partner_count;
        if (stream->partners) { // of the first one
            FORWARD(add_partners(stream, notes, note));
            partner = stream->partner;
            partners = stream->partners;
            stream->partners = 0;
        }
        FORWARD(give_comm(batch, block->place, note, true, partner, partners));
    }
    if (!stream->behind.mask || stream->announced == STREAM_NO_PARENT) stream->announced = notes->announced;
    add_comm(&stream->behind, &notes->behind);
    FORWARD(add_partners(stream, notes, &notes->behind));
    stream->behind.tid = notes->behind.tid;
    stream->behind.tick = notes->behind.tick;
    stream->behind.start = notes->behind.start;
    stream->last = block->place;
    return 0;
}

static void free_notes(struct log_comm_notes *notes) {
    free(notes->note);
    free(notes->partner);
    notes->note = NULL;
    notes->partner = NULL;
}

// Called when a block has been read: passes on the communication that is complete now.
static int give_stream_comm(struct log_source *source, size_t at, struct log_batch *batch) {
    struct log_stream_comm *stream = &source->stream[at];
    for (; stream->at < stream->end && source->due[stream->order[stream->at]].is_done; stream->at++) {
        struct log_block_due *block = &source->due[stream->order[stream->at]];
        if (block->is_good) FORWARD(join_block(stream, block, batch));
        free_notes(&block->comm);
    }
    if (stream->at < stream->end || !stream->last || !stream->behind.mask) return 0;
    bool has_event = stream->announced != STREAM_NO_PARENT;
    if (has_event) stream->behind.event = lookup_pair(stream->last->stream, (uint32_t)stream->announced);
    FORWARD(give_comm(batch, stream->last, &stream->behind, has_event, stream->partner, stream->partners));
    stream->behind.mask = 0;
    stream->partners = 0;
    return 0;
}

// --- blocks

static int64_t start_of(const struct log_block_due *block) {
    return block->place->start_ns > INT64_MAX ? INT64_MAX : (int64_t)block->place->start_ns;
}

static int compare_streams(const void *a, const void *b) {
    const struct log_place *left = ((const struct log_block_due *)a)->place;
    const struct log_place *right = ((const struct log_block_due *)b)->place;
    if (left->stream != right->stream) return left->stream < right->stream ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int compare_starts(const void *a, const void *b) {
    const struct log_place *left = ((const struct log_block_due *)a)->place;
    const struct log_place *right = ((const struct log_block_due *)b)->place;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int end_block(struct log_source *source, struct log_block_due *block, struct log_batch *batch) {
    block->is_done = true;
    return source->options.has_comm ? give_stream_comm(source, block->stream, batch) : 0;
}

static struct log_cursor *make_cursor(struct log_source *source) {
    if (source->idle_count) return source->idle[--source->idle_count];
    struct log_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return NULL;
    cursor->log = source->log;
    cursor->matcher = source->matcher;
    return cursor;
}

static void free_cursor(struct log_cursor *cursor) {
    log_cursor_free(cursor);
    free(cursor);
}

static int retire(struct log_source *source, struct log_cursor *cursor) {
    if (array_room(source->idle, source->idle_count)) {
        free_cursor(cursor);
        return -ENOMEM;
    }
    source->idle[source->idle_count++] = cursor;
    return 0;
}

static struct log_turn turn_of(struct log_cursor *cursor) {
    return (struct log_turn){cursor->event.start_ns, cursor->event.id, cursor};
}

// A damaged block counts as one without events.
static int start_block(struct log_source *source, struct log_block_due *block, struct log_cursor *cursor) {
    int code = log_cursor_start(cursor, block->place, source->options.has_comm ? &block->comm : NULL);
    if (code < 0) return log_is_damage(code) ? 0 : code;
    block->is_good = true;
    cursor->owner = block;
    if (source->options.order == SOURCE_BY_STREAM) cursor->sorted = true;
    return log_cursor_next(cursor);
}

// Opens the next block. A block without matching events is closed at once.
static int activate_next(struct log_source *source, struct log_batch *batch) {
    struct log_block_due *block = &source->due[source->due_at++];
    struct log_cursor *cursor = make_cursor(source);
    RETURN_IF(!cursor, -ENOMEM);
    int code = start_block(source, block, cursor);
    if (code > 0) {
        code = log_heap_push(&source->heap, turn_of(cursor));
        if (code == 0) return 0;
        free_cursor(cursor);
        return code;
    }
    FORWARD(retire(source, cursor));
    FORWARD(code);
    return end_block(source, block, batch);
}

// Returns 1, or 0 if there are no more events.
static int choose_front(struct log_source *source, struct log_batch *batch) {
    const struct log_heap *heap = &source->heap;
    while (source->due_at < source->due_count &&
           (!heap->count || start_of(&source->due[source->due_at]) <= heap->turn[0].start_ns))
        FORWARD(activate_next(source, batch));
    if (!heap->count) return 0;
    source->front = heap->turn[0].owner;
    int64_t until_ns = INT64_MAX;
    if (source->due_at < source->due_count) until_ns = start_of(&source->due[source->due_at]);
    for (size_t i = 1; i < heap->count && i < 3; i++) {
        if (heap->turn[i].start_ns < until_ns) until_ns = heap->turn[i].start_ns;
    }
    source->front_until_ns = until_ns;
    return 1;
}

// --- relations

static size_t place_of(uint64_t id) { return (size_t)(id ^ id >> 32) % SOURCE_AROUND; }

// Calls that are frequent and never contain others would displace the rest.
static inline bool may_be_parent(const struct log_event *event) {
    const struct log_call *call = event->call;
    if (call->layer > LAYER_STDIO) return true;
    return !event->has_parent && !log_class_moves(call->class) && call->class != CLASS_SEEK;
}

// Most streams have one thread.
static int number_thread(struct log_source *source, uint32_t tid, uint32_t *thread) {
    struct log_cursor *front = source->front;
    if (!front->last_thread || front->last_tid != tid) {
        uint32_t known = lookup_find(&source->thread_of, tid);
        if (known == LOOKUP_NONE) {
            known = (uint32_t)source->thread_of.count;
            FORWARD(lookup_set(&source->thread_of, tid, known));
        }
        front->last_tid = tid;
        front->last_thread = known + 1;
    }
    *thread = front->last_thread - 1;
    return 0;
}

static int remember(struct log_around **table, const struct log_event *event) {
    if (!*table) *table = calloc(SOURCE_AROUND, sizeof **table);
    RETURN_IF(!*table, -ENOMEM);
    (*table)[place_of(event->id)] = (struct log_around){event->id, event->call, event->has_parent};
    return 0;
}

static const struct log_around *find_around(const struct log_around *table, uint64_t id) {
    const struct log_around *around = table ? &table[place_of(id)] : NULL;
    return around && around->call && around->id == id ? around : NULL;
}

// A call that consists of several transfers (copy_file_range, lio_listio) is not a transfer itself. What is inside a
// call above MPI-IO counts as if it were not inside.
static void set_parent(const struct log_source *source, struct log_event *event) {
    const struct log_around *around = NULL;
    for (unsigned i = 0; i < LAYERS_ABOVE && !around; i++) around = find_around(source->above[i], event->parent);
    if (around) {
        event->has_parent = false;
        event->in_above = true;
        event->around = around->call;
        return;
    }
    around = find_around(source->around, event->parent);
    if (around) event->around = around->call;
    event->moves = event->moves && around && !around->has_parent && !log_class_moves(around->call->class) &&
                   around->call->layer <= LAYER_STDIO;
}

// For one event of any kind and the plain events after it in the same thread.
static int add_relations(struct log_source *source, struct log_batch *batch, struct log_event *event, size_t count) {
    uint32_t thread;
    FORWARD(number_thread(source, event->raw.tid, &thread));
    event->moves = log_call_moves(event->call) && !event->raw.error;
    if (event->has_parent) set_parent(source, event);
    for (size_t i = 0; i < count; i++) {
        event[i].thread = thread;
        if (call_layer_is_below(event[i].call->layer)) {
            batch->has_below = true;
        } else if (call_layer_is_above(event[i].call->layer)) {
            batch->has_above = true;
            FORWARD(remember(&source->above[call_layer_above(event[i].call->layer)], &event[i]));
        } else if (may_be_parent(&event[i])) {
            FORWARD(remember(&source->around, &event[i]));
        }
    }
    return 0;
}

// --- batches of a source

// Up to now the attributes belong to the cursor.
static int keep_attributes(struct log_batch *batch, struct log_event *event) {
    if (!batch->attribute) batch->attribute = malloc(batch->room * ATTRIBUTE_LIMIT * sizeof *batch->attribute);
    RETURN_IF(!batch->attribute, -ENOMEM);
    uint64_t *own = batch->attribute + (size_t)(event - batch->event) * ATTRIBUTE_LIMIT;
    for (uint32_t mask = event->raw.attribute_mask; mask; mask &= mask - 1)
        own[__builtin_ctz(mask)] = event->raw.attribute[__builtin_ctz(mask)];
    event->raw.attribute = own;
    return 0;
}

// Adds the front's event and the plain events after it. Returns 1 if the front then has another event ready.
static int put_front(struct log_source *source, struct log_batch *batch) {
    struct log_event *event = &batch->event[batch->count++];
    bool has_current;
    log_cursor_put(source->front, event);
    if (event->raw.attribute_mask) FORWARD(keep_attributes(batch, event));
    size_t count =
        log_cursor_run(source->front, event + 1, batch->room - batch->count, source->front_until_ns, &has_current);
    batch->count += count;
    if (source->options.has_relations) FORWARD(add_relations(source, batch, event, count + 1));
    return has_current;
}

static int advance_front(struct log_source *source, struct log_batch *batch, bool has_current) {
    struct log_cursor *front = source->front;
    int more = has_current ? 1 : log_cursor_next(front);
    if (more > 0 && front->event.start_ns < source->front_until_ns) return 0;
    source->front = NULL;
    if (more > 0) {
        log_heap_replace(&source->heap, turn_of(front));
        return 0;
    }
    log_heap_pop(&source->heap);
    struct log_block_due *block = front->owner;
    FORWARD(retire(source, front));
    FORWARD(more);
    return end_block(source, block, batch);
}

static int fill_by_start(struct log_source *source, struct log_batch *batch) {
    while (batch->count < batch->room && batch->comms < batch->room) {
        int more = source->front ? 1 : choose_front(source, batch);
        if (more <= 0) return more;
        int has_current = put_front(source, batch);
        FORWARD(has_current);
        FORWARD(advance_front(source, batch, has_current));
    }
    return 0;
}

static int fill_by_stream(struct log_source *source, struct log_batch *batch) {
    while (source->due_at < source->due_count && batch->comms < batch->room) {
        struct log_block_due *block = &source->due[source->due_at++];
        struct log_cursor *cursor = make_cursor(source);
        RETURN_IF(!cursor, -ENOMEM);
        int more = start_block(source, block, cursor);
        while (more > 0) more = log_cursor_next(cursor);
        FORWARD(retire(source, cursor));
        FORWARD(more);
        FORWARD(end_block(source, block, batch));
    }
    return 0;
}

int log_source_fill(struct log_source *source, struct log_batch *batch) {
    batch->count = batch->comms = batch->partners = 0;
    batch->has_above = batch->has_below = false;
    FORWARD(source->options.order == SOURCE_BY_START ? fill_by_start(source, batch) : fill_by_stream(source, batch));
    link_partners(batch);
    return batch->count || batch->comms;
}

// --- opening

// `due` is sorted by stream here; `order` is filled when `due` has its final order.
static int group_by_stream(struct log_source *source) {
    struct log_block_due *due = source->due;
    source->stream = calloc(source->due_count + 1, sizeof *source->stream);
    RETURN_IF(!source->stream, -ENOMEM);
    for (size_t i = 0; i < source->due_count; i++) {
        if (!i || due[i].place->stream != due[i - 1].place->stream) source->streams++;
        due[i].stream = source->streams - 1;
        source->stream[due[i].stream].end++;
    }
    for (size_t i = 0; i < source->streams; i++) {
        struct log_stream_comm *stream = &source->stream[i];
        stream->announced = STREAM_NO_PARENT;
        stream->order = malloc(stream->end * sizeof *stream->order);
        RETURN_IF(!stream->order, -ENOMEM);
    }
    return 0;
}

static int compare_offsets(const void *a, const void *b, void *context) {
    const struct log_block_due *due = context;
    const struct log_place *left = due[*(const size_t *)a].place, *right = due[*(const size_t *)b].place;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void order_streams(struct log_source *source) {
    for (size_t i = 0; i < source->due_count; i++) {
        struct log_stream_comm *stream = &source->stream[source->due[i].stream];
        stream->order[stream->at++] = i;
    }
    for (size_t i = 0; i < source->streams; i++) {
        struct log_stream_comm *stream = &source->stream[i];
        qsort_r(stream->order, stream->end, sizeof *stream->order, compare_offsets, source->due);
        stream->at = 0;
    }
}

int log_source_open(struct log_source *source, struct log *log, const struct log_matcher *matcher,
                    const struct log_place *const *places, size_t count, struct log_source_options options) {
    *source = (struct log_source){.log = log, .matcher = matcher, .options = options};
    source->due = calloc(count + 1, sizeof *source->due);
    RETURN_IF(!source->due, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        // Communication counts whatever the events around it are.
        bool is_due =
            options.has_comm ? log_matcher_has_place(matcher, places[i]) : log_matcher_has_events(matcher, places[i]);
        if (is_due) source->due[source->due_count++].place = places[i];
    }
    bool by_stream = options.order == SOURCE_BY_STREAM;
    if (by_stream || options.has_comm) qsort(source->due, source->due_count, sizeof *source->due, compare_streams);
    if (options.has_comm) FORWARD(group_by_stream(source));
    if (!by_stream) qsort(source->due, source->due_count, sizeof *source->due, compare_starts);
    if (options.has_comm) order_streams(source);
    return 0;
}

int64_t log_source_start_ns(const struct log_source *source) {
    return source->due_count ? start_of(&source->due[0]) : INT64_MAX;
}

void log_source_close(struct log_source *source) {
    for (size_t i = 0; i < source->heap.count; i++) free_cursor(source->heap.turn[i].owner);
    for (size_t i = 0; i < source->idle_count; i++) free_cursor(source->idle[i]);
    for (size_t i = 0; i < source->streams; i++) {
        free(source->stream[i].order);
        free(source->stream[i].partner);
    }
    for (size_t i = 0; source->due && i < source->due_count; i++) free_notes(&source->due[i].comm);
    free(source->heap.turn);
    free(source->idle);
    free(source->stream);
    free(source->due);
    free(source->around);
    for (unsigned i = 0; i < LAYERS_ABOVE; i++) free(source->above[i]);
    lookup_free(&source->thread_of);
    *source = (struct log_source){0};
}
