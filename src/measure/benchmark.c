#include "measure/benchmark.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "calls.h"
#include "model/builder.h"
#include "model/file/keywords.h"

// The kinds of operations of each benchmark, in this order, after the barrier that all share.
enum action { DO_WRITE, DO_READ, DO_CREATE, DO_OPEN, DO_SYNC, DO_CLOSE, ACTIONS };

static const struct {
    uint16_t posix, mpi, collective; // places in call_table
    const char *posix_flags, *mpi_flags;
} actions[ACTIONS] = {
    [DO_WRITE] = {CALL_pwrite, CALL_MPI_File_write_at, CALL_MPI_File_write_at_all, NULL, NULL},
    [DO_READ] = {CALL_pread, CALL_MPI_File_read_at, CALL_MPI_File_read_at_all, NULL, NULL},
    [DO_CREATE] = {CALL_open, CALL_MPI_File_open, CALL_MPI_File_open, "O_WRONLY|O_CREAT",
                   "MPI_MODE_WRONLY|MPI_MODE_CREATE"},
    [DO_OPEN] = {CALL_open, CALL_MPI_File_open, CALL_MPI_File_open, "O_RDONLY", "MPI_MODE_RDONLY"},
    [DO_SYNC] = {CALL_fsync, CALL_MPI_File_sync, CALL_MPI_File_sync, NULL, NULL},
    [DO_CLOSE] = {CALL_close, CALL_MPI_File_close, CALL_MPI_File_close, NULL, NULL},
};

enum { KIND_BARRIER };

// The benchmark that is being added to the model.
struct making {
    struct model_builder b;
    const struct benchmark *benchmark;
    size_t number;
    uint32_t np;
};

static uint32_t kind_of(const struct making *m, enum action action) {
    return (uint32_t)(KIND_BARRIER + 1 + m->number * ACTIONS + action);
}

// --- files and kinds

static int add_file(struct making *m) {
    struct file_set *set = &m->b.model->sets.set[m->number];
    bool shared = m->benchmark->shared;
    m->b.model->sets.set_count = m->number + 1;
    RETURN_IF(asprintf(&set->pattern, shared ? "benchmark-%zu.dat" : "benchmark-%zu.*.dat", m->number) < 0, -ENOMEM);
    set->member_count = shared ? 1 : m->np;
    if (!shared) {
        set->number = calloc(1, sizeof *set->number);
        RETURN_IF(!set->number, -ENOMEM);
        *set->number = (struct file_set_number){.step = 1, .every = 1, .count = m->np, .width = 1};
        set->number_count = 1;
    }
    return builder_add_file(&m->b, set);
}

static int add_kind(struct making *m, enum action action) {
    const struct benchmark *benchmark = m->benchmark;
    uint16_t id = benchmark->collective ? actions[action].collective
                  : benchmark->mpiio    ? actions[action].mpi
                                        : actions[action].posix;
    const char *flags = benchmark->mpiio ? actions[action].mpi_flags : actions[action].posix_flags;
    struct op_kind kind = {.call = call_names[id],
                           .call_id = id,
                           .layer = call_table[id].layer,
                           .class = call_table[id].class,
                           .collective = call_table[id].traits & CALL_COLLECTIVE,
                           .has_offset = action == DO_WRITE || action == DO_READ,
                           .set = (uint32_t)m->number,
                           .set2 = OP_NO_SET};
    if (benchmark->mpiio && kind.class == CLASS_OPEN) kind.hints = 1; // place + 1 of the only hints, which are empty
    if (flags) FORWARD(model_flags_parse(kind.layer, flags, &kind.flags));
    if (flags && !benchmark->mpiio && benchmark->direct) kind.flags |= O_DIRECT;
    return builder_add_kind(&m->b, &kind);
}

// --- operations

// All coordinates are 0, except the member if each process has its own file.
static int make_op(struct making *m, struct model_item *item, uint32_t kind) {
    FORWARD(builder_make_op(&m->b, item, kind));
    for (unsigned c = 0; c < AT_COUNT; c++) FORWARD(builder_set_number(&m->b, &item->at[c], 0));
    bool own = kind != KIND_BARRIER && !m->benchmark->shared;
    return own ? builder_set_expression(&m->b, &item->at[AT_MEMBER], "idP") : 0;
}

