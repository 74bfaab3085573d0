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
#include "log/communication.h"
#include "log/iter.h"
#include "log/stats.h"

static const char barrier_name[] = "barrier";

// Communication between an event and the previous one of its thread.
struct comm {
    uint64_t event;
    struct stream_comm of[STREAM_COMM_KINDS]; // units: nanoseconds
};

enum { RECENT_KINDS = 256, MAX_AHEAD = 1024 };

struct loading {
    struct recorded *recorded;
    struct log *log;
    unsigned layer;
    struct comm *comm; // by event
    size_t comms;
    struct tail {        // communication after a thread's last event
        uint64_t thread; // as in thread_of
        enum stream_comm_kind kind;
        uint64_t calls;
    } * tail;
    size_t tails;
    struct lookup parents;     // events that are not transfers -> layer
    struct lookup thread_of;   // process and thread -> thread
    struct lookup kind_of;     // hash of a kind -> kind
    struct carry {             // by thread: what has come since
        struct comm comm;      // the last operation
        struct thread_gap gap; // the last transfer
        int64_t end_ns;
        bool begun;
        bool is_async;          // the last operation was an asynchronous transfer
        int64_t seen_ns;        // when its end was seen
        size_t comm_at;         // where the next event's is expected
        uint64_t last_barriers; // after the last event
    } * carry;
    const char **call_name;        // by call
    uint32_t recent[RECENT_KINDS]; // kinds, by what mostly tells them apart
};

static bool transfers(const struct log_call *call) { return call->class == CLASS_READ || call->class == CLASS_WRITE; }

// A transfer that failed, or whose file has no name, is in the model but makes no phase.
static bool is_transfer(const struct log_event *event) {
    return transfers(event->call) && !event->raw.error && event->file;
}

static uint64_t moved_bytes(const struct log_event *event) {
    return event->raw.has_result && event->raw.result > 0 ? (uint64_t)event->raw.result : 0;
}

// --- communication

static void add_comm(struct comm *sum, const struct comm *more) {
    for (unsigned k = 0; k < STREAM_COMM_KINDS; k++) {
        sum->of[k].count += more->of[k].count;
        sum->of[k].bytes += more->of[k].bytes;
        sum->of[k].units += more->of[k].units;
    }
}

static uint64_t calls_of(const struct comm *comm) {
    return comm->of[COMM_MOVING].count + comm->of[COMM_SYNCHRONISING].count;
}

static uint64_t thread_key(const struct loading *l, const struct log_process *process, uint32_t tid) {
    return lookup_pair((uint32_t)log_process_index(l->log, process), tid);
}

static int add_tail(struct loading *l, const struct log_comm *found) {
    if (found->kind != COMM_MOVING && found->kind != COMM_SYNCHRONISING) return 0;
    return array_push(l->tail, l->tails,
                      (struct tail){thread_key(l, found->process, found->tid), found->kind, found->count});
}

static int note_comm(const struct log_comm *found, void *context) {
    struct loading *l = context;
    if (!found->has_event) return add_tail(l, found);
    if (!l->comms || l->comm[l->comms - 1].event != found->event) {
        FORWARD(array_push(l->comm, l->comms, (struct comm){.event = found->event}));
    }
    struct stream_comm *sum = &l->comm[l->comms - 1].of[found->kind];
    sum->count += found->count;
    sum->bytes += found->bytes;
    sum->units += (uint64_t)(found->time_ns > 0 ? found->time_ns : 0);
    return 0;
}

static int compare_comms(const void *a, const void *b) {
    const struct comm *left = a, *right = b;
    return left->event < right->event ? -1 : left->event > right->event;
}

