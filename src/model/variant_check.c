// Whether a program can do its I/O as a variant says. Ranks that are to make calls together must come to them in the
// same order: this goes through the meetings of all ranks, phase by phase, as the replay will.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/phase_list.h"
#include "model/variant_calls.h"

// Ranks that wait for each other: for a call, or a synchronisation.
struct meeting {
    uint32_t size; // how many must come
    uint32_t came;
};

enum { MEETS, SENDS, RECEIVES };

// What a rank does, so many times.
struct event {
    uint32_t what;
    uint32_t with; // the meeting, or the other rank
    uint64_t times;
};

// The file that a handle of a rank is open on, by set, member and handle.
struct handle {
    uint32_t communicator; // place + 1; 0: all ranks
    uint32_t opens;
    uint32_t etype_bytes;
};

struct rank {
    struct event *event;
    size_t events, next;
    bool waits; // at a meeting that others have not come to
    struct handle *handle;
    size_t handles;
    struct lookup handle_of;
    struct lookup closes_of; // set and member -> how often a POSIX call closed it
    struct variant_stream stream;
    struct model_step held; // of the stream
};

struct checking {
    const struct variant *variant;
    const struct model *model;
    uint32_t program, np;
    const char *phases;
    struct variant_files files;
    struct meeting *meeting;
    size_t meetings;
    struct lookup meeting_of; // hash -> place
    struct lookup messages;   // from, to -> how many are under way
    struct rank *rank;        // by rank
    uint32_t at;              // the rank whose operations are read
    bool collective, resizes; // a transfer is, or is made in calls of another size
};

// --- what a rank does

static int add_event(struct rank *rank, uint32_t what, uint32_t with, uint64_t times) {
    struct event *last = rank->events ? &rank->event[rank->events - 1] : NULL;
    if (last && last->what == what && last->with == with) {
        last->times += times;
        return 0;
    }
    struct event event = {what, with, times};
    return array_push(rank->event, rank->events, event);
}

static int add_meeting(struct checking *c, uint64_t key, uint32_t size, uint64_t times) {
    uint32_t place = lookup_find(&c->meeting_of, key);
    if (place == LOOKUP_NONE) {
        struct meeting meeting = {size, 0};
        place = (uint32_t)c->meetings;
        FORWARD(array_push(c->meeting, c->meetings, meeting));
        FORWARD(lookup_set(&c->meeting_of, key, place));
    }
    return add_event(&c->rank[c->at], MEETS, place, times);
}

// Of all ranks of a communicator, for something that `key` names.
static int meet_on(struct checking *c, uint32_t communicator, uint64_t key, uint64_t times) {
    struct model_membership mine, other;
    uint32_t size = 0;
    if (!communicator) return add_meeting(c, hash_add(key, 0), c->np, times);
    FORWARD(model_membership(c->model, communicator - 1, c->at, &mine));
    if (mine.color < 0) return 0;
    key = hash_add(hash_add(key, communicator), (uint64_t)mine.color);
    if (lookup_find(&c->meeting_of, key) != LOOKUP_NONE) return add_meeting(c, key, 0, times);
    for (uint32_t rank = 0; rank < c->np; rank++) {
        FORWARD(model_membership(c->model, communicator - 1, rank, &other));
        size += mine.color == other.color;
    }
    return add_meeting(c, key, size, times);
}

static uint64_t handle_key(const struct model_step *step) {
    return hash_add(hash_add(step->kind->handle, step->kind->set), (uint64_t)step->op->at[AT_MEMBER]);
}

static struct handle *handle_of(struct checking *c, const struct model_step *step) {
    struct rank *rank = &c->rank[c->at];
    uint32_t place = lookup_find(&rank->handle_of, handle_key(step));
    if (place != LOOKUP_NONE) return &rank->handle[place];
    struct handle none = {0};
    place = (uint32_t)rank->handles;
    if (array_push(rank->handle, rank->handles, none) < 0) return NULL;
    return lookup_set(&rank->handle_of, handle_key(step), place) < 0 ? NULL : &rank->handle[place];
}

static uint64_t closes_key(const struct model_step *step) {
    return lookup_pair(step->kind->set, (uint32_t)step->op->at[AT_MEMBER]);
}

static uint32_t closes_of(const struct checking *c, const struct model_step *step) {
    uint32_t closes = lookup_find(&c->rank[c->at].closes_of, closes_key(step));
    return closes == LOOKUP_NONE ? 0 : closes;
}

