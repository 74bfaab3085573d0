// Files that one thread opens and others use. The first use waits for the open, and a close waits for the last use.
// Otherwise a replay could use a file before it is open, or after it is closed. A log does not say which descriptor a
// thread uses; a thread that opened the file itself is assumed to use, and to close, its own.
//
// The same holds for names: calls that look up a name wait until another thread has made or removed it, or its folder,
// and making or removing it waits for the lookups before it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/build/build.h"

enum { MOST_THREADS = 256 }; // of a process: each close looks at all of them

// A thread of the process. Its operations are numbered from 1, barriers left out.
struct user {
    const struct thread_ops *ops;
    size_t transfer, other; // the next of each
    uint32_t number;        // of the operations before these
    struct lookup last;     // by file: number of its last operation on it
    struct lookup named;    // by file: number of its last operation that looked up the name
    struct lookup own;      // by file: how often it opened it, less how often it closed it
};

// The last time that a name was made or removed.
struct name_change {
    uint32_t thread;
    uint32_t number; // of the operation
    bool removed;
    int64_t end_ns;
};

// For one thread that waits for another: which operation waits for which.
struct wait_rows {
    int64_t *op, *done; // ascending, both
    size_t count;
};

struct file_waits {
    const struct recorded *recorded;
    const struct lookup *folder; // by file: place of its folder in the log's table, if the program used that, too
    struct user *user;
    uint32_t users;
    struct lookup opener, opened; // by file: the thread that opened it last, and the number of the open
    struct lookup changed;        // by file: place of its last change
    struct name_change *change;
    size_t changes;
    struct wait_rows *rows; // [thread * users + other thread]
};

// The thread's current operation waits for operation `done` of `behind`, unless an earlier one has waited for that.
static int add_wait(struct file_waits *w, uint32_t thread, uint32_t behind, uint32_t done) {
    struct wait_rows *rows = &w->rows[(size_t)thread * w->users + behind];
    if (rows->count && rows->done[rows->count - 1] >= done) return 0;
    if (rows->count && rows->op[rows->count - 1] == w->user[thread].number) rows->count--;
    FORWARD(array_room(rows->op, rows->count));
    FORWARD(array_room(rows->done, rows->count));
    rows->op[rows->count] = w->user[thread].number;
    rows->done[rows->count++] = done;
    return 0;
}

static uint32_t own_count(const struct user *user, uint64_t file) {
    uint32_t count = lookup_find(&user->own, file);
    return count == LOOKUP_NONE ? 0 : count;
}

static int add_close(struct file_waits *w, uint32_t thread, uint64_t file) {
    uint32_t own = own_count(&w->user[thread], file);
    for (uint32_t i = 0; i < w->users; i++) {
        uint32_t last = i == thread ? LOOKUP_NONE : lookup_find(&w->user[i].last, file);
        if (last == LOOKUP_NONE || (own && own_count(&w->user[i], file))) continue;
        FORWARD(add_wait(w, thread, i, last));
    }
    return own ? lookup_set(&w->user[thread].own, file, own - 1) : 0;
}

// --- names

static struct name_change *change_of(const struct file_waits *w, uint64_t file) {
    uint32_t place = lookup_find(&w->changed, file);
    return place == LOOKUP_NONE ? NULL : &w->change[place];
}

// A name that another thread removes during the call may still have been there.
static int add_name(struct file_waits *w, uint32_t thread, uint64_t file, const struct op_time *time) {
    const struct name_change *change = change_of(w, file);
    bool is_known = change && change->thread != thread && !(change->removed && change->end_ns > time->start_ns);
    if (is_known) FORWARD(add_wait(w, thread, change->thread, change->number));
    return lookup_set(&w->user[thread].named, file, w->user[thread].number);
}

static int add_lookup(struct file_waits *w, uint32_t thread, uint64_t file, const struct op_time *time) {
    uint32_t folder = lookup_find(w->folder, file);
    if (folder != LOOKUP_NONE) {
        const struct file_place *place = &w->recorded->sets.place[folder];
        FORWARD(add_name(w, thread, lookup_pair(place->set, place->member), time));
    }
    return add_name(w, thread, file, time);
}

