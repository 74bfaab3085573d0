// Summarises the operations of a family: similar ones are one row.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "fmt/call.h"
#include "model/access_order.h"
#include "model/model.h"

// Which operations share a row. If a part would have too many rows, the rows are coarser.
enum detail {
    OF_SIZE, // operations of one call on one set of files, with one size; lists are separate
    OF_SET,  // of any size
    OF_CALL, // on any files
};

enum { ROWS_MOST = 8 };

#define NO_ROW SIZE_MAX

struct rows {
    const struct model *model;
    const struct model_part *part;
    struct op_summary *row;
    struct access_order *order; // beside the rows
    size_t count;
    size_t first; // row of the part
    enum detail detail;
    struct leaf {
        const struct model_item *item;
        size_t row; // of an operation; or NO_ROW
    } * leaf;
    size_t leaves;
    bool is_first; // process of the part
    int error;
};

static int list_leaves(struct rows *r, const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    r->leaves = 0;
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        FORWARD(array_push(r->leaf, r->leaves, (struct leaf){item, NO_ROW}));
    }
    return 0;
}

static bool belongs(const struct rows *r, const struct op_summary *row, const struct op *op,
                    const struct model_item *item) {
    const struct op_kind *kind = &r->model->kind[op->kind];
    if (row->name != op_kind_name(kind)) return false;
    if (!row->moves) return true;
    if (strcmp(row->kind->call, kind->call)) return false;
    if (r->detail < OF_CALL && row->kind->set != kind->set) return false;
    if (r->detail > OF_SIZE) return true;
    if (row->item->type == LOOPS_LIST || item->type == LOOPS_LIST) return row->item == item;
    return row->size == (uint64_t)op->at[AT_SIZE] && row->kind->selection == kind->selection;
}

static size_t row_of(struct rows *r, const struct op *op, const struct model_item *item) {
    const struct op_kind *kind = &r->model->kind[op->kind];
    for (size_t i = r->first; i < r->count; i++) {
        if (belongs(r, &r->row[i], op, item)) return i;
    }
    r->error = array_room(r->row, r->count) || array_room(r->order, r->count) ? -ENOMEM : 0;
    if (r->error) return NO_ROW;
    r->order[r->count] = (struct access_order){0};
    r->row[r->count] = (struct op_summary){.name = op_kind_name(kind),
                                           .moves = op_kind_moves(kind),
                                           .kind = kind,
                                           .last_set = kind->set,
                                           .part = r->part,
                                           .item = item,
                                           .has_size = op_kind_moves(kind),
                                           .low = INT64_MAX,
                                           .size = (uint64_t)op->at[AT_SIZE]};
    return r->count++;
}

// Linux moves at most this much in one call. A program that asks for it wants all that there is.
static bool asks_for_all(const struct op_kind *kind, uint64_t size) {
    return size >= 0x7ffff000 && kind->layer != LAYER_MPIIO;
}

static void add_transfer(struct op_summary *row, const struct op *op) {
    uint64_t moved = (uint64_t)(op->at[AT_SIZE] - op->at[AT_SHORT]);
    if (row->size != (uint64_t)op->at[AT_SIZE]) row->has_size = false;
    if (op->at[AT_OFFSET] < row->low) row->low = op->at[AT_OFFSET];
    // What was asked for may lie past the end of the file.
    if (op->at[AT_OFFSET] + (int64_t)moved > row->high) row->high = op->at[AT_OFFSET] + (int64_t)moved;
    row->bits |= (uint64_t)op->at[AT_OFFSET] |
                 (asks_for_all(row->kind, (uint64_t)op->at[AT_SIZE]) ? 0 : (uint64_t)op->at[AT_SIZE]);
    if (moved > row->largest) row->largest = moved;
    row->bytes += moved;
}

// The folder that the names of all files have in common.
static void add_name(const struct rows *r, struct op_summary *row, uint32_t set) {
    if (set == row->last_set || set == OP_NO_SET || row->kind->set == OP_NO_SET) return;
    const char *a = r->model->file[row->kind->set].set->pattern, *b = r->model->file[set].set->pattern;
    size_t folder = 0;
    row->last_set = set;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '/') folder = i + 1;
    }
    if (!row->is_of_sets || folder < row->folder) row->folder = folder;
    row->is_of_sets = true;
}

// Sizes may differ between processes: an operation is in the row of the first process. Operations without a name, such
// as the close after a create, have no row.
static int add_to_row(const struct op *op, size_t leaf, void *context) {
    struct rows *r = context;
    struct leaf *from = &r->leaf[leaf];
    if (!op_kind_name(&r->model->kind[op->kind])) return 0;
    size_t at = from->row == NO_ROW ? row_of(r, op, from->item) : from->row;
    if (at == NO_ROW) return r->error;
    if (from->item->type == LOOPS_OP) from->row = at;
    struct op_summary *row = &r->row[at];
    if (row->item != from->item) row->has_more = true;
    if (r->is_first) access_order_follow(&r->order[at], op, row->rep++ == 0);
    row->count++;
    if (row->moves)
        add_transfer(row, op);
    else
        add_name(r, row, r->model->kind[op->kind].set);
    return 0;
}

static const char *mode_of(const struct op_summary *row, const struct access_order *order) {
    if (row->kind->has_view) return "strided";
    const char *mode = access_order_mode(order);
    bool is_random = !strcmp(mode, "random") || !strcmp(mode, "irregular");
    return is_random && row->item->type == LOOPS_OP && !row->has_more ? "strided" : mode; // a loop follows a rule
}

static int walk_process(struct rows *r, const struct model_family *family, size_t rank_place) {
    r->is_first = rank_place == 0;
    return model_walk(&(struct model_process){r->model, family, r->part, 0, rank_place}, add_to_row, r);
}

