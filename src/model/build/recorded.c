#include "model/build/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "log/stats.h"
#include "log/visit.h"

// Communication between an event and the previous one of its thread.
struct comm {
    uint64_t event;
    struct stream_comm of[STREAM_COMM_KINDS]; // units: nanoseconds
};

enum { RECENT_KINDS = 256, MAX_AHEAD = 1024, WAITING_BYTES = 1 << 16, MOST_OPEN = 64 };

// The communication of a process. A visit hands it over apart from the events, in another thread.
struct process_comm {
    const struct recording *recording;
    struct comm *comm; // in the end by event
    size_t comms;
    struct comm_partner { // in the end by event; then those behind the last events
        uint32_t tid;
        bool has_event;
        uint64_t event;
        struct stream_partner partner;
    } * partner;
    size_t partners, with_event;
    struct tail { // after a thread's last event
        uint32_t tid;
        enum stream_comm_kind kind;
        uint64_t calls;
    } * tail;
    size_t tails;
};

// An operation, but for the time since the one before: communication is part of that.
struct waiting_op {
    struct op op;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t call_ns;
    uint64_t tick;
    bool is_transfer;
};

// An event that waits for its communication, which may be stored far behind it.
struct waiting {
    uint64_t event;
    uint32_t thread;
    bool is_op; // a struct waiting_op follows
};

struct waiting_events { // in the order of events
    struct waiting_events *next;
    size_t used;
    uint64_t data[WAITING_BYTES / sizeof(uint64_t)]; // `used` of them
};

struct recording {
    struct recorded *recorded;
    struct log *log;
    struct model_options options;
    uint64_t calls; // that the program made
    bool is_over;   // they are too many
    struct process_comm *of_process;
    bool has_communicators; // the log has the partners of communication
    struct waiting_events *first, *last;
    struct lookup parents;   // events that are not transfers -> layer
    struct lookup thread_of; // process and thread -> thread
    struct lookup kind_of;   // hash of a kind -> kind
    struct lookup open_of;   // process and handle -> open file of MPI
    struct mpi_open {
        uint32_t process, file; // places in the log
        uint32_t communicator;  // number in the process
        uint32_t slot;          // among those that the process has open on the file
        bool is_open;
    } * open;
    size_t opens;
    struct carry {             // by thread: what has come since
        struct comm comm;      // the last operation
        struct thread_gap gap; // the last transfer
        int64_t end_ns;
        int64_t above_ns; // end of the last call of the chosen layer, if that is above MPI-IO
        bool begun;
        bool is_async;   // the last operation was an asynchronous transfer
        int64_t seen_ns; // when its end was seen
        size_t partner_at;
        size_t comm_at; // where the next event's is expected
    } * carry;
    const char **call_name;        // by call
    uint32_t recent[RECENT_KINDS]; // kinds, by what mostly tells them apart
};

// A transfer that failed, or whose file has no name, is in the model but makes no phase.
static bool is_transfer(const struct log_event *event) {
    return log_class_moves(event->call->class) && !event->raw.error && event->file;
}

// --- communication

static void add_comm(struct comm *sum, const struct comm *more) {
    for (unsigned k = 0; k < STREAM_COMM_KINDS; k++) {
        sum->of[k].count += more->of[k].count;
        sum->of[k].bytes += more->of[k].bytes;
        sum->of[k].units += more->of[k].units;
    }
}

static int begin_process(void *context, const struct log_process *process, void **state) {
    struct recording *l = context;
    *state = &l->of_process[log_process_index(l->log, process)];
    return 0;
}

static int note_comm(struct process_comm *process, const struct log_comm *found) {
    for (uint32_t i = 0; i < found->partner_count; i++) {
        struct comm_partner partner = {found->tid, found->has_event, found->event, found->partners[i]};
        FORWARD(array_push(process->partner, process->partners, partner));
    }
    if (!found->has_event) {
        if (found->kind == COMM_COMPLETING || !found->has_thread) return 0;
        return array_push(process->tail, process->tails, (struct tail){found->tid, found->kind, found->count});
    }
    if (!process->comms || process->comm[process->comms - 1].event != found->event)
        FORWARD(array_push(process->comm, process->comms, (struct comm){.event = found->event}));
    struct stream_comm *sum = &process->comm[process->comms - 1].of[found->kind];
    sum->count += found->count;
    sum->bytes += found->bytes;
    sum->units += (uint64_t)(found->time_ns > 0 ? found->time_ns : 0);
    return 0;
}

static int note_comms(void *state, const struct log_comm *found, size_t count) {
    struct process_comm *process = state;
    bool is_over = __atomic_load_n(&process->recording->is_over, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count && !is_over; i++) FORWARD(note_comm(process, &found[i]));
    return 0;
}

