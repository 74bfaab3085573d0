// Ranks that take turns: each begins its transfers of a phase when another, which has done some of its own there, sends
// it a message.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/model.h"

struct turns {
    const struct model *model;
    uint32_t rank;
    struct lookup sends;    // from one rank to another, after a transfer -> 1
    struct lookup receives; // the other way round, before the first transfer -> 1
};

static int note_message(const struct op *op, size_t leaf, void *context) {
    struct turns *t = context;
    uint32_t other = (uint32_t)op->at[AT_MEMBER];
    (void)leaf;
    switch (t->model->kind[op->kind].sync) {
    case SYNC_SEND: return op->at[AT_POSITION] ? lookup_set(&t->sends, lookup_pair(t->rank, other), 1) : 0;
    case SYNC_RECEIVE: return op->at[AT_POSITION] ? 0 : lookup_set(&t->receives, lookup_pair(other, t->rank), 1);
    default: return 0;
    }
}

static int note_messages(struct turns *t, const struct model_family *family, uint32_t ph) {
    for (size_t i = 0; i < family->others; i++) {
        const struct model_part *part = &family->other[i];
        struct model_process at = {t->model, family, part, model_place(part->ph, part->phs, ph), 0};
        for (; at.ph_place != SIZE_MAX && at.rank_place < part->ranks; at.rank_place++) {
            t->rank = part->rank[at.rank_place];
            FORWARD(model_walk(&at, note_message, t));
        }
    }
    return 0;
}

static bool has_messages(const struct model *model) {
    for (size_t i = 0; i < model->kinds; i++) {
        if (model->kind[i].sync == SYNC_RECEIVE) return true;
    }
    return false;
}

static bool waits(const struct turns *t, const bool *takes_part, uint32_t np, uint32_t rank) {
    for (uint32_t other = 0; other < np; other++) {
        uint64_t key = lookup_pair(other, rank);
        if (takes_part[other] && lookup_find(&t->receives, key) == 1 && lookup_find(&t->sends, key) == 1) return true;
    }
    return false;
}

static void free_turns(struct turns *t) {
    lookup_free(&t->sends);
    lookup_free(&t->receives);
}

int model_count_turns(const struct model *model, const struct model_family *family, uint32_t ph, uint32_t *at_once) {
    SCOPED(free_turns) struct turns t = {.model = model};
    uint32_t np = model->program[family->program].np, waiting = 0, free_ones = 0;
    *at_once = 0;
    if (!has_messages(model)) return 0;
    SCOPED_FREE bool *takes_part = calloc(np, sizeof *takes_part);
    RETURN_IF(!takes_part, -ENOMEM);
    for (size_t i = 0; i < family->parts; i++) {
        for (size_t r = 0; r < family->part[i].ranks; r++) takes_part[family->part[i].rank[r]] = true;
    }
    FORWARD(note_messages(&t, family, ph));
    for (uint32_t rank = 0; rank < np && t.receives.count; rank++) {
        if (takes_part[rank]) ++*(waits(&t, takes_part, np, rank) ? &waiting : &free_ones);
    }
    if (waiting) *at_once = free_ones;
    return 0;
}