// A call that the ranks of a file make together. If they opened or closed it a different number of times, they do not
// mean the same file.
static int meet_at_file(struct checking *c, const struct model_step *step) {
    const struct variant_file *file = variant_file_of(&c->files, step->kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    uint64_t key = hash_add(handle_key(step), (uint64_t)step->kind->class << 8 | step->kind->layer);
    if (step->kind->layer == LAYER_POSIX) return add_meeting(c, hash_add(key, closes_of(c, step)), file->users, 1);
    const struct handle *handle = handle_of(c, step);
    RETURN_IF(!handle, -ENOMEM);
    return meet_on(c, handle->communicator, hash_add(key, handle->opens), 1);
}

static int meet_for_call(int64_t at, uint64_t bytes, void *context) {
    struct checking *c = context;
    (void)at, (void)bytes;
    return meet_at_file(c, &c->rank[c->at].held);
}

static int end_stream(struct checking *c) {
    return variant_stream_end(&c->rank[c->at].stream, c->variant, meet_for_call, c);
}

static int note_transfer(struct checking *c, const struct model_step *step) {
    struct rank *rank = &c->rank[c->at];
    enum variant_way way = variant_way(c->variant, &c->files, step);
    int64_t at = step->op->at[step->kind->has_view ? AT_SECOND : AT_OFFSET], member = step->op->at[AT_MEMBER];
    bool resizes = variant_resizes(c->variant, &c->files, step);
    if (!resizes || !variant_stream_joins(&rank->stream, step->kind, member, at)) FORWARD(end_stream(c));
    bool meets = way == WAY_COLLECTIVE || (way == WAY_RECORDED && step->kind->collective);
    c->collective |= meets;
    c->resizes |= resizes;
    if (!meets) return 0;
    if (!resizes) return meet_at_file(c, step);
    const struct handle *handle = step->kind->has_view ? handle_of(c, step) : NULL;
    rank->held = *step;
    return variant_stream_add(&rank->stream, c->variant, step->kind, member, at, (uint64_t)step->op->at[AT_SIZE],
                              handle ? handle->etype_bytes : step->kind->has_view, meet_for_call, c);
}

static int note_sync(struct checking *c, const struct model_step *step) {
    struct rank *rank = &c->rank[c->at];
    uint64_t times = (uint64_t)step->op->at[AT_SIZE];
    bool is_message = step->kind->sync == SYNC_SEND || step->kind->sync == SYNC_RECEIVE;
    if (is_message && c->phases) return 0; // the replay does without
    switch (step->kind->sync) {
    case SYNC_SEND: return add_event(rank, SENDS, (uint32_t)step->op->at[AT_MEMBER], times);
    case SYNC_RECEIVE: return add_event(rank, RECEIVES, (uint32_t)step->op->at[AT_MEMBER], times);
    default: return meet_on(c, step->kind->communicator, 0, times);
    }
}

// Opens, closes, views.
static int note_other(struct checking *c, const struct model_step *step) {
    const struct op_kind *kind = step->kind;
    if (kind->set == OP_NO_SET || kind->error) return 0;
    if (kind->layer == LAYER_POSIX && kind->class == CLASS_CLOSE)
        return lookup_set(&c->rank[c->at].closes_of, closes_key(step), closes_of(c, step) + 1);
    if (kind->layer != LAYER_MPIIO) return 0;
    struct handle *handle = handle_of(c, step);
    RETURN_IF(!handle, -ENOMEM);
    if (kind->class == CLASS_OPEN) {
        *handle = (struct handle){kind->communicator, handle->opens + 1, 1};
    }
    if (kind->etype_bytes) handle->etype_bytes = kind->etype_bytes;
    return kind->collective ? meet_at_file(c, step) : 0;
}

static int note_step(const struct model_step *step, void *context) {
    struct checking *c = context;
    if (op_kind_moves(step->kind)) return note_transfer(c, step);
    if (!variant_stream_lets_pass(step->kind)) FORWARD(end_stream(c));
    return step->kind->sync ? note_sync(c, step) : note_other(c, step);
}

// --- whether all come to their meetings

static uint32_t count_messages(const struct checking *c, uint32_t from, uint32_t to) {
    uint32_t count = lookup_find(&c->messages, lookup_pair(from, to));
    return count == LOOKUP_NONE ? 0 : count;
}

static int set_messages(struct checking *c, uint32_t from, uint32_t to, uint64_t count) {
    return lookup_set(&c->messages, lookup_pair(from, to), count < LOOKUP_NONE ? (uint32_t)count : LOOKUP_NONE - 1);
}

static void finish(struct rank *rank, uint64_t times) {
    struct event *event = &rank->event[rank->next];
    event->times -= times;
    rank->waits = false;
    if (!event->times) rank->next++;
}

// All have come: they leave together, as often as all of them come here in a row.
static void leave(struct checking *c, uint32_t meeting) {
    uint64_t times = UINT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < c->np; i++) {
            struct rank *rank = &c->rank[i];
            const struct event *event = &rank->event[rank->next];
            if (!rank->waits || event->what != MEETS || event->with != meeting) continue;
            if (pass)
                finish(rank, times);
            else if (event->times < times)
                times = event->times;
        }
    }
    c->meeting[meeting].came = 0;
}

