// Files that one thread opens and others use. The first use waits for the open, and a close waits for the last use.
// Otherwise a replay could use a file before it is open, or after it is closed. A log does not say which descriptor a
// thread uses; a thread that opened the file itself is assumed to use, and to close, its own. A process that uses a
// file which none of its threads has opened has inherited it.
//
// Names (name_waits.c) and sizes (size_waits.c) follow the same idea. In programs without MPI all processes wait for
// each other; ranks of MPI have synchronisations instead, and only the threads of a process wait for each other.
#include "model/build/file_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "log/heap.h"

enum { MOST_THREADS = 256 }; // of a process: each close looks at all of them

// --- which operation waits for which

static int rows_of(struct file_waits *w, uint32_t user, uint32_t behind, struct wait_rows **rows) {
    uint64_t key = lookup_pair(user, behind);
    uint32_t place = lookup_find(&w->rows_of, key);
    if (place == LOOKUP_NONE) {
        place = (uint32_t)w->row_count;
        FORWARD(array_push(w->rows, w->row_count, (struct wait_rows){.user = user, .behind = behind}));
        FORWARD(lookup_set(&w->rows_of, key, place));
    }
    *rows = &w->rows[place];
    return 0;
}

static bool waits_for(const struct file_waits *w, struct wait_op op, struct wait_op behind) {
    uint32_t place = lookup_find(&w->rows_of, lookup_pair(op.user, behind.user));
    const struct wait_rows *rows = place == LOOKUP_NONE ? NULL : &w->rows[place];
    return rows && rows->op[rows->count - 1] <= op.number && rows->done[rows->count - 1] >= behind.number;
}

static int add(struct file_waits *w, struct wait_op op, struct wait_op behind) {
    struct wait_rows *rows;
    FORWARD(rows_of(w, op.user, behind.user, &rows));
    if (rows->count && rows->op[rows->count - 1] == op.number) rows->count--;
    FORWARD(array_room(rows->op, rows->count));
    FORWARD(array_room(rows->done, rows->count));
    rows->op[rows->count] = op.number;
    rows->done[rows->count++] = behind.number;
    if (w->user[behind.user].number == behind.number) w->user[behind.user].is_awaited = true;
    return 0;
}

int file_waits_add(struct file_waits *w, uint32_t user, struct wait_op behind) {
    struct wait_op self = {user, w->user[user].number};
    return waits_for(w, self, behind) || waits_for(w, behind, self) ? 0 : add(w, self, behind);
}

int file_waits_add_late(struct file_waits *w, struct wait_op user, uint32_t behind) {
    struct wait_op self = {behind, w->user[behind].number};
    return w->user[user.user].is_awaited || waits_for(w, user, self) ? 0 : add(w, user, self);
}

bool file_waits_is_under_way(const struct file_waits *w, struct wait_op op, uint32_t user) {
    const struct wait_user *by = &w->user[op.user];
    return by->number == op.number && by->time.start_ns + by->time.duration_ns > w->user[user].time.start_ns;
}

// Bytes in the file before the job; a size that is not known is never exceeded.
static int64_t size_before(const struct file_waits *w, uint64_t file) {
    uint32_t place = lookup_find(&w->names->place, file);
    const struct recorded_file *before = place == LOOKUP_NONE ? NULL : &w->recorded->file[place];
    return before && before->existed ? before->sized ? (int64_t)before->size_before : INT64_MAX : 0;
}

int file_waits_place(struct file_waits *w, uint64_t file, uint32_t *place) {
    static const struct wait_op none = {.user = LOOKUP_NONE};
    *place = lookup_find(&w->file_of, file);
    if (*place != LOOKUP_NONE) return 0;
    *place = (uint32_t)w->files;
    struct wait_file new = {
        .opened = none, .closed = none, .changed = none, .size = {.base = size_before(w, file), .cut = none}};
    FORWARD(array_push(w->file, w->files, new));
    return lookup_set(&w->file_of, file, *place);
}

// --- descriptors

static uint32_t own_count(const struct wait_user *user, uint64_t file) {
    uint32_t count = lookup_find(&user->own, file);
    return count == LOOKUP_NONE ? 0 : count;
}