static int load_comm(struct loading *l) {
    FORWARD(log_comm(l->log, NULL, note_comm, l));
    if (!l->comms) return 0;
    qsort(l->comm, l->comms, sizeof *l->comm, compare_comms);
    size_t kept = 0;
    for (size_t i = 1; i < l->comms; i++) {
        if (l->comm[i].event == l->comm[kept].event)
            add_comm(&l->comm[kept], &l->comm[i]);
        else
            l->comm[++kept] = l->comm[i];
    }
    l->comms = kept + 1;
    return 0;
}

// Returns the communication before an event, or NULL. Events of a thread come almost in the order of their numbers.
static const struct comm *comm_before(const struct loading *l, struct carry *carry, uint64_t event) {
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
static bool is_chosen(struct loading *l, const struct log_event *event) {
    if (l->layer) return event->call->layer == l->layer;
    if (!event->has_parent) return true;
    return lookup_find(&l->parents, event->parent) == event->call->layer;
}

// --- kinds

static int lookup_kind(struct loading *l, const struct op_kind *kind, uint32_t *id) {
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

static int intern_kind(struct loading *l, const struct op_kind *kind, uint32_t *id) {
    uint32_t *recent = &l->recent[((uintptr_t)kind->call / 16 + kind->set) % RECENT_KINDS];
    if (*recent >= l->recorded->kinds || memcmp(&l->recorded->kind[*recent], kind, sizeof *kind)) {
        FORWARD(lookup_kind(l, kind, recent));
    }
    *id = *recent;
    return 0;
}

// The model keeps the name, so it must outlive the log.
static const char *name_of(struct loading *l, const struct log_call *call) {
    const char **name = &l->call_name[call->id];
    if (!*name) *name = arena_text(&l->recorded->arena, call->name);
    return *name;
}

static uint64_t attribute(const struct log_event *event, unsigned id) {
    return event->raw.attribute_mask & 1u << id ? event->raw.attribute[id] : 0;
}

static const struct file_place *place_of(const struct loading *l, const struct log_file *file) {
    return file ? &l->recorded->sets.place[log_file_index(l->log, file)] : NULL;
}

static int intern_hints(struct recorded *recorded, const struct log_hints *hints, uint32_t *id) {
    for (*id = 1; *id <= recorded->hints_count; ++*id) {
        if (recorded->hints[*id - 1] == hints) return 0;
    }
    return array_push(recorded->hints, recorded->hints_count, hints);
}

// Adds what only MPI calls have.
static int add_mpi(struct loading *l, const struct log_event *event, struct op_kind *kind, struct op *op) {
    struct types *types = &l->recorded->types;
    uint32_t place;
    if (event->hints) FORWARD(intern_hints(l->recorded, event->hints, &kind->hints));
    if (event->datatype) {
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

static int make_op(struct loading *l, const struct log_event *event, struct op *op) {
    const struct log_call *call = event->call;
    struct op_kind kind;
    memset(&kind, 0, sizeof kind); // padding too: kinds are compared as bytes
    const struct file_place *file = place_of(l, event->file), *second = place_of(l, event->file2);
    kind.call = name_of(l, call);
    RETURN_IF(!kind.call, -ENOMEM);
    kind.call_id = (uint16_t)call->build_id;
    kind.layer = call->layer;
    kind.class = call->class;
    kind.collective = call->traits & CALL_COLLECTIVE;
    kind.nonblocking = call->traits & CALL_ASYNC;
    bool seeks = call->traits & CALL_RESULT_IS_OFFSET && event->raw.has_result && !event->raw.error;
    kind.has_offset = seeks || (event->raw.has_offset && call->traits & CALL_HAS_OFFSET);
    kind.has_view = event->raw.attribute_mask & 1u << ATTRIBUTE_VIEW_OFFSET;
    kind.set = file ? file->set : OP_NO_SET;
    kind.set2 = second ? second->set : OP_NO_SET;
    if (call->class == CLASS_OPEN) kind.flags = (uint32_t)attribute(event, ATTRIBUTE_FLAGS);
    kind.whence = (uint32_t)attribute(event, ATTRIBUTE_WHENCE);
    kind.error = event->raw.error;
    *op = (struct op){0};
    op->at[AT_SECOND] = kind.has_view ? (int64_t)attribute(event, ATTRIBUTE_VIEW_OFFSET) : second ? second->member : 0;
    FORWARD(add_mpi(l, event, &kind, op));
    FORWARD(intern_kind(l, &kind, &op->kind));
    op->at[AT_MEMBER] = file ? file->member : 0;
    op->at[AT_OFFSET] = seeks ? event->raw.result : kind.has_offset ? (int64_t)event->raw.offset : 0;
    if (call->traits & CALL_HAS_SIZE || transfers(call)) op->at[AT_SIZE] = (int64_t)event->raw.size;
    if (transfers(call)) op->at[AT_SHORT] = op->at[AT_SIZE] - (int64_t)moved_bytes(event);
    return 0;
}

static int make_barrier(struct loading *l, uint64_t count, struct op *op) {
    struct op_kind kind;
    memset(&kind, 0, sizeof kind);
    kind.call = barrier_name;
    kind.set = kind.set2 = OP_NO_SET;
    *op = (struct op){.at[AT_SIZE] = (int64_t)count};
    return intern_kind(l, &kind, &op->kind);
}

// --- threads

static int intern_thread(struct loading *l, const struct log_event *event, uint32_t *at) {
    struct recorded *recorded = l->recorded;
    uint64_t key = thread_key(l, event->process, event->raw.tid);
    *at = lookup_find(&l->thread_of, key);
    if (*at != LOOKUP_NONE) return 0;
    *at = (uint32_t)recorded->count;
    FORWARD(array_room(l->carry, recorded->count));
    FORWARD(array_room(recorded->thread, recorded->count));
    l->carry[recorded->count] = (struct carry){0};
    recorded->thread[recorded->count++] = (struct thread_ops){.process = event->process, .tid = event->raw.tid};
    return lookup_set(&l->thread_of, key, *at);
}

static int add_other(struct thread_ops *thread, const struct op *op, const struct op_time *time, bool parted) {
    FORWARD(array_room(thread->other, thread->others));
    FORWARD(array_room(thread->other_time, thread->others));
    FORWARD(array_room(thread->other_parted, thread->others));
    thread->other[thread->others] = *op;
    thread->other[thread->others].at[AT_POSITION] = (int64_t)thread->transfers;
    thread->other_time[thread->others] = *time;
    thread->other_parted[thread->others++] = parted;
    return 0;
}

static int add_transfer(struct thread_ops *thread, const struct op *op, const struct op_time *time,
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
static int64_t close_gap(struct carry *carry, const struct log_event *event) {
    struct stream_comm *comm = carry->comm.of;
    int64_t comm_ns = 0;
    for (unsigned k = 0; k < STREAM_COMM_KINDS; k++) comm_ns += (int64_t)comm[k].units;
    int64_t think_ns = carry->begun ? event->start_ns - carry->end_ns - comm_ns : 0;
    if (think_ns < 0) think_ns = 0;
    carry->gap.moving += comm[COMM_MOVING].count;
    carry->gap.moving_bytes += comm[COMM_MOVING].bytes;
    carry->gap.synchronising += comm[COMM_SYNCHRONISING].count;
    carry->gap.comm_ns += comm_ns;
    carry->gap.idle_ns += think_ns;
    carry->begun = true;
    int64_t end_ns = event->start_ns + log_event_call_ns(event);
    if (end_ns > carry->end_ns) carry->end_ns = end_ns;
    return think_ns;
}

// True if the call creates its file.
static bool creates(const struct log_event *event) {
    if (event->call->class == CLASS_OPEN) {
        return !attribute(event, ATTRIBUTE_FILE_SIZE) && attribute(event, ATTRIBUTE_FLAGS) & O_CREAT;
    }
    return call_table[event->call->build_id].effect == EFFECT_CREATE;
}

static bool comes_first(bool known, int64_t known_ns, const struct log_event *event) {
    return !known || event->start_ns < known_ns;
}

// The first call on a name shows whether the file existed before.
static void note_name(struct recorded_file *file, const struct log_event *event, bool existed) {
    if (!comes_first(file->seen, file->seen_ns, event)) return;
    file->seen = true;
    file->seen_ns = event->start_ns;
    file->existed = existed;
}

// A call with two names creates the second one.
static void note_names(struct loading *l, const struct log_event *event) {
    struct recorded_file *file = &l->recorded->file[log_file_index(l->log, event->file)];
    int error = event->raw.error;
    if (event->file2 && !error) note_name(&l->recorded->file[log_file_index(l->log, event->file2)], event, false);
    if (!error || error == ENOENT || error == EEXIST) {
        note_name(file, event, error ? error == EEXIST : !creates(event));
    }
    if (file->existed && !error && event->call->class == CLASS_OPEN &&
        comes_first(file->sized, file->sized_ns, event)) {
        file->sized_ns = event->start_ns;
        if (file->sized || !file->reach) file->size_before = attribute(event, ATTRIBUTE_FILE_SIZE);
        file->sized = true;
    }
}

// A read from storage takes at least this long; a faster one was served from memory.
static int64_t memory_ns(uint64_t bytes) {
    return 20000 + (int64_t)bytes; // 1 GB/s
}

// Looks at all layers: only the lowest one sees how large a file was.
static void note_file(struct loading *l, const struct log_event *event) {
    if (!event->file) return;
    if (event->call->layer < LAYER_MPIIO) note_names(l, event);
    uint64_t moved = moved_bytes(event);
    if (event->raw.error || !transfers(event->call) || !moved) return;
    struct recorded_file *file = &l->recorded->file[log_file_index(l->log, event->file)];
    if (event->call->layer == LAYER_MPIIO) file->by_mpi = true;
    if (event->call->layer == LAYER_POSIX && event->call->class == CLASS_READ && event->raw.has_offset &&
        event->raw.offset < file->size_before) {
        file->read_before += moved;
        if (event->duration_ns < memory_ns(moved)) file->read_cached += moved;
    }
    uint64_t end = event->raw.offset + moved;
    if (event->raw.has_offset && end > file->reach) file->reach = end;
}

// Time before the end of an asynchronous transfer was seen belongs to the transfer; the pause is the time after that.
static void split_pause(struct thread_ops *thread, const struct carry *carry, int64_t start_ns, int64_t others_ns,
                        struct op_time *time) {
    if (!carry->is_async || carry->seen_ns > start_ns) return;
    int64_t after_ns = start_ns - carry->seen_ns - others_ns;
    if (after_ns < 0) after_ns = 0;
    if (after_ns >= time->think_ns) return;
    thread->time[thread->transfers - 1].overlap_ns = time->think_ns - after_ns;
    time->think_ns = after_ns;
}

static int add_event(struct loading *l, const struct log_event *event) {
    uint32_t at;
    note_file(l, event);
    bool transfer = is_transfer(event);
    if (!transfers(event->call)) FORWARD(lookup_set(&l->parents, event->id, event->call->layer));
    FORWARD(intern_thread(l, event, &at));
    struct thread_ops *thread = &l->recorded->thread[at];
    struct carry *carry = &l->carry[at];
    const struct comm *comm = comm_before(l, carry, event->id);
    if (comm) add_comm(&carry->comm, comm);
    if (comm) thread->comm_calls += calls_of(comm);
    if (!is_chosen(l, event)) return 0;
    struct recorded_left *left = &l->recorded->left;
    if (event->process->is_launcher) {
        if (transfers(event->call)) left->launchers += moved_bytes(event);
        return 0;
    }
    if (transfers(event->call) && !transfer) left->unnamed += moved_bytes(event);
    struct op op;
    int64_t others_ns = (int64_t)(carry->comm.of[COMM_SYNCHRONISING].units + carry->comm.of[COMM_MOVING].units);
    struct op_time time = {.start_ns = event->start_ns, .duration_ns = event->duration_ns};
    time.think_ns = close_gap(carry, event);
    split_pause(thread, carry, event->start_ns, others_ns, &time);
    carry->is_async = transfer && event->call->traits & CALL_ASYNC;
    carry->seen_ns = event->start_ns + event->duration_ns;
    uint64_t barriers = carry->comm.of[COMM_SYNCHRONISING].count;
    bool parted = carry->comm.of[COMM_MOVING].count > 0;
    if (barriers) {
        // It is not known where in the pause the barriers were. Usually a process waits for the others when its own
        // work is done.
        struct op_time before = {.start_ns = event->start_ns, .think_ns = time.think_ns};
        FORWARD(make_barrier(l, barriers, &op));
        FORWARD(add_other(thread, &op, &before, parted));
        time.think_ns = 0;
    }
    FORWARD(make_op(l, event, &op));
    carry->comm = (struct comm){0};
    if (!transfer) return add_other(thread, &op, &time, parted && !barriers);
    int code = add_transfer(thread, &op, &time, &carry->gap, event->raw.tick);
    carry->gap = (struct thread_gap){0};
    return code;
}

// --- after the last operation

// Counts barriers before calls that are not operations too, such as those of another layer.
static uint64_t barriers_behind(const struct carry *carry) {
    return carry->comm.of[COMM_SYNCHRONISING].count + carry->last_barriers;
}

static int add_barriers_behind(struct loading *l, uint32_t at, uint64_t count) {
    struct op op;
    const struct carry *carry = &l->carry[at];
    struct op_time time = {.start_ns = carry->seen_ns > carry->end_ns ? carry->seen_ns : carry->end_ns};
    FORWARD(make_barrier(l, count, &op));
    return add_other(&l->recorded->thread[at], &op, &time, false);
}

static bool waits_for_others(const struct thread_ops *thread) {
    return thread->process->has_rank && thread->comm_calls && (thread->transfers || thread->others);
}

// The last operation of a rank may have to wait for ranks that have finished their I/O. Barriers that all ranks have
// after their last operation are left out, because no operation follows them.
static int close_threads(struct loading *l) {
    const struct recorded *recorded = l->recorded;
    size_t worlds = log_world_count(l->log);
    SCOPED_FREE uint64_t *shared = malloc((worlds + 1) * sizeof *shared);
    RETURN_IF(!shared, -ENOMEM);
    for (size_t i = 0; i < worlds; i++) shared[i] = UINT64_MAX;
    for (size_t i = 0; i < recorded->count; i++) {
        const struct thread_ops *thread = &recorded->thread[i];
        uint64_t count = barriers_behind(&l->carry[i]);
        if (waits_for_others(thread) && count < shared[thread->process->world]) shared[thread->process->world] = count;
    }
    for (uint32_t i = 0; i < recorded->count; i++) {
        const struct thread_ops *thread = &recorded->thread[i];
        if (!waits_for_others(thread)) continue;
        uint64_t count = barriers_behind(&l->carry[i]) - shared[thread->process->world];
        if (count) FORWARD(add_barriers_behind(l, i, count));
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

// --- past the trace

// Bytes of a file that MPI-IO moved, and bytes that the layers below moved.
struct untraced {
    uint64_t mpi;
    uint64_t below;
};

struct counting {
    struct loading *l;
    struct untraced *of; // by file
};

static int add_untraced(const struct log_stats_record *record, void *context) {
    struct counting *counting = context;
    struct loading *l = counting->l;
    uint64_t bytes = counters_bytes(&record->counters);
    if (l->layer && record->layer != l->layer) return 0;
    if (record->process->is_launcher) {
        l->recorded->left.launchers += bytes;
        return 0;
    }
    struct untraced *file = &counting->of[log_file_index(l->log, record->file)];
    *(record->layer == LAYER_MPIIO ? &file->mpi : &file->below) += bytes;
    return 0;
}

// Counters do not say which call caused which. Bytes of the lower layers on a file that MPI-IO used count as MPI-IO's.
static int count_untraced(struct loading *l) {
    size_t files = log_file_count(l->log);
    SCOPED_FREE struct untraced *of = calloc(files + 1, sizeof *of);
    RETURN_IF(!of, -ENOMEM);
    FORWARD(log_stats_untraced(l->log, add_untraced, &(struct counting){l, of}));
    for (size_t i = 0; i < files; i++) {
        bool by_mpi = !l->layer && (of[i].mpi || l->recorded->file[i].by_mpi);
        l->recorded->left.untraced += by_mpi ? of[i].mpi : of[i].mpi + of[i].below;
    }
    return 0;
}

// --- the whole

static int load_sets(struct loading *l) {
    size_t count = log_file_count(l->log);
    SCOPED_FREE const char **names = calloc(count + 1, sizeof *names);
    l->recorded->file = calloc(count + 1, sizeof *l->recorded->file);
    RETURN_IF(!names || !l->recorded->file, -ENOMEM);
    for (size_t i = 0; i < count; i++) names[i] = log_file_at(l->log, i)->name;
    return file_sets_make(&l->recorded->sets, names, count);
}

static int load_events(struct loading *l) {
    struct log_iter *iter;
    const struct log_event *event;
    FORWARD(log_iter_open(&iter, l->log, NULL));
    int code;
    while ((code = log_iter_next(iter, &event)) == 1) {
        code = add_event(l, event);
        if (code < 0) break;
    }
    log_iter_close(iter);
    for (size_t i = 0; i < l->tails && !code; i++) {
        uint32_t thread = lookup_find(&l->thread_of, l->tail[i].thread);
        if (thread == LOOKUP_NONE) continue;
        l->recorded->thread[thread].comm_calls += l->tail[i].calls;
        if (l->tail[i].kind == COMM_SYNCHRONISING) l->carry[thread].last_barriers += l->tail[i].calls;
    }
    return code ? code : close_threads(l);
}

int recorded_load(struct recorded *recorded, struct log *log, unsigned layer) {
    struct loading l = {.recorded = recorded, .log = log, .layer = layer};
    *recorded = (struct recorded){0};
    l.call_name = calloc(log_call_ids(log) + 1, sizeof *l.call_name);
    int code = l.call_name ? load_sets(&l) : -ENOMEM;
    if (!code) code = load_comm(&l);
    if (!code) code = load_events(&l);
    if (!code) code = count_untraced(&l);
    if (!code) code = order_types(recorded);
    if (!code) code = recorded_find_programs(recorded, log);
    if (!code) count_ahead(recorded);
    lookup_free(&l.parents);
    lookup_free(&l.thread_of);
    lookup_free(&l.kind_of);
    free(l.call_name);
    free(l.comm);
    free(l.tail);
    free(l.carry);
    if (code) recorded_free(recorded);
    return code;
}

void thread_ops_free(struct thread_ops *thread) {
    free(thread->transfer);
    free(thread->time);
    free(thread->gap);
    free(thread->tick);
    free(thread->other);
    free(thread->other_time);
    free(thread->other_parted);
}

void recorded_free(struct recorded *recorded) {
    for (size_t i = 0; i < recorded->count; i++) thread_ops_free(&recorded->thread[i]);
    free(recorded->thread);
    free(recorded->program);
    free(recorded->kind);
    free(recorded->file);
    free(recorded->hints);
    types_free(&recorded->types);
    file_sets_free(&recorded->sets);
    arena_free(&recorded->arena);
    *recorded = (struct recorded){0};
}