static int compare_comms(const void *a, const void *b) {
    const struct comm *left = a, *right = b;
    return left->event < right->event ? -1 : left->event > right->event;
}

static int compare_partners(const void *a, const void *b) {
    const struct comm_partner *left = a, *right = b;
    if (left->has_event != right->has_event) return left->has_event ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

static void sort_comms(struct process_comm *process) {
    if (process->partners) qsort(process->partner, process->partners, sizeof *process->partner, compare_partners);
    while (process->with_event < process->partners && process->partner[process->with_event].has_event)
        process->with_event++;
    if (!process->comms) return;
    qsort(process->comm, process->comms, sizeof *process->comm, compare_comms);
    size_t kept = 0;
    for (size_t i = 1; i < process->comms; i++) {
        if (process->comm[i].event == process->comm[kept].event)
            add_comm(&process->comm[kept], &process->comm[i]);
        else
            process->comm[++kept] = process->comm[i];
    }
    process->comms = kept + 1;
}

// Returns the communication before an event, or NULL. Events of a thread come almost in the order of their numbers.
static const struct comm *comm_before(const struct process_comm *l, struct carry *carry, uint64_t event) {
    size_t low = carry->comm_at, high = low;
    bool is_there = (low == 0 || l->comm[low - 1].event < event) && (low == l->comms || l->comm[low].event >= event);
    if (!is_there) low = 0, high = l->comms;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->comm[middle].event < event)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < l->comms && l->comm[low].event == event;
    carry->comm_at = low + found;
    return found ? &l->comm[low] : NULL;
}

// --- which events count

// Without a layer: events without a parent, and those whose parent is a call of the same layer that is not a transfer
// itself (a copy is a read and a write).
static bool is_chosen(struct recording *l, const struct log_event *event) {
    if (l->options.layer) return event->call->layer == l->options.layer;
    if (!event->has_parent) return true;
    return lookup_find(&l->parents, event->parent) == event->call->layer;
}

// --- kinds

static int lookup_kind(struct recording *l, const struct op_kind *kind, uint32_t *id) {
    struct recorded *recorded = l->recorded;
    uint64_t hash = hash_bytes(0, kind, sizeof *kind);
    for (;; hash++) {
        *id = lookup_find(&l->kind_of, hash);
        if (*id == LOOKUP_NONE) break;
        if (!memcmp(&recorded->kind[*id], kind, sizeof *kind)) return 0;
    }
    *id = (uint32_t)recorded->kinds;
    FORWARD(array_room(recorded->kind, recorded->kinds));
    memcpy(&recorded->kind[recorded->kinds++], kind, sizeof *kind);
    return lookup_set(&l->kind_of, hash, *id);
}

static int intern_kind(struct recording *l, const struct op_kind *kind, uint32_t *id) {
    uint32_t *recent = &l->recent[((uintptr_t)kind->call / 16 + kind->set) % RECENT_KINDS];
    if (*recent >= l->recorded->kinds || memcmp(&l->recorded->kind[*recent], kind, sizeof *kind)) {
        FORWARD(lookup_kind(l, kind, recent));
    }
    *id = *recent;
    return 0;
}

// The model keeps the name, so it must outlive the log.
static const char *name_of(struct recording *l, const struct log_call *call) {
    const char **name = &l->call_name[call->id];
    if (!*name) *name = arena_text(&l->recorded->arena, call->name);
    return *name;
}

static const struct file_place *place_of(const struct recording *l, const struct log_file *file) {
    return file ? &l->recorded->sets.place[log_file_index(l->log, file)] : NULL;
}

static int intern_hints(struct recorded *recorded, const struct log_hints *hints, uint32_t *id) {
    for (*id = 1; *id <= recorded->hints_count; ++*id) {
        if (recorded->hints[*id - 1] == hints) return 0;
    }
    return array_push(recorded->hints, recorded->hints_count, hints);
}

// Pieces of memory without a common distance lie where the program's allocator put them, another place in each run.
static int follows_rule(struct recording *l, const struct log_datatype *type, bool *follows) {
    const struct datatype *flat;
    FORWARD(log_datatype_flat(l->log, type, &flat));
    *follows = !type->cut && flat->items && flat->item[0].span == flat->items;
    return 0;
}

// The lowest slot that no open file of the process on the same name has.
static uint32_t free_slot(const struct recording *l, uint32_t process, uint32_t file) {
    uint32_t taken = 0, slot = 0;
    for (size_t i = l->opens > MOST_OPEN ? l->opens - MOST_OPEN : 0; i < l->opens; i++) {
        const struct mpi_open *open = &l->open[i];
        if (open->is_open && open->process == process && open->file == file) taken |= 1u << open->slot;
    }
    while (slot < OP_MOST_HANDLES - 1 && taken & 1u << slot) slot++;
    return slot;
}

