#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/builder.h"

// --- which ranks are together

struct member {
    struct model_membership at;
    uint32_t rank;
};

static int compare_members(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (x->at.color != y->at.color) return x->at.color < y->at.color ? -1 : 1;
    if (x->at.key != y->at.key) return x->at.key < y->at.key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int model_hash_members(const struct model *model, uint32_t communicator, uint64_t *hash) {
    uint32_t np = model->program[model->communicator[communicator].program].np;
    SCOPED_FREE struct member *member = calloc(np + 1, sizeof *member);
    RETURN_IF(!member, -ENOMEM);
    for (uint32_t i = 0; i < np; i++) {
        member[i].rank = i;
        FORWARD(model_membership(model, communicator, i, &member[i].at));
    }
    qsort(member, np, sizeof *member, compare_members);
    for (uint32_t first = 0, end; first < np; first = end) {
        uint64_t together = 1;
        for (end = first; end < np && member[end].at.color == member[first].at.color; end++)
            together = hash_add(together, member[end].rank);
        for (uint32_t i = first; i < end; i++) hash[member[i].rank] = member[i].at.color < 0 ? 0 : together;
    }
    return 0;
}

// --- models that do not say which ranks open a file together: those of earlier versions, of logs without
// communicators, and of benchmarks

// Which file of its set each rank opens with one kind of open.
struct openers {
    const struct model *model;
    uint32_t kind, rank;
    int64_t *member;       // by rank, or one of:
    bool alone;            // no file is opened by two ranks
    struct lookup rank_of; // member -> rank
};

enum { OPENS_NONE = -1, OPENS_SEVERAL = -2 };

static int note_open(const struct op *op, size_t leaf, void *context) {
    struct openers *o = context;
    int64_t member = op->at[AT_MEMBER], *known = &o->member[o->rank];
    (void)leaf;
    if (op->kind != o->kind) return 0;
    *known = *known == OPENS_NONE || *known == member ? member : OPENS_SEVERAL;
    uint32_t other = lookup_find(&o->rank_of, (uint64_t)member);
    if (other != LOOKUP_NONE && other != o->rank) o->alone = false;
    return lookup_set(&o->rank_of, (uint64_t)member, o->rank);
}

static int find_openers(struct openers *o, uint32_t program) {
    for (size_t i = 0; i < o->model->families; i++) {
        const struct model_family *family = &o->model->family[i];
        for (size_t k = 0; family->program == program && k < family->others; k++) {
            struct model_process at = {o->model, family, &family->other[k], 0, 0};
            for (; at.ph_place < at.part->phs; at.ph_place++) {
                for (at.rank_place = 0; at.rank_place < at.part->ranks; at.rank_place++) {
                    o->rank = at.part->rank[at.rank_place];
                    FORWARD(model_walk(&at, note_open, o));
                }
            }
        }
    }
    return 0;
}

// The ranks that open a file are its communicator.
static int add_communicator(struct model_builder *b, const struct openers *o, uint32_t program, uint32_t *place) {
    struct model_communicator made = {.program = program, .origin = o->alone ? "self" : "unknown"};
    uint32_t np = o->model->program[program].np;
    bool by_member = true, all = true;
    for (uint32_t i = 0; i < np; i++) {
        if (o->member[i] == OPENS_SEVERAL) by_member = false;
        if (o->member[i] == OPENS_NONE) all = false;
    }
    if (all && !by_member && !o->alone) return 0; // the world
    if (o->alone) {
        FORWARD(builder_set_expression(b, &made.color, "idP"));
    } else {
        FORWARD(arena_array(&b->model->arena, made.color.table, np));
        for (uint32_t i = 0; i < np; i++)
            made.color.table[i] = o->member[i] == OPENS_NONE ? -1 : by_member ? o->member[i] : 0;
    }
    FORWARD(builder_add_communicator(b, &made));
    *place = (uint32_t)b->model->communicators;
    return 0;
}

static bool is_opened_with_mpi(const struct op_kind *kind) {
    return kind->class == CLASS_OPEN && kind->layer == LAYER_MPIIO;
}

static int infer_kind(struct model_builder *b, uint32_t program, uint32_t world, uint32_t kind) {
    struct model *model = b->model;
    uint32_t np = model->program[program].np;
    struct arena arena = {0};
    struct openers o = {.model = model, .kind = kind, .alone = true};
    int code = arena_array(&arena, o.member, np);
    for (uint32_t i = 0; i < np && !code; i++) o.member[i] = OPENS_NONE;
    if (!code) code = find_openers(&o, program);
    uint32_t place = world;
    if (!code && o.rank_of.count) {
        code = add_communicator(b, &o, program, &place);
        model->kind[kind].communicator = place;
    }
    lookup_free(&o.rank_of);
    arena_free(&arena);
    return code;
}

static int infer_program(struct model_builder *b, uint32_t program) {
    struct model *model = b->model;
    struct model_communicator world = {.program = program, .origin = "world"};
    FORWARD(builder_add_communicator(b, &world));
    uint32_t place = (uint32_t)model->communicators;
    for (uint32_t i = 0; i < model->kinds; i++) {
        struct op_kind *kind = &model->kind[i];
        if (kind->communicator) continue;
        bool is_message = kind->sync == SYNC_SEND || kind->sync == SYNC_RECEIVE;
        if (kind->sync && !is_message) kind->communicator = place;
        if (is_opened_with_mpi(kind)) FORWARD(infer_kind(b, program, place, i));
    }
    return 0;
}

int model_infer_communicators(struct model *model, uint32_t program) {
    struct model_builder b;
    if (model->communicators || !model->program[program].is_mpi) return 0;
    builder_begin(&b, model);
    int code = infer_program(&b, program);
    builder_end(&b);
    return code;
}