static int replace(struct making *m, struct model_value *value, const char *format, uint64_t number) {
    char text[64];
    snprintf(text, sizeof text, format, (unsigned long long)number);
    expr_free(value->expr);
    return builder_set_expression(&m->b, value, text);
}

static int make_other(struct making *m, struct model_items *items, uint32_t kind, unsigned coordinate,
                      uint64_t number) {
    struct model_item *item = &items->item[items->count++];
    FORWARD(make_op(m, item, kind));
    FORWARD(replace(m, &item->at[coordinate], "%llu", number));
    return builder_check_op(&m->b, item);
}

static int begin_loop(struct making *m, struct model_items *items, uint64_t count) {
    FORWARD(builder_make_items(&m->b, items, 1));
    FORWARD(builder_begin_loop(&m->b, count));
    items->item->type = LOOPS_LOOP;
    items->item->count = count;
    return 0;
}

static int end_loop(struct making *m, struct model_items *items) {
    builder_end_loop(&m->b);
    return builder_count_ops(&m->b, &items->item->body, items->item->count, &items->item->ops);
}

static int make_request(struct making *m, struct model_item *item, bool write) {
    const struct benchmark *benchmark = m->benchmark;
    bool turns = benchmark->shared && benchmark->mode == MODE_STRIDED;
    FORWARD(make_op(m, item, kind_of(m, write ? DO_WRITE : DO_READ)));
    FORWARD(replace(m, &item->at[AT_SIZE], "%llu", benchmark->size));
    if (turns) FORWARD(replace(m, &item->at[AT_OFFSET], "idP*rs", 0));
    if (benchmark->shared && !turns) FORWARD(replace(m, &item->at[AT_OFFSET], "idP*%llu*rs", benchmark->count));
    bool twice = m->b.depth == 2;
    item->step[0].at[AT_OFFSET] = (int64_t)(benchmark->size * (twice ? 2 : turns ? m->np : 1));
    if (twice) item->step[1].at[AT_OFFSET] = (int64_t)benchmark->size;
    return builder_check_op(&m->b, item);
}

// A loop over requests. In a file of one process, strided requests go over it twice, each time every second one.
static int make_loop(struct making *m, struct model_items *items, bool write) {
    const struct benchmark *benchmark = m->benchmark;
    bool twice = benchmark->mode == MODE_STRIDED && !benchmark->shared && benchmark->count % 2 == 0;
    struct model_items *inner = items;
    if (twice) {
        FORWARD(begin_loop(m, items, 2));
        inner = &items->item->body;
    }
    FORWARD(begin_loop(m, inner, twice ? benchmark->count / 2 : benchmark->count));
    FORWARD(builder_make_items(&m->b, &inner->item->body, 1));
    FORWARD(make_request(m, inner->item->body.item, write));
    FORWARD(end_loop(m, inner));
    return twice ? end_loop(m, items) : 0;
}