// Which open file the call is about, and the communicator on which it was opened: its number in the process, until
// those of all processes are joined.
static int add_handle(struct recording *l, const struct log_event *event, struct op_kind *kind) {
    if (kind->layer != LAYER_MPIIO || !event->file) return 0;
    uint64_t key = lookup_pair(event->process->index, event->raw.handle);
    if (kind->class == CLASS_OPEN) {
        kind->communicator = (uint32_t)log_event_attribute(event, ATTRIBUTE_COMM);
        if (event->raw.error || !event->raw.handle) return 0;
        struct mpi_open open = {event->process->index, event->file->index, kind->communicator, 0, true};
        kind->handle = (uint8_t)(open.slot = free_slot(l, open.process, open.file));
        FORWARD(lookup_set(&l->open_of, key, (uint32_t)l->opens));
        return array_push(l->open, l->opens, open);
    }
    uint32_t place = event->raw.handle ? lookup_find(&l->open_of, key) : LOOKUP_NONE;
    if (place == LOOKUP_NONE) return 0;
    struct mpi_open *open = &l->open[place];
    kind->handle = (uint8_t)open->slot;
    if (kind->collective) kind->communicator = open->communicator;
    if (kind->class == CLASS_CLOSE) open->is_open = false;
    return 0;
}

// Adds what only MPI calls have.
static int add_mpi(struct recording *l, const struct log_event *event, struct op_kind *kind, struct op *op) {
    struct types *types = &l->recorded->types;
    uint32_t place;
    if (event->hints) FORWARD(intern_hints(l->recorded, event->hints, &kind->hints));
    bool follows = false;
    FORWARD(add_handle(l, event, kind));
    if (event->datatype) FORWARD(follows_rule(l, event->datatype, &follows));
    if (follows) {
        FORWARD(types_intern(types, l->log, event->datatype, &place));
        kind->memory = place + 1;
    }
    if (event->filetype) {
        FORWARD(types_intern(types, l->log, event->filetype, &place));
        kind->etype_bytes = event->etype ? (uint32_t)event->etype->bytes : 1;
        op->at[AT_SECOND] = place;
    }
    return 0;
}

// Types were numbered in order of appearance; now they get the numbers of their sorted order.
static int order_types(struct recorded *recorded) {
    SCOPED_FREE uint32_t *place_of = malloc((recorded->types.count + 1) * sizeof *place_of);
    RETURN_IF(!place_of, -ENOMEM);
    FORWARD(types_sort(&recorded->types, place_of));
    for (size_t i = 0; i < recorded->kinds; i++) {
        if (recorded->kind[i].memory) recorded->kind[i].memory = place_of[recorded->kind[i].memory - 1] + 1;
    }
    for (size_t i = 0; i < recorded->count; i++) {
        struct thread_ops *thread = &recorded->thread[i];
        for (size_t k = 0; k < thread->others; k++) {
            struct op *op = &thread->other[k];
            if (recorded->kind[op->kind].etype_bytes) op->at[AT_SECOND] = place_of[op->at[AT_SECOND]];
        }
    }
    return 0;
}

static int make_op(struct recording *l, const struct log_event *event, struct op *op) {
    const struct log_call *call = event->call;
    struct op_kind kind;
    memset(&kind, 0, sizeof kind); // padding too: kinds are compared as bytes
    const struct file_place *file = place_of(l, event->file), *second = place_of(l, event->file2);
    kind.call = name_of(l, call);
    RETURN_IF(!kind.call, -ENOMEM);
    kind.call_id = (uint16_t)call->build_id;
    kind.layer = call->layer;
    kind.class = call->class;
    kind.collective = log_event_is_collective(event);
    kind.nonblocking = call->traits & CALL_ASYNC;
    bool seeks = call->traits & CALL_RESULT_IS_OFFSET && event->raw.has_result && !event->raw.error;
    kind.has_offset = seeks || (event->raw.has_offset && call->traits & CALL_HAS_OFFSET);
    kind.has_view = event->raw.attribute_mask & 1u << ATTRIBUTE_VIEW_OFFSET;
    kind.set = file ? file->set : OP_NO_SET;
    kind.set2 = second ? second->set : OP_NO_SET;
    if (call->class == CLASS_OPEN) kind.flags = (uint32_t)log_event_attribute(event, ATTRIBUTE_FLAGS);
    kind.whence = (uint32_t)log_event_attribute(event, ATTRIBUTE_WHENCE);
    kind.error = log_event_errno(event);
    *op = (struct op){0};
    op->at[AT_SECOND] = kind.has_view ? (int64_t)log_event_attribute(event, ATTRIBUTE_VIEW_OFFSET)
                        : second      ? second->member
                                      : 0;
    FORWARD(add_mpi(l, event, &kind, op));
    if (event->selection) FORWARD(recorded_add_selection(l->recorded, event->selection, &kind.selection));
    FORWARD(intern_kind(l, &kind, &op->kind));
    op->at[AT_MEMBER] = file ? file->member : 0;
    op->at[AT_OFFSET] = seeks ? event->raw.result : kind.has_offset ? (int64_t)event->raw.offset : 0;
    if (call->traits & CALL_HAS_SIZE || log_class_moves(call->class)) op->at[AT_SIZE] = (int64_t)event->raw.size;
    if (log_class_moves(call->class)) op->at[AT_SHORT] = op->at[AT_SIZE] - (int64_t)log_event_bytes(event);
    return 0;
}