// Goes on with a rank until it waits. Returns 1 if that changed something.
static int go_on(struct checking *c, uint32_t number) {
    struct rank *rank = &c->rank[number];
    int moved = 0;
    for (; rank->next < rank->events && !rank->waits; moved = 1) {
        const struct event *event = &rank->event[rank->next];
        if (event->what == SENDS) {
            uint64_t count = count_messages(c, number, event->with) + event->times;
            FORWARD(set_messages(c, number, event->with, count));
            finish(rank, event->times);
        } else if (event->what == RECEIVES) {
            uint64_t there = count_messages(c, event->with, number), taken = there;
            if (!there) return moved;
            if (taken > event->times) taken = event->times;
            FORWARD(set_messages(c, event->with, number, there - taken));
            finish(rank, taken);
        } else {
            rank->waits = true;
            if (++c->meeting[event->with].came == c->meeting[event->with].size) leave(c, event->with);
        }
    }
    return moved;
}

static int run_events(struct checking *c) {
    int moved = 1;
    while (moved > 0) {
        moved = 0;
        for (uint32_t i = 0; i < c->np && moved >= 0; i++) {
            int code = go_on(c, i);
            moved = code < 0 ? code : moved | code;
        }
    }
    for (uint32_t i = 0; i < c->np; i++) { // what is left waits for the next phase
        struct rank *rank = &c->rank[i];
        rank->events -= rank->next;
        memmove(rank->event, rank->event + rank->next, rank->events * sizeof *rank->event);
        rank->next = 0;
    }
    return moved;
}

// 1 if all ranks come to the end, 0 if not.
static int try_all(struct checking *c) {
    const struct model_program *program = &c->model->program[c->program];
    for (size_t i = program->first; i < program->end; i++) {
        if (!phase_list_has(c->phases, i + 1)) continue;
        for (c->at = 0; c->at < c->np; c->at++) {
            FORWARD(model_expand_phase(c->model, (uint32_t)i, c->at, 0, note_step, c));
            FORWARD(end_stream(c));
        }
        FORWARD(run_events(c));
    }
    for (uint32_t i = 0; i < c->np; i++) {
        if (c->rank[i].events) return 0;
    }
    return 1;
}

static void checking_free(struct checking *c) {
    for (uint32_t i = 0; i < c->np && c->rank; i++) {
        free(c->rank[i].event);
        free(c->rank[i].handle);
        lookup_free(&c->rank[i].handle_of);
        lookup_free(&c->rank[i].closes_of);
    }
    free(c->rank);
    free(c->meeting);
    lookup_free(&c->meeting_of);
    lookup_free(&c->messages);
    variant_files_free(&c->files);
}

// Whether ranks that are to make calls together come to them in the same order, and whether that is another way at all.
static int come_together(const struct variant *variant, const struct model *model, uint32_t program, const char *phases,
                         const char **why) {
    struct checking c = {.variant = variant, .model = model, .program = program, .phases = phases};
    bool wants_size = variant->request || variant->request_factor > 0 || variant->alignment;
    c.np = model->program[program].np;
    c.rank = calloc(c.np + 1, sizeof *c.rank);
    int code = c.rank ? variant_files_find(&c.files, model, program, phases) : -ENOMEM;
    if (!code) code = try_all(&c);
    if (!code || (variant->interface == VARIANT_COLLECTIVE && !c.collective))
        *why = "the ranks make different numbers of calls, or in another order";
    else if (wants_size && !c.resizes)
        *why = "the ranks move different sizes in their collective calls";
    checking_free(&c);
    return code < 0 ? code : 0;
}

// --- own files: a rank must not read what it did not write

struct range {
    int64_t low, high;
};

struct owning {
    const struct model *model;
    const char *phases;
    struct variant_files files;
    struct range *written, *read; // by place of the file
};

static void widen(struct range *range, const struct op *op) {
    int64_t low = op->at[AT_OFFSET], high = low + op->at[AT_SIZE] - op->at[AT_SHORT];
    if (high <= low) return;
    if (range->high == range->low) *range = (struct range){low, high};
    if (low < range->low) range->low = low;
    if (high > range->high) range->high = high;
}