static int add_change(struct file_waits *w, uint32_t thread, uint64_t file, bool removes, const struct op_time *time) {
    struct name_change *change = change_of(w, file);
    FORWARD(add_lookup(w, thread, file, time));
    for (uint32_t i = 0; i < w->users; i++) {
        uint32_t last = i == thread ? LOOKUP_NONE : lookup_find(&w->user[i].named, file);
        if (last != LOOKUP_NONE) FORWARD(add_wait(w, thread, i, last));
    }
    if (!change) {
        FORWARD(array_room(w->change, w->changes));
        FORWARD(lookup_set(&w->changed, file, (uint32_t)w->changes));
        change = &w->change[w->changes++];
    }
    *change = (struct name_change){.thread = thread,
                                   .number = w->user[thread].number,
                                   .removed = removes,
                                   .end_ns = time->start_ns + time->duration_ns};
    return 0;
}

static int add_names(struct file_waits *w, uint32_t thread, const struct op *op, const struct op_time *time) {
    const struct op_kind *kind = &w->recorded->kind[op->kind];
    uint64_t file = lookup_pair(kind->set, (uint32_t)op->at[AT_MEMBER]);
    uint64_t second = lookup_pair(kind->set2, (uint32_t)op->at[AT_SECOND]);
    unsigned effect = call_table[kind->call_id].effect;
    bool opens = kind->class == CLASS_OPEN, creates = effect == EFFECT_CREATE || (opens && kind->flags & O_CREAT);
    const struct name_change *change = change_of(w, file);
    if (!opens && (kind->class != CLASS_META || effect == EFFECT_NONE)) return 0;
    if (kind->error) return add_lookup(w, thread, file, time);
    if (effect == EFFECT_RENAME || effect == EFFECT_LINK) FORWARD(add_change(w, thread, second, false, time));
    if (effect == EFFECT_REMOVE || effect == EFFECT_RENAME) return add_change(w, thread, file, true, time);
    if (creates && (!change || change->removed)) return add_change(w, thread, file, false, time);
    return add_lookup(w, thread, file, time);
}

// --- descriptors

static int add_operation(struct file_waits *w, uint32_t thread, const struct op *op) {
    const struct op_kind *kind = &w->recorded->kind[op->kind];
    struct user *user = &w->user[thread];
    if (kind->set == OP_NO_SET || kind->error) return 0;
    uint64_t file = lookup_pair(kind->set, (uint32_t)op->at[AT_MEMBER]);
    if (kind->class == CLASS_CLOSE) return add_close(w, thread, file);
    uint32_t own = own_count(user, file), opener = lookup_find(&w->opener, file);
    if (kind->class == CLASS_OPEN) {
        FORWARD(lookup_set(&w->opener, file, thread));
        FORWARD(lookup_set(&w->opened, file, user->number));
        return lookup_set(&user->own, file, own + 1);
    }
    if (!own && opener != LOOKUP_NONE && opener != thread) {
        FORWARD(add_wait(w, thread, opener, lookup_find(&w->opened, file)));
    }
    return kind->nonblocking ? 0
                             : lookup_set(&user->last, file, user->number); // the end of a nonblocking one is not seen
}

// --- the operations of all threads, in the order in which they began

static bool other_is_next(const struct user *user) {
    const struct thread_ops *thread = user->ops;
    return user->other < thread->others && thread->other[user->other].at[AT_POSITION] <= (int64_t)user->transfer;
}

static int64_t next_start_ns(const struct user *user) {
    if (other_is_next(user)) return user->ops->other_time[user->other].start_ns;
    return user->transfer < user->ops->transfers ? user->ops->time[user->transfer].start_ns : INT64_MAX;
}