// --- threads

static uint64_t thread_key(const struct recording *l, const struct log_process *process, uint32_t tid) {
    return lookup_pair((uint32_t)log_process_index(l->log, process), tid);
}

// Threads are numbered by their first event, in a visit and here.
static int add_thread(struct recording *l, const struct log_event *event) {
    struct recorded *recorded = l->recorded;
    if (event->thread < recorded->count) return 0;
    FORWARD(array_room(l->carry, recorded->count));
    l->carry[recorded->count] = (struct carry){0};
    FORWARD(lookup_set(&l->thread_of, thread_key(l, event->process, event->raw.tid), event->thread));
    return array_push(recorded->thread, recorded->count,
                      (struct thread_ops){.process = event->process, .tid = event->raw.tid});
}

int thread_ops_add_other(struct thread_ops *thread, const struct other_op *other) {
    FORWARD(array_room(thread->other, thread->others));
    FORWARD(array_room(thread->other_time, thread->others));
    FORWARD(array_room(thread->other_parted, thread->others));
    FORWARD(array_room(thread->other_gap, thread->others));
    FORWARD(array_room(thread->other_tick, thread->others));
    thread->other[thread->others] = other->op;
    thread->other_time[thread->others] = other->time;
    thread->other_parted[thread->others] = other->parted;
    thread->other_gap[thread->others] = other->gap;
    thread->other_tick[thread->others++] = other->tick;
    return 0;
}

struct other_op thread_ops_other(const struct thread_ops *thread, size_t place) {
    return (struct other_op){thread->other[place], thread->other_time[place], thread->other_parted[place],
                             thread->other_gap[place], thread->other_tick[place]};
}

int thread_ops_add_transfer(struct thread_ops *thread, const struct op *op, const struct op_time *time,
                            const struct thread_gap *gap, uint64_t tick) {
    FORWARD(array_room(thread->transfer, thread->transfers));
    FORWARD(array_room(thread->time, thread->transfers));
    FORWARD(array_room(thread->gap, thread->transfers));
    FORWARD(array_room(thread->tick, thread->transfers));
    thread->transfer[thread->transfers] = *op;
    thread->time[thread->transfers] = *time;
    thread->gap[thread->transfers] = *gap;
    thread->tick[thread->transfers++] = tick;
    return 0;
}

// Returns the time since the last operation without communication, and updates the gap before the next transfer.
static int64_t close_gap(struct carry *carry, const struct waiting_op *op) {
    struct stream_comm *comm = carry->comm.of;
    int64_t comm_ns = 0;
    for (unsigned k = 0; k < STREAM_COMM_KINDS; k++) comm_ns += (int64_t)comm[k].units;
    int64_t think_ns = carry->begun ? op->start_ns - carry->end_ns - comm_ns : 0;
    if (think_ns < 0) think_ns = 0;
    carry->gap.moving += comm[COMM_MOVING].count;
    carry->gap.moving_bytes += comm[COMM_MOVING].bytes;
    carry->gap.synchronising += comm[COMM_SYNCHRONISING].count;
    carry->gap.comm_ns += comm_ns;
    carry->gap.idle_ns += think_ns;
    carry->begun = true;
    int64_t end_ns = op->start_ns + op->call_ns;
    if (end_ns > carry->end_ns) carry->end_ns = end_ns;
    return think_ns;
}