// Puts the requests of a process in a random order, the same in each run.
static void shuffle(uint64_t *order, uint64_t count, uint64_t seed) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint64_t i = 0; i < count; i++) order[i] = i;
    for (uint64_t i = count; i > 1; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t other = (state >> 33) % i, kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static int make_list(struct making *m, struct model_items *items, bool write) {
    const struct benchmark *benchmark = m->benchmark;
    uint64_t count = benchmark->count, *order = malloc(count * sizeof *order);
    struct op *ops = arena_alloc(&m->b.model->arena, (m->np * count + 1) * sizeof *ops);
    int code = order && ops ? builder_make_items(&m->b, items, 1) : -ENOMEM;
    if (!code) code = builder_make_list(&m->b, items->item, count);
    for (uint32_t rank = 0; rank < m->np && !code; rank++) {
        struct op *op = items->item->list[rank] = ops + rank * count;
        shuffle(order, count, (uint64_t)rank * 2 + write);
        for (uint64_t k = 0; k < count; k++) {
            uint64_t block = benchmark->shared ? rank * count + order[k] : order[k];
            op[k] = (struct op){.kind = kind_of(m, write ? DO_WRITE : DO_READ)};
            op[k].at[AT_MEMBER] = benchmark->shared ? 0 : rank;
            op[k].at[AT_OFFSET] = (int64_t)(block * benchmark->size);
            op[k].at[AT_SIZE] = (int64_t)benchmark->size;
        }
        code = builder_check_list(&m->b, op, count, 1);
    }
    free(order);
    return code;
}

// --- families: one phase each

// Begins a part that all processes have.
static int begin_part(struct making *m, struct model_part **parts, size_t *count, bool others) {
    struct arena *arena = &m->b.model->arena;
    struct model_part *part = *parts = arena_alloc(arena, sizeof *part);
    RETURN_IF(!part, -ENOMEM);
    *part = (struct model_part){.rank = arena_alloc(arena, m->np * sizeof *part->rank),
                                .ranks = m->np,
                                .ph = arena_alloc(arena, sizeof *part->ph),
                                .phs = 1};
    RETURN_IF(!part->rank || !part->ph, -ENOMEM);
    for (uint32_t i = 0; i < m->np; i++) part->rank[i] = i;
    part->ph[0] = 1;
    *count = 1;
    builder_begin_part(&m->b, part, others);
    return 0;
}

static int make_pause(struct making *m, struct model_part *part, bool write) {
    double seconds = m->benchmark->pause[!write];
    struct model_leaves leaves = model_leaves(&part->items);
    if (seconds <= 0) return 0;
    int64_t ns = llround(seconds * 1e9);
    struct model_pause pause = {.count = m->benchmark->count * m->np};
    pause.total_ns = ns * (int64_t)pause.count;
    for (unsigned q = 0; q < 5; q++) pause.quantile_ns[q] = ns;
    return builder_set_pause(&m->b, model_next_leaf(&leaves), &pause);
}

static int add_family(struct making *m, bool write) {
    enum { MOST_OTHERS = 4 };
    const struct benchmark *benchmark = m->benchmark;
    struct model_family to = {.count = 1,
                              .cut = m->number || !write ? CUT_PATTERN : CUT_START,
                              .weight = benchmark->size * benchmark->count * m->np};
    FORWARD(builder_add_family(&m->b, &to));
    struct model_family *family = &m->b.model->family[m->b.model->families - 1];
    FORWARD(begin_part(m, &family->part, &family->parts, false));
    struct model_items *items = &family->part->items;
    FORWARD(benchmark->mode == MODE_RANDOM ? make_list(m, items, write) : make_loop(m, items, write));
    FORWARD(make_pause(m, family->part, write));
    FORWARD(begin_part(m, &family->other, &family->others, true));
    items = &family->other->items;
    FORWARD(builder_make_items(&m->b, items, MOST_OTHERS));
    items->count = 0;
    FORWARD(make_other(m, items, kind_of(m, write ? DO_CREATE : DO_OPEN), AT_POSITION, 0));
    FORWARD(make_other(m, items, KIND_BARRIER, AT_SIZE, 1));
    if (benchmark->sync && write) FORWARD(make_other(m, items, kind_of(m, DO_SYNC), AT_POSITION, benchmark->count));
    FORWARD(make_other(m, items, kind_of(m, DO_CLOSE), AT_POSITION, benchmark->count));
    return builder_end_family(&m->b);
}

static int add_all(struct making *m, const struct benchmark *benchmark, size_t count) {
    struct model *model = m->b.model;
    model->sets.set = calloc(count + 1, sizeof *model->sets.set);
    model->hints = arena_alloc(&model->arena, sizeof *model->hints);
    RETURN_IF(!model->sets.set || !model->hints, -ENOMEM);
    model->hints_count = 1;
    FORWARD(builder_add_kind(&m->b, &(struct op_kind){.call = "barrier", .set = OP_NO_SET, .set2 = OP_NO_SET}));
    for (m->number = 0; m->number < count; m->number++) {
        m->benchmark = &benchmark[m->number];
        FORWARD(add_file(m));
        for (enum action action = 0; action < ACTIONS; action++) FORWARD(add_kind(m, action));
    }
    for (m->number = 0; m->number < count; m->number++) {
        m->benchmark = &benchmark[m->number];
        FORWARD(add_family(m, true));
        FORWARD(add_family(m, false));
    }
    for (uint32_t i = 0; i < 2 * count; i++) FORWARD(builder_add_phase(&m->b, i));
    return 0;
}

int benchmark_model(struct model *model, const struct benchmark *benchmark, size_t count, uint32_t np, bool is_mpi) {
    struct making m = {.np = np};
    *model = (struct model){.gap_ns = MODEL_GAP_NS};
    builder_begin(&m.b, model);
    int code = builder_add_program(&m.b, is_mpi, np);
    if (!code) code = add_all(&m, benchmark, count);
    builder_end(&m.b);
    if (code) model_free(model);
    return code;
}