static int part_rows(struct rows *r, const struct model_family *family, const struct model_part *part) {
    r->part = part;
    r->first = r->count;
    FORWARD(list_leaves(r, &part->items));
    int stop = 0;
    for (r->detail = OF_SIZE; !stop; r->detail++) {
        r->count = r->first;
        for (size_t i = 0; i < r->leaves; i++) r->leaf[i].row = NO_ROW;
        stop = walk_process(r, family, 0);
        if (r->detail == OF_CALL || r->count - r->first <= ROWS_MOST) break;
    }
    for (size_t i = 1; i < part->ranks && !stop; i++) stop = walk_process(r, family, i);
    for (size_t i = r->first; i < r->count && !stop; i++) {
        struct access_order *order = &r->order[i];
        r->row[i].has_disp = r->row[i].moves && order->steps && order->regular * 2 > order->steps;
        r->row[i].disp = order->disp;
        r->row[i].mode = mode_of(&r->row[i], order);
    }
    return stop;
}

int model_summarise_ops(const struct model *model, const struct model_family *family, struct op_summary **rows,
                        size_t *count) {
    struct rows r = {.model = model};
    int code = 0;
    for (size_t i = 0; i < family->parts && !code; i++) code = part_rows(&r, family, &family->part[i]);
    free(r.leaf);
    free(r.order);
    if (code) {
        free(r.row);
        r.row = NULL;
    }
    *rows = r.row;
    *count = code ? 0 : r.count;
    return code;
}

// --- more about a family

const char *model_pointer_name(const struct op_kind *kind) {
    static const char *const names[] = {
        [POINTER_INDIVIDUAL] = "individual", [POINTER_EXPLICIT] = "explicit", [POINTER_SHARED] = "shared"};
    return names[call_table[kind->call_id].pointer];
}

struct counting {
    const struct model *model;
    uint64_t *count;
};

static int count_other(const struct op *op, size_t leaf, void *context) {
    struct counting *counting = context;
    (void)leaf;
    unsigned class = counting->model->kind[op->kind].class;
    unsigned sync = counting->model->kind[op->kind].sync;
    if (sync == SYNC_SEND || sync == SYNC_RECEIVE) return 0;
    counting->count[class] += sync ? (uint64_t)op->at[AT_SIZE] : 1;
    return 0;
}

static int count_part(const struct counting *counting, const struct model_family *family, const struct model_part *part,
                      uint32_t ph, loops_callback *count_op) {
    size_t place = model_place(part->ph, part->phs, ph);
    for (size_t r = 0; place != SIZE_MAX && r < part->ranks; r++) {
        struct model_process process = {counting->model, family, part, place, r};
        FORWARD(model_walk(&process, count_op, (void *)counting));
    }
    return 0;
}

static int count_unnamed(const struct op *op, size_t leaf, void *context) {
    const struct counting *counting = context;
    return op_kind_name(&counting->model->kind[op->kind]) ? 0 : count_other(op, leaf, context);
}

int model_count_others(const struct model *model, const struct model_family *family, uint32_t ph,
                       uint64_t count[CLASS_COUNT]) {
    struct counting counting = {model, count};
    for (size_t i = 0; i < family->parts; i++)
        FORWARD(count_part(&counting, family, &family->part[i], ph, count_unnamed));
    for (size_t i = 0; i < family->others; i++)
        FORWARD(count_part(&counting, family, &family->other[i], ph, count_other));
    return 0;
}

// The members of sets that the transfers of a family touch, and the last rank that did.
struct touching {
    const struct model *model;
    struct lookup *by;      // set and member -> rank
    struct lookup *objects; // hashes of the names of files that objects are in
    uint32_t rank;
    struct model_file_use use;
};

// Counts a file, or an object and the file that it is in if that is new.
static int count_file(struct touching *t, const struct file_set *set, size_t member) {
    char name[8192];
    if (!model_object_name(t->model, set->pattern)) {
        t->use.files++;
        return 0;
    }
    t->use.objects++;
    FORWARD(file_set_member_name(set, member, name, sizeof name));
    uint64_t file = hash_bytes(0, name, (size_t)(model_object_name(t->model, name) - name));
    if (lookup_find(t->objects, file) != LOOKUP_NONE) return 0;
    t->use.files++;
    return lookup_set(t->objects, file, 1);
}

static int touch(const struct op *op, size_t leaf, void *context) {
    struct touching *t = context;
    uint32_t set = t->model->kind[op->kind].set;
    (void)leaf;
    if (set == OP_NO_SET) return 0;
    uint64_t key = lookup_pair(set, (uint32_t)op->at[AT_MEMBER]);
    uint32_t by = lookup_find(t->by, key);
    if (by == t->rank) return 0;
    if (by == LOOKUP_NONE) FORWARD(count_file(t, t->model->file[set].set, (size_t)op->at[AT_MEMBER]));
    if (by != LOOKUP_NONE) t->use.shared = true;
    return lookup_set(t->by, key, t->rank);
}

int model_count_files(const struct model *model, const struct model_family *family, struct model_file_use *use) {
    SCOPED(lookup_free) struct lookup by = {0};
    SCOPED(lookup_free) struct lookup objects = {0};
    struct touching t = {.model = model, .by = &by, .objects = &objects};
    for (size_t i = 0; i < family->parts; i++) {
        for (size_t r = 0; r < family->part[i].ranks; r++) {
            t.rank = family->part[i].rank[r];
            FORWARD(model_walk(&(struct model_process){model, family, &family->part[i], 0, r}, touch, &t));
        }
    }
    *use = t.use;
    return 0;
}

uint64_t op_summary_size(const struct op_summary *row) {
    return asks_for_all(row->kind, row->size) ? row->largest : row->size;
}