static int add_process(struct file_waits *w) {
    for (;;) {
        uint32_t thread = 0;
        int64_t first_ns = INT64_MAX;
        for (uint32_t i = 0; i < w->users; i++) {
            int64_t start_ns = next_start_ns(&w->user[i]);
            if (start_ns < first_ns) first_ns = start_ns, thread = i;
        }
        if (first_ns == INT64_MAX) return 0;
        struct user *user = &w->user[thread];
        bool other = other_is_next(user);
        const struct op *op = other ? &user->ops->other[user->other++] : &user->ops->transfer[user->transfer++];
        const struct op_kind *kind = &w->recorded->kind[op->kind];
        if (kind->class == CLASS_NONE) continue;
        RETURN_IF(++user->number == LOOKUP_NONE, ERR_LIMIT);
        if (other && kind->set != OP_NO_SET) {
            FORWARD(add_names(w, thread, op, &user->ops->other_time[user->other - 1]));
        }
        FORWARD(add_operation(w, thread, op));
    }
}

static int copy_rows(struct building *b, const struct file_waits *w) {
    struct model *model = b->model;
    for (uint32_t i = 0; i < w->users * w->users; i++) {
        const struct wait_rows *rows = &w->rows[i];
        if (!rows->count) continue;
        FORWARD(array_room(model->wait, model->waits));
        struct model_wait *wait = &model->wait[model->waits];
        *wait = (struct model_wait){.program = w->user->ops->program,
                                    .rank = w->user->ops->rank,
                                    .thread = i / w->users,
                                    .behind = i % w->users,
                                    .op = arena_copy(&model->arena, rows->op, rows->count * sizeof *rows->op),
                                    .done = arena_copy(&model->arena, rows->done, rows->count * sizeof *rows->done),
                                    .count = rows->count};
        RETURN_IF(!wait->op || !wait->done, -ENOMEM);
        model->waits++;
    }
    return 0;
}

static int build_process(struct building *b, const struct lookup *folder, const struct thread_ops *thread,
                         uint32_t threads) {
    struct file_waits w = {.recorded = &b->recorded,
                           .folder = folder,
                           .user = calloc(threads, sizeof *w.user),
                           .users = threads,
                           .rows = calloc((size_t)threads * threads, sizeof *w.rows)};
    int code = w.user && w.rows ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < threads && !code; i++) w.user[i].ops = &thread[i];
    if (!code) code = add_process(&w);
    if (!code) code = copy_rows(b, &w);
    for (uint32_t i = 0; i < threads && w.user; i++) {
        lookup_free(&w.user[i].last);
        lookup_free(&w.user[i].own);
        lookup_free(&w.user[i].named);
    }
    for (uint32_t i = 0; i < threads * threads && w.rows; i++) {
        free(w.rows[i].op);
        free(w.rows[i].done);
    }
    lookup_free(&w.opener);
    lookup_free(&w.opened);
    lookup_free(&w.changed);
    free(w.change);
    free(w.user);
    free(w.rows);
    return code == ERR_LIMIT ? 0 : code;
}

static int find_folders(const struct building *b, struct lookup *folder) {
    SCOPED(lookup_free) struct lookup by_name = {0}; // by hash of the name: place in the log's table
    size_t count = b->log ? log_file_count(b->log) : 0;
    for (size_t i = 0; i < count; i++) {
        FORWARD(lookup_set(&by_name, hash_text(0, log_file_at(b->log, i)->name), (uint32_t)i));
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = log_file_at(b->log, i)->name, *slash = strrchr(name, '/');
        uint32_t found = slash ? lookup_find(&by_name, hash_bytes(0, name, (size_t)(slash - name))) : LOOKUP_NONE;
        const struct file_place *place = &b->recorded.sets.place[i];
        if (found != LOOKUP_NONE) FORWARD(lookup_set(folder, lookup_pair(place->set, place->member), found));
    }
    return 0;
}

int build_file_waits(struct building *b) {
    struct recorded *recorded = &b->recorded;
    SCOPED(lookup_free) struct lookup folder = {0};
    for (size_t first = 0, end; first < recorded->count; first = end) {
        for (end = first + 1; end < recorded->count && recorded->thread[end].number; end++) continue;
        size_t threads = end - first;
        if (threads < 2 || threads > MOST_THREADS) continue;
        if (!folder.count) FORWARD(find_folders(b, &folder));
        FORWARD(build_process(b, &folder, &recorded->thread[first], (uint32_t)threads));
    }
    return 0;
}