static int add_close(struct file_waits *w, uint32_t at, uint64_t file) {
    struct wait_user *user = &w->user[at];
    uint32_t own = own_count(user, file), end = user->first + user->threads;
    for (uint32_t i = user->first; i < end && user->threads <= MOST_THREADS; i++) {
        uint32_t last = i == at ? LOOKUP_NONE : lookup_find(&w->user[i].last, file);
        if (last == LOOKUP_NONE || (own && own_count(&w->user[i], file))) continue;
        FORWARD(file_waits_add(w, at, (struct wait_op){i, last}));
    }
    uint32_t place;
    FORWARD(file_waits_place(w, file, &place));
    w->file[place].closed = (struct wait_op){at, user->number};
    return own ? lookup_set(&user->own, file, own - 1) : 0;
}

static int add_open(struct file_waits *w, uint32_t at, uint64_t file, uint32_t place) {
    struct wait_user *user = &w->user[at];
    uint64_t key = lookup_pair(user->first, place);
    uint32_t open = lookup_find(&w->opener, key);
    if (open == LOOKUP_NONE) {
        FORWARD(array_room(w->open, w->opens));
        FORWARD(lookup_set(&w->opener, key, open = (uint32_t)w->opens++));
    }
    w->file[place].opened = w->open[open] = (struct wait_op){at, user->number};
    return lookup_set(&user->own, file, own_count(user, file) + 1);
}

static int add_use(struct file_waits *w, uint32_t at, uint64_t file, bool ends) {
    struct wait_user *user = &w->user[at];
    uint32_t place;
    if (!own_count(user, file)) {
        FORWARD(file_waits_place(w, file, &place));
        uint32_t open = lookup_find(&w->opener, lookup_pair(user->first, place));
        struct wait_op opened = open == LOOKUP_NONE ? w->file[place].opened : w->open[open];
        if (opened.user != LOOKUP_NONE && opened.user != at) FORWARD(file_waits_add(w, at, opened));
    }
    // The end of a nonblocking one is not seen.
    return ends && user->threads > 1 ? lookup_set(&user->last, file, user->number) : 0;
}

static int find_waits(struct file_waits *w, uint32_t user, const struct op *op) {
    const struct op_kind *kind = &w->recorded->kind[op->kind];
    uint64_t file = lookup_pair(kind->set, (uint32_t)op->at[AT_MEMBER]);
    uint32_t place;
    if (kind->set == OP_NO_SET) return 0;
    FORWARD(name_waits_find(w, user, op));
    FORWARD(size_waits_find(w, user, op));
    if (kind->error) return 0;
    if (kind->class == CLASS_CLOSE) return add_close(w, user, file);
    if (kind->class != CLASS_OPEN)
        return call_table[kind->call_id].by_name ? 0 : add_use(w, user, file, !kind->nonblocking);
    FORWARD(file_waits_place(w, file, &place));
    return add_open(w, user, file, place);
}

// --- the operations of all threads, in the order in which they began

static bool other_is_next(const struct wait_user *user) {
    const struct thread_ops *thread = user->ops;
    return user->other < thread->others && thread->other[user->other].at[AT_POSITION] <= (int64_t)user->transfer;
}

// The next operation, or NULL; `time` is its time.
static const struct op *next_of(const struct wait_user *user, const struct op_time **time) {
    const struct thread_ops *thread = user->ops;
    if (other_is_next(user)) {
        *time = &thread->other_time[user->other];
        return &thread->other[user->other];
    }
    *time = &thread->time[user->transfer];
    return user->transfer < thread->transfers ? &thread->transfer[user->transfer] : NULL;
}

static int take_next(struct file_waits *w, uint32_t at) {
    struct wait_user *user = &w->user[at];
    const struct op_time *time;
    const struct op *op = next_of(user, &time);
    ++*(other_is_next(user) ? &user->other : &user->transfer);
    if (w->recorded->kind[op->kind].class == CLASS_NONE) return 0;
    RETURN_IF(++user->number == LOOKUP_NONE, ERR_LIMIT);
    user->time = *time;
    user->is_awaited = false;
    return find_waits(w, at, op);
}

static int take_all(struct file_waits *w, struct log_heap *heap) {
    const struct op_time *time;
    for (uint32_t i = 0; i < w->users; i++) {
        if (!next_of(&w->user[i], &time)) continue;
        FORWARD(log_heap_push(heap, (struct log_turn){time->start_ns, i, NULL}));
    }
    while (heap->count) {
        uint32_t at = (uint32_t)heap->turn[0].id;
        FORWARD(take_next(w, at));
        if (next_of(&w->user[at], &time))
            log_heap_replace(heap, (struct log_turn){time->start_ns, at, NULL});
        else
            log_heap_pop(heap);
    }
    return 0;
}

// --- the whole

