#include "predict/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

// An access mode that follows no rule is closest to random.
static enum system_mode mode_of(const char *name) {
    enum system_mode mode;
    if (!strcmp(name, "single")) return MODE_SEQUENTIAL;
    return system_mode_of(name, &mode) ? mode : MODE_RANDOM;
}

// A request takes as long as what it moves: many ask for more than there is.
static uint64_t size_of(const struct op_summary *row) {
    uint64_t moved = row->bytes / (row->count ? row->count : 1);
    uint64_t size = row->has_size && moved > row->size / 2 ? row->size : moved;
    return size ? size : 1;
}

static void add_pauses(const struct model_items *items, double *seconds, double *count) {
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        if (item->type == LOOPS_LOOP) add_pauses(&item->body, seconds, count);
        if (!item->think) continue;
        *seconds += (double)item->think->quantile_ns[2] / 1e9 * (double)item->think->count;
        *count += (double)item->think->count;
    }
}

// Uses medians: a long pause before a phase gives the storage time before its first request only. Metadata calls
// between two requests count as pauses, because they do not use the storage's bandwidth.
static double pause_of(const struct model_family *family) {
    double seconds = 0, requests = 0, others = 0;
    for (size_t i = 0; i < family->parts; i++) add_pauses(&family->part[i].items, &seconds, &requests);
    for (size_t i = 0; i < family->others; i++) add_pauses(&family->other[i].items, &seconds, &others);
    return requests > 0 ? seconds / requests : 0;
}

static bool transfers(const struct op_summary *row) { return row->bytes > 0; }

// In how many processes each thread transfers something, by its number.
static size_t *count_ranks(uint32_t threads, const struct op_summary *rows, size_t count) {
    size_t *ranks = calloc(threads + 1u, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++) {
        const struct model_part *part = rows[i].part;
        if (transfers(&rows[i]) && part->ranks > ranks[part->thread]) ranks[part->thread] = part->ranks;
    }
    return ranks;
}

// The threads of a process transfer at the same time, each thread one request after the other.
static double concurrency_of(const struct op_summary *row, const size_t *ranks, uint32_t threads) {
    double sum = (double)row->part->ranks;
    for (uint32_t i = 0; i < threads; i++) sum += i == row->part->thread ? 0 : (double)ranks[i];
    return sum;
}

static enum name_rate rate_of(const struct op_summary *row) {
    unsigned effect = call_table[row->kind->call_id].effect;
    if (!strcmp(row->name, "create") || effect == EFFECT_CREATE || effect == EFFECT_LINK) return RATE_CREATE;
    if (row->kind->class == CLASS_OPEN) return RATE_OPEN;
    return op_kind_asks(row->kind) ? RATE_STAT : RATE_REMOVE;
}

static int add_family(struct io_classes *classes, const struct model *model, uint32_t number) {
    const struct model_family *family = &model->family[number];
    uint32_t threads = model_threads(model, family->program);
    struct op_summary *rows = NULL;
    struct model_file_use use;
    size_t count = 0;
    FORWARD(model_count_files(model, family, &use));
    FORWARD(model_summarise_ops(model, family, &rows, &count));
    size_t *ranks = count_ranks(threads, rows, count);
    int code = ranks ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !code; i++) {
        const struct op_summary *row = &rows[i];
        struct name_class name = {number, rate_of(row), (uint32_t)row->part->ranks, row->count};
        if (!row->moves) code = array_push(classes->name, classes->names, name);
        if (!transfers(row)) continue;
        code = array_room(classes->item, classes->count);
        if (code < 0) break;
        classes->item[classes->count++] = (struct io_class){.family = number,
                                                            .write = row->kind->class == CLASS_WRITE,
                                                            .size = size_of(row),
                                                            .mode = mode_of(row->mode),
                                                            .np = (uint32_t)row->part->ranks,
                                                            .concurrency = concurrency_of(row, ranks, threads),
                                                            .shared = use.shared,
                                                            .collective = row->kind->collective,
                                                            .mpiio = row->kind->layer == LAYER_MPIIO,
                                                            .pause = pause_of(family),
                                                            .bytes = row->bytes};
    }
    free(ranks);
    free(rows);
    return code;
}

int classes_of_program(const struct model *model, uint32_t program, struct io_classes *classes) {
    *classes = (struct io_classes){0};
    for (uint32_t i = 0; i < model->families; i++) {
        if (model->family[i].program == program) FORWARD(add_family(classes, model, i));
    }
    return 0;
}
