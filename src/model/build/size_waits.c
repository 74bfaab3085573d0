// Sizes of files: what reads bytes that another thread or process has added waits for that one, and what sees the end
// of a file (a short read, a seek from the end, a write that appends) comes before the file grows. Whoever cuts a file
// off waits for those that used it. Only transfers of POSIX are looked at: the others do not tell when their bytes
// reach the file.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "model/build/file_waits.h"

// --- lists of operations

static int add_op(struct file_waits *w, uint32_t user, int64_t size, uint32_t *list) {
    struct file_use *last = *list ? &w->use[*list - 1] : NULL;
    struct wait_op op = {user, w->user[user].number};
    if (last && last->op.user == user) {
        last->op = op;
        last->size = size;
        return 0;
    }
    FORWARD(array_push(w->use, w->uses, (struct file_use){op, size, *list}));
    *list = (uint32_t)w->uses;
    return 0;
}

// The current operation waits for all of a list, and empties it. Those that have seen the file as large as `grown`, and
// have not ended, wait for the operation instead.
static int wait_for_list(struct file_waits *w, uint32_t user, int64_t grown, uint32_t *list) {
    for (uint32_t at = *list; at; at = w->use[at - 1].before) {
        const struct file_use *use = &w->use[at - 1];
        if (use->op.user == user) continue;
        bool late = use->size >= grown && file_waits_is_under_way(w, use->op, user);
        FORWARD(late ? file_waits_add_late(w, use->op, user) : file_waits_add(w, user, use->op));
    }
    *list = 0;
    return 0;
}

// --- what operations do to a size, and see of it

static int64_t end_of(const struct file_size *size) {
    return size->growths ? size->growth[size->growths - 1].end : size->base;
}

static int wait_for_cut(struct file_waits *w, uint32_t user, const struct file_size *size) {
    bool by_other = size->cut.user != LOOKUP_NONE && size->cut.user != user;
    return by_other ? file_waits_add(w, user, size->cut) : 0;
}

static int grow(struct file_waits *w, uint32_t user, struct file_size *size, int64_t end) {
    FORWARD(wait_for_list(w, user, end, &size->seen));
    FORWARD(wait_for_cut(w, user, size));
    struct file_growth growth = {end, {user, w->user[user].number}};
    return array_push(size->growth, size->growths, growth);
}

static int cut(struct file_waits *w, uint32_t user, struct file_size *size, int64_t end) {
    for (size_t i = size->growths; i-- > 0;) {
        if (size->growth[i].by.user != user) FORWARD(file_waits_add(w, user, size->growth[i].by));
    }
    FORWARD(wait_for_list(w, user, INT64_MAX, &size->seen));
    FORWARD(wait_for_list(w, user, INT64_MAX, &size->used));
    size->growths = 0;
    size->base = end;
    size->cut = (struct wait_op){user, w->user[user].number};
    return 0;
}

static int set_size(struct file_waits *w, uint32_t user, struct file_size *size, int64_t end) {
    int64_t before = end_of(size);
    return end > before ? grow(w, user, size, end) : end < before ? cut(w, user, size, end) : 0;
}

// Waits for whoever made the file at least this large.
static int need(struct file_waits *w, uint32_t user, const struct file_size *size, int64_t end) {
    size_t low = 0, high = size->growths;
    if (end <= size->base) return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (size->growth[middle].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == size->growths || size->growth[low].by.user == user) return 0;
    return file_waits_add(w, user, size->growth[low].by);
}

static int see_end(struct file_waits *w, uint32_t user, struct file_size *size, int64_t end) {
    const struct file_growth *last = size->growths ? &size->growth[size->growths - 1] : NULL;
    if (last && last->end > end && last->by.user != user && file_waits_is_under_way(w, last->by, user))
        FORWARD(file_waits_add_late(w, last->by, user));
    if (end == size->base) FORWARD(wait_for_cut(w, user, size));
    FORWARD(need(w, user, size, end));
    return add_op(w, user, end, &size->seen);
}

static int transfer(struct file_waits *w, uint32_t user, struct file_size *size, const struct op *op, bool writes) {
    int64_t end = op->at[AT_OFFSET] + op->at[AT_SIZE] - op->at[AT_SHORT];
    FORWARD(add_op(w, user, -1, &size->used));
    if (writes && end <= end_of(size)) return 0;
    if (writes && size->appends) FORWARD(see_end(w, user, size, op->at[AT_OFFSET]));
    if (writes) return grow(w, user, size, end);
    return op->at[AT_SHORT] ? see_end(w, user, size, end) : need(w, user, size, end);
}

int size_waits_find(struct file_waits *w, uint32_t user, const struct op *op) {
    const struct op_kind *kind = &w->recorded->kind[op->kind];
    bool moves = op_kind_moves(kind), opens = kind->class == CLASS_OPEN;
    bool ends = kind->class == CLASS_SEEK && kind->whence == SEEK_END;
    unsigned sizing = call_table[kind->call_id].sizing;
    bool sets = sizing == SIZING_SET || (opens && kind->flags & O_TRUNC), fills = sizing == SIZING_FILL;
    bool appends = opens && kind->flags & O_APPEND;
    uint32_t place;
    if (kind->error || kind->layer != LAYER_POSIX || kind->nonblocking) return 0;
    if (!(moves && kind->has_offset) && !ends && !sets && !fills && !appends) return 0;
    FORWARD(file_waits_place(w, lookup_pair(kind->set, (uint32_t)op->at[AT_MEMBER]), &place));
    struct file_size *size = &w->file[place].size;
    size->appends |= appends;
    if (sets) return set_size(w, user, size, opens ? 0 : op->at[AT_SIZE]);
    if (ends) return see_end(w, user, size, op->at[AT_OFFSET]);
    if (moves) return transfer(w, user, size, op, kind->class == CLASS_WRITE);
    int64_t end = op->at[AT_OFFSET] + op->at[AT_SIZE];
    return fills && end > end_of(size) ? grow(w, user, size, end) : 0;
}

void size_waits_move(struct file_size *to, struct file_size *from) {
    free(to->growth);
    *to = *from;
    *from = (struct file_size){.cut.user = LOOKUP_NONE};
}