static int compare_rows(const void *a, const void *b) {
    const struct wait_rows *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    return x->behind < y->behind ? -1 : x->behind > y->behind;
}

static int copy_rows(struct model *model, const struct file_waits *w) {
    if (w->row_count) qsort(w->rows, w->row_count, sizeof *w->rows, compare_rows);
    for (size_t i = 0; i < w->row_count; i++) {
        const struct wait_rows *rows = &w->rows[i];
        const struct thread_ops *user = w->user[rows->user].ops, *behind = w->user[rows->behind].ops;
        FORWARD(array_room(model->wait, model->waits));
        struct model_wait *wait = &model->wait[model->waits];
        *wait = (struct model_wait){.program = user->program,
                                    .rank = user->rank,
                                    .thread = user->number,
                                    .behind_rank = behind->rank,
                                    .behind = behind->number,
                                    .op = arena_copy(&model->arena, rows->op, rows->count * sizeof *rows->op),
                                    .done = arena_copy(&model->arena, rows->done, rows->count * sizeof *rows->done),
                                    .count = rows->count};
        RETURN_IF(!wait->op || !wait->done, -ENOMEM);
        model->waits++;
    }
    return 0;
}

static void free_waits(struct file_waits *w) {
    for (uint32_t i = 0; i < w->users && w->user; i++) {
        lookup_free(&w->user[i].last);
        lookup_free(&w->user[i].own);
    }
    for (size_t i = 0; i < w->files; i++) free(w->file[i].size.growth);
    for (size_t i = 0; i < w->row_count; i++) {
        free(w->rows[i].op);
        free(w->rows[i].done);
    }
    lookup_free(&w->file_of);
    lookup_free(&w->opener);
    lookup_free(&w->rows_of);
    free(w->user);
    free(w->file);
    free(w->open);
    free(w->asked);
    free(w->use);
    free(w->rows);
}

// Threads that may wait for each other.
static int build_group(struct building *b, const struct log_names *names, const struct thread_ops *thread,
                       uint32_t count) {
    SCOPED(free_waits)
    struct file_waits w = {
        .recorded = &b->recorded, .names = names, .user = calloc(count, sizeof *w.user), .users = count};
    struct log_heap heap = {0};
    RETURN_IF(!w.user, -ENOMEM);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && thread[end].number;) end++;
        for (uint32_t k = i; k < end; k++)
            w.user[k] = (struct wait_user){.ops = &thread[k], .first = i, .threads = end - i};
    }
    int code = take_all(&w, &heap);
    free(heap.turn);
    if (!code) code = copy_rows(b->model, &w);
    return code == ERR_LIMIT ? 0 : code;
}

static int find_names(const struct building *b, struct log_names *names) {
    SCOPED(lookup_free) struct lookup by_name = {0}; // by hash of the name: place in the log's table
    size_t count = b->log ? log_file_count(b->log) : 0;
    for (size_t i = 0; i < count; i++) {
        FORWARD(lookup_set(&by_name, hash_text(0, log_file_at(b->log, i)->name), (uint32_t)i));
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = log_file_at(b->log, i)->name, *slash = strrchr(name, '/');
        uint32_t found = slash ? lookup_find(&by_name, hash_bytes(0, name, (size_t)(slash - name))) : LOOKUP_NONE;
        const struct file_place *place = &b->recorded.sets.place[i];
        uint64_t file = lookup_pair(place->set, place->member);
        if (lookup_find(&names->place, file) == LOOKUP_NONE) FORWARD(lookup_set(&names->place, file, (uint32_t)i));
        if (found != LOOKUP_NONE) FORWARD(lookup_set(&names->folder, file, found));
    }
    return 0;
}

static bool is_next_group(const struct recorded *recorded, const struct thread_ops *thread) {
    return recorded->program[thread->program].is_mpi ? !thread->number : thread->program != thread[-1].program;
}

static void free_names(struct log_names *names) {
    lookup_free(&names->place);
    lookup_free(&names->folder);
}

int build_file_waits(struct building *b) {
    struct recorded *recorded = &b->recorded;
    SCOPED(free_names) struct log_names names = {0};
    for (size_t first = 0, end; first < recorded->count; first = end) {
        for (end = first + 1; end < recorded->count && !is_next_group(recorded, &recorded->thread[end]);) end++;
        if (end - first < 2) continue;
        if (!names.place.count) FORWARD(find_names(b, &names));
        FORWARD(build_group(b, &names, &recorded->thread[first], (uint32_t)(end - first)));
    }
    return 0;
}