// Time before the end of an asynchronous transfer was seen belongs to the transfer; the pause is the time after that.
static void split_pause(struct thread_ops *thread, const struct carry *carry, int64_t start_ns, int64_t others_ns,
                        struct op_time *time) {
    if (!carry->is_async || carry->seen_ns > start_ns) return;
    int64_t after_ns = start_ns - carry->seen_ns - others_ns;
    if (after_ns < 0) after_ns = 0;
    if (after_ns >= time->think_ns) return;
    thread->time[thread->transfers - 1].work_ns = time->think_ns - after_ns;
    time->think_ns = after_ns;
}

// A call that consists of transfers, such as a copy, has no time besides theirs.
static void take_time(struct thread_ops *thread, const struct op_time *of) {
    if (!thread->others) return;
    struct op_time *around = &thread->other_time[thread->others - 1];
    bool contains =
        around->start_ns <= of->start_ns && of->start_ns + of->duration_ns <= around->start_ns + around->duration_ns;
    if (contains) around->duration_ns = 0;
}

static int add_op(struct recording *l, uint32_t at, const struct waiting_op *waiting) {
    struct thread_ops *thread = &l->recorded->thread[at];
    struct carry *carry = &l->carry[at];
    struct op op = waiting->op;
    struct op_time time = {.start_ns = waiting->start_ns, .duration_ns = waiting->duration_ns};
    int64_t others_ns = (int64_t)(carry->comm.of[COMM_SYNCHRONISING].units + carry->comm.of[COMM_MOVING].units);
    time.think_ns = close_gap(carry, waiting);
    split_pause(thread, carry, time.start_ns, others_ns, &time);
    carry->is_async = waiting->is_transfer && l->recorded->kind[op.kind].nonblocking;
    carry->seen_ns = time.start_ns + time.duration_ns;
    bool parted = carry->comm.of[COMM_MOVING].count > 0;
    carry->comm = (struct comm){0};
    op.at[AT_POSITION] = (int64_t)thread->transfers;
    if (!waiting->is_transfer)
        return thread_ops_add_other(thread, &(struct other_op){op, time, parted, carry->gap, waiting->tick});
    op.at[AT_POSITION] = 0;
    take_time(thread, &time);
    int code = thread_ops_add_transfer(thread, &op, &time, &carry->gap, waiting->tick);
    carry->gap = (struct thread_gap){0};
    return code;
}

// --- events

static int add_waiting(struct recording *l, const struct waiting *event, const struct waiting_op *op) {
    enum { MOST_WORDS = (sizeof *event + sizeof *op) / sizeof(uint64_t) };
    if (!l->last || l->last->used + MOST_WORDS > sizeof l->last->data / sizeof l->last->data[0]) {
        struct waiting_events *more = malloc(sizeof *more);
        RETURN_IF(!more, -ENOMEM);
        more->next = NULL;
        more->used = 0;
        *(l->last ? &l->last->next : &l->first) = more;
        l->last = more;
    }
    memcpy(&l->last->data[l->last->used], event, sizeof *event);
    l->last->used += sizeof *event / sizeof(uint64_t);
    if (!event->is_op) return 0;
    memcpy(&l->last->data[l->last->used], op, sizeof *op);
    l->last->used += sizeof *op / sizeof(uint64_t);
    return 0;
}

static void drop_first(struct recording *l) {
    struct waiting_events *first = l->first;
    l->first = first->next;
    free(first);
}

// Standard input and output, unless a process of the job opened them: where they lead is a matter of the shell in which
// the job ran, not of the program.
static bool is_inherited(const struct recording *l, const struct log_event *event) {
    if (l->options.standard_streams || !event->file || !event->raw.handle) return false;
    if (call_layer_is_above(event->call->layer)) return false; // who opens a file opens its variables
    return !l->recorded->file[event->file->index].is_opened;
}

// True if the event is an operation of the application. Counts the bytes that are not in its transfers.
static bool is_operation(struct recording *l, const struct log_event *event) {
    if (!is_chosen(l, event)) return false;
    struct recorded_left *left = &l->recorded->left;
    if (event->process->is_launcher) {
        if (log_class_moves(event->call->class)) left->launchers += log_event_bytes(event);
        return false;
    }
    if (is_inherited(l, event)) {
        if (log_class_moves(event->call->class)) left->inherited += log_event_bytes(event);
        return false;
    }
    if (log_class_moves(event->call->class) && !is_transfer(event)) left->unnamed += log_event_bytes(event);
    return true;
}

// True for what a call of the chosen layer above MPI-IO contains. The communication stored with it is the library's
// own, and says nothing about the program's phases.
static bool is_of_library(struct recording *l, const struct log_event *event) {
    struct carry *carry = &l->carry[event->thread];
    if (!call_layer_is_above(l->options.layer)) return false;
    if (event->start_ns < carry->above_ns) return true;
    if (event->call->layer == l->options.layer) carry->above_ns = event->start_ns + log_event_call_ns(event);
    return false;
}