static int note_range(const struct model_step *step, void *context) {
    struct owning *o = context;
    if (!op_kind_moves(step->kind) || step->kind->set == OP_NO_SET) return 0;
    const struct variant_file *file = variant_file_of(&o->files, step->kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    if (!file) return 0;
    widen(&(step->kind->class == CLASS_WRITE ? o->written : o->read)[file - o->files.file], step->op);
    return 0;
}

// 1 if what the rank reads lies between what it writes, else 0.
static int is_own(struct owning *o, uint32_t program, uint32_t rank) {
    memset(o->written, 0, o->files.count * sizeof *o->written);
    memset(o->read, 0, o->files.count * sizeof *o->read);
    const struct model_program *of = &o->model->program[program];
    uint32_t threads = model_threads(o->model, program);
    for (size_t i = of->first; i < of->end; i++) {
        for (uint32_t thread = 0; thread < threads && phase_list_has(o->phases, i + 1); thread++)
            FORWARD(model_expand_phase(o->model, (uint32_t)i, rank, thread, note_range, o));
    }
    for (size_t i = 0; i < o->files.count; i++) {
        const struct range *read = &o->read[i], *written = &o->written[i];
        if (o->files.file[i].users < 2 || read->high == read->low) continue;
        if (read->low < written->low || read->high > written->high) return 0;
    }
    return 1;
}

static int are_own(const struct model *model, uint32_t program, const char *phases) {
    struct owning o = {.model = model, .phases = phases};
    int code = variant_files_find(&o.files, model, program, phases);
    o.written = calloc(o.files.count + 1, sizeof *o.written);
    o.read = calloc(o.files.count + 1, sizeof *o.read);
    if (!code) code = o.written && o.read ? 1 : -ENOMEM;
    for (uint32_t rank = 0; rank < model->program[program].np && code == 1; rank++) code = is_own(&o, program, rank);
    free(o.written);
    free(o.read);
    variant_files_free(&o.files);
    return code;
}

// --- reasons

// What the program does.
struct uses {
    bool mpiio, collective, view;
};

static void note_uses(const struct op_kind *kind, void *context) {
    struct uses *uses = context;
    uses->mpiio |= kind->layer == LAYER_MPIIO && op_kind_moves(kind);
    uses->collective |= kind->collective && op_kind_moves(kind);
    uses->view |= kind->has_view;
}

// 1 if one of the files has several ranks.
static int has_shared(const struct model *model, uint32_t program, const char *phases) {
    struct variant_files files;
    int found = variant_files_find(&files, model, program, phases);
    for (size_t i = 0; i < files.count && !found; i++) found = files.file[i].users > 1;
    variant_files_free(&files);
    return found;
}

static bool has_cut_type(const struct model *model) {
    for (size_t i = 0; i < model->types.count; i++) {
        if (model->types.type[i].cut) return true;
    }
    return false;
}

// Reasons that need no look at single operations; NULL: there are none.
static const char *simple_reason(const struct variant *variant, const struct model *model, uint32_t program,
                                 const struct uses *uses) {
    bool by_mpi = variant->interface == VARIANT_COLLECTIVE || variant->interface == VARIANT_INDEPENDENT;
    bool hints = variant->cb_nodes || variant->cb_buffer || variant->sieving;
    if (by_mpi && !model->program[program].is_mpi) return "the program does not use MPI";
    if (hints && !by_mpi && (!uses->mpiio || variant->interface == VARIANT_POSIX))
        return "hints are for calls of MPI-IO, and there are none";
    if (variant->own_files && variant->interface == VARIANT_COLLECTIVE)
        return "ranks with files of their own have nothing to do together";
    if (variant->interface == VARIANT_POSIX && uses->view && has_cut_type(model))
        return "a file view has too many pieces to be known as a whole";
    return NULL;
}

int variant_check(const struct variant *variant, const struct model *model, uint32_t program, const char **why) {
    return variant_check_phases(variant, model, program, NULL, why);
}

int variant_check_phases(const struct variant *variant, const struct model *model, uint32_t program, const char *phases,
                         const char **why) {
    struct uses uses = {0};
    FORWARD(phase_kinds(model, program, phases, note_uses, &uses));
    bool resizes = variant->request || variant->request_factor > 0 || variant->alignment;
    bool together = variant->interface == VARIANT_COLLECTIVE || (resizes && !variant->interface && uses.collective);
    *why = simple_reason(variant, model, program, &uses);
    if (*why) return 0;
    bool shares = variant->own_files || variant->interface == VARIANT_COLLECTIVE;
    int code = shares ? has_shared(model, program, phases) : 1;
    if (!code) *why = "no file is used by several ranks";
    if (code == 1 && variant->own_files) {
        code = are_own(model, program, phases);
        if (!code) *why = "ranks read what they did not write";
    }
    if (code == 1 && together && model_threads(model, program) > 1) {
        *why = "several threads of a process do its I/O";
    } else if (code == 1 && together && !variant->own_files) {
        code = come_together(variant, model, program, phases, why);
    }
    return code < 0 ? code : 0;
}