static int add_event(struct recording *l, const struct log_event *event) {
    struct waiting_op op;
    // No operation; but communication may be stored with it.
    if (call_layer_is_above(event->call->layer) && event->call->layer != l->options.layer) {
        if (!l->of_process) return 0;
        FORWARD(add_thread(l, event));
        if (is_of_library(l, event)) return 0;
        return add_waiting(l, &(struct waiting){.event = event->id, .thread = event->thread}, NULL);
    }
    if (!call_layer_is_above(event->call->layer)) FORWARD(recorded_note_file(l->recorded, event));
    if (!log_class_moves(event->call->class)) FORWARD(lookup_set(&l->parents, event->id, event->call->layer));
    FORWARD(add_thread(l, event));
    if (is_of_library(l, event)) return 0;
    const struct waiting waiting = {.event = event->id, .thread = event->thread, .is_op = is_operation(l, event)};
    if (waiting.is_op) {
        op = (struct waiting_op){.start_ns = event->start_ns,
                                 .duration_ns = event->duration_ns,
                                 .call_ns = log_event_call_ns(event),
                                 .tick = event->raw.tick,
                                 .is_transfer = is_transfer(event)};
        FORWARD(make_op(l, event, &op.op));
    }
    if (l->of_process) return add_waiting(l, &waiting, &op);
    return waiting.is_op ? add_op(l, waiting.thread, &op) : 0;
}

static void give_up(struct recording *l) {
    __atomic_store_n(&l->is_over, true, __ATOMIC_RELAXED);
    while (l->first) drop_first(l);
    while (l->recorded->count) thread_ops_free(&l->recorded->thread[--l->recorded->count]);
    lookup_free(&l->parents);
}

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    struct recording *l = context;
    for (size_t i = 0; i < count && !l->is_over; i++) {
        FORWARD(add_event(l, event[i]));
        l->calls += !event[i]->has_parent && !call_layer_is_above(event[i]->call->layer);
        if (l->options.most_calls && l->calls > l->options.most_calls) give_up(l);
    }
    return 0;
}

// --- communication with other processes

static int add_partner(struct thread_ops *thread, const struct stream_partner *partner) {
    return array_push(thread->partner, thread->partners,
                      (struct thread_partner){thread->transfers, thread->others, partner->comm, partner->role,
                                              partner->peer, partner->count});
}

// Without communicators in the log, synchronising calls are taken to be of the whole world.
static int add_world_partner(struct thread_ops *thread, uint64_t calls) {
    struct stream_partner world = {.comm = COMMUNICATORS_WORLD, .role = PARTNER_ALL, .count = calls};
    return calls ? add_partner(thread, &world) : 0;
}

static int note_partner(struct carry *carry, struct thread_ops *thread, const struct stream_partner *partner) {
    if (partner->role == PARTNER_SEND || partner->role == PARTNER_RECEIVE) carry->gap.messages += partner->count;
    return add_partner(thread, partner);
}

// Events of a thread come almost in the order of their numbers.
static bool is_at(const struct process_comm *process, size_t at, uint64_t event) {
    const struct comm_partner *partner = process->partner;
    bool after = at == 0 || partner[at - 1].event < event;
    return after && (at == process->with_event || partner[at].event >= event);
}

static int add_partners(const struct process_comm *process, struct carry *carry, struct thread_ops *thread,
                        uint64_t event) {
    size_t at = carry->partner_at;
    if (!is_at(process, at, event)) {
        size_t high = process->with_event;
        for (at = 0; at < high;) {
            size_t middle = at + (high - at) / 2;
            if (process->partner[middle].event < event)
                at = middle + 1;
            else
                high = middle;
        }
    }
    for (; at < process->with_event && process->partner[at].event == event; at++)
        FORWARD(note_partner(carry, thread, &process->partner[at].partner));
    carry->partner_at = at;
    return 0;
}

// Communication at the end of a call above MPI-IO is stored with the next event. It was inside the call if it does not
// fit into the pause between the two, or if that is too short for a program that exchanges data.
static bool is_inside(const struct recording *l, const struct carry *carry, const struct comm *comm,
                      const struct waiting_op *op) {
    enum { SHORT_NS = 10000 };
    int64_t pause_ns = op->start_ns - carry->end_ns, comm_ns = 0;
    for (unsigned k = 0; k < STREAM_COMM_KINDS; k++) comm_ns += (int64_t)comm->of[k].units;
    return call_layer_is_above(l->options.layer) && carry->begun && (comm_ns > pause_ns || pause_ns < SHORT_NS);
}

static int add_with_comm(struct recording *l, const struct waiting *event) {
    struct thread_ops *thread = &l->recorded->thread[event->thread];
    struct carry *carry = &l->carry[event->thread];
    const struct process_comm *process = &l->of_process[log_process_index(l->log, thread->process)];
    const struct comm *comm = comm_before(process, carry, event->event);
    if (comm && event->is_op && is_inside(l, carry, comm, (const struct waiting_op *)(event + 1)))
        return add_op(l, event->thread, (const struct waiting_op *)(event + 1));
    if (comm) add_comm(&carry->comm, comm);
    if (comm && !l->has_communicators) FORWARD(add_world_partner(thread, comm->of[COMM_SYNCHRONISING].count));
    uint64_t messages = carry->gap.messages;
    FORWARD(add_partners(process, carry, thread, event->event));
    if (comm) {
        struct thread_gap gap = {.moving = comm->of[COMM_MOVING].count,
                                 .moving_bytes = comm->of[COMM_MOVING].bytes,
                                 .messages = carry->gap.messages - messages,
                                 .synchronising = comm->of[COMM_SYNCHRONISING].count};
        thread->comm_calls += thread_gap_calls(&gap);
    }
    return event->is_op ? add_op(l, event->thread, (const struct waiting_op *)(event + 1)) : 0;
}

static int join_comms(struct recording *l) {
    for (size_t i = 0; l->of_process && i < log_process_count(l->log); i++) sort_comms(&l->of_process[i]);
    for (; l->first; drop_first(l)) {
        const uint64_t *at = l->first->data, *end = at + l->first->used;
        while (at < end) {
            const struct waiting *event = (const struct waiting *)at;
            FORWARD(add_with_comm(l, event));
            at += (sizeof *event + (event->is_op ? sizeof(struct waiting_op) : 0)) / sizeof *at;
        }
    }
    return 0;
}

// --- after the last operation

// Communicates without any event.
static int add_idle_thread(struct recording *l, const struct log_process *process, uint32_t tid, uint32_t *at) {
    *at = (uint32_t)l->recorded->count;
    FORWARD(lookup_set(&l->thread_of, thread_key(l, process, tid), *at));
    return array_push(l->recorded->thread, l->recorded->count, (struct thread_ops){.process = process, .tid = tid});
}

static int find_thread(struct recording *l, size_t process, uint32_t tid, struct thread_ops **thread) {
    const struct log_process *of = log_process_at(l->log, process);
    uint32_t at = lookup_find(&l->thread_of, thread_key(l, of, tid));
    if (at == LOOKUP_NONE) FORWARD(add_idle_thread(l, of, tid, &at));
    *thread = &l->recorded->thread[at];
    return 0;
}

static int add_tails(struct recording *l) {
    struct thread_ops *thread;
    for (size_t i = 0; l->of_process && i < log_process_count(l->log); i++) {
        const struct process_comm *process = &l->of_process[i];
        for (size_t k = 0; k < process->tails; k++) {
            const struct tail *tail = &process->tail[k];
            FORWARD(find_thread(l, i, tail->tid, &thread));
            thread->comm_calls += tail->calls;
            bool counts = tail->kind == COMM_SYNCHRONISING && !l->has_communicators;
            if (counts) FORWARD(add_world_partner(thread, tail->calls));
        }
        for (size_t k = process->with_event; k < process->partners; k++) {
            FORWARD(find_thread(l, i, process->partner[k].tid, &thread));
            FORWARD(add_partner(thread, &process->partner[k].partner));
        }
    }
    return 0;
}

// --- asynchronous transfers

// Counts the operations, in order of their starts, that began before the time; at most MAX_AHEAD.
static uint64_t count_before(const struct op_time *time, size_t count, int64_t before_ns) {
    size_t n = 0;
    while (n < count && n < MAX_AHEAD && time[n].start_ns < before_ns) n++;
    return n;
}

// Counts the operations that a thread began while an asynchronous transfer was under way.
static void count_ahead(struct recorded *recorded) {
    for (size_t i = 0; i < recorded->count; i++) {
        struct thread_ops *thread = &recorded->thread[i];
        size_t other = 0;
        for (size_t k = 0; k < thread->transfers; k++) {
            if (!recorded->kind[thread->transfer[k].kind].nonblocking) continue;
            int64_t seen_ns = thread->time[k].start_ns + thread->time[k].duration_ns;
            while (other < thread->others && thread->other[other].at[AT_POSITION] <= (int64_t)k) other++;
            thread->time[k].ahead = count_before(thread->time + k + 1, thread->transfers - k - 1, seen_ns);
            if (thread->others) {
                thread->time[k].ahead += count_before(thread->other_time + other, thread->others - other, seen_ns);
            }
        }
    }
}

// --- the whole

static int load_sets(struct recording *l) {
    size_t count = log_file_count(l->log);
    SCOPED_FREE const char **names = calloc(count + 1, sizeof *names);
    l->recorded->file = calloc(count + 1, sizeof *l->recorded->file);
    RETURN_IF(!names || !l->recorded->file, -ENOMEM);
    for (size_t i = 0; i < count; i++) names[i] = log_file_at(l->log, i)->name;
    if (call_layer_is_above(l->options.layer)) FORWARD(recorded_name_objects(l->recorded, l->log, names));
    return file_sets_make(&l->recorded->sets, names, count);
}

int recorded_begin(struct recorded *recorded, struct log *log, const struct model_options *options,
                   struct log_consumer *consumer) {
    size_t processes = log_process_count(log);
    struct recording *l = calloc(1, sizeof *l);
    *recorded = (struct recorded){.recording = l};
    RETURN_IF(!l, -ENOMEM);
    *l = (struct recording){.recorded = recorded, .log = log, .options = *options};
    l->has_communicators = log_communicator_count(log);
    *consumer = (struct log_consumer){.context = l, .wants_above = true, .ordered = add_events};
    l->call_name = calloc(log_call_ids(log) + 1, sizeof *l->call_name);
    RETURN_IF(!l->call_name, -ENOMEM);
    FORWARD(load_sets(l));
    if (!log_world_count(log)) return 0; // nobody communicates
    l->of_process = calloc(processes + 1, sizeof *l->of_process);
    RETURN_IF(!l->of_process, -ENOMEM);
    for (size_t i = 0; i < processes; i++) l->of_process[i].recording = l;
    consumer->begin = begin_process;
    consumer->comm = note_comms;
    return 0;
}

static void free_recording(struct recording *l) {
    for (size_t i = 0; l->of_process && i < log_process_count(l->log); i++) {
        free(l->of_process[i].comm);
        free(l->of_process[i].tail);
        free(l->of_process[i].partner);
    }
    while (l->first) drop_first(l);
    lookup_free(&l->parents);
    lookup_free(&l->thread_of);
    lookup_free(&l->kind_of);
    lookup_free(&l->open_of);
    free(l->open);
    free(l->of_process);
    free(l->call_name);
    free(l->carry);
    free(l);
}

static void free_others(struct thread_ops *thread) {
    free(thread->other);
    free(thread->other_time);
    free(thread->other_parted);
    free(thread->other_gap);
    free(thread->other_tick);
}

void thread_ops_take_others(struct thread_ops *thread, struct thread_ops *from) {
    free_others(thread);
    thread->other = from->other;
    thread->other_time = from->other_time;
    thread->other_parted = from->other_parted;
    thread->other_gap = from->other_gap;
    thread->other_tick = from->other_tick;
    thread->others = from->others;
}

static void free_transfers(struct thread_ops *thread) {
    free(thread->transfer);
    free(thread->time);
    free(thread->gap);
    free(thread->tick);
}

void thread_ops_take(struct thread_ops *thread, struct thread_ops *from) {
    thread_ops_take_others(thread, from);
    free_transfers(thread);
    thread->transfer = from->transfer;
    thread->time = from->time;
    thread->gap = from->gap;
    thread->tick = from->tick;
    thread->transfers = from->transfers;
}

int recorded_finish(struct recorded *recorded) {
    struct recording *l = recorded->recording;
    RETURN_IF(l->is_over, ERR_LIMIT);
    FORWARD(join_comms(l));
    FORWARD(add_tails(l));
    FORWARD(recorded_count_untraced(recorded, l->log, l->options.layer));
    FORWARD(order_types(recorded));
    FORWARD(recorded_find_programs(recorded, l->log));
    count_ahead(recorded);
    free_recording(l);
    recorded->recording = NULL;
    return 0;
}

void thread_ops_free(struct thread_ops *thread) {
    free_transfers(thread);
    free_others(thread);
    free(thread->partner);
}

void recorded_free(struct recorded *recorded) {
    if (recorded->recording) free_recording(recorded->recording);
    for (size_t i = 0; i < recorded->count; i++) thread_ops_free(&recorded->thread[i]);
    free(recorded->thread);
    free(recorded->program);
    free(recorded->kind);
    free(recorded->file);
    free(recorded->use);
    lookup_free(&recorded->use_of);
    free(recorded->hints);
    free(recorded->selection);
    lookup_free(&recorded->selection_of);
    types_free(&recorded->types);
    file_sets_free(&recorded->sets);
    arena_free(&recorded->arena);
    *recorded = (struct recorded){0};
}
