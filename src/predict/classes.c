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

static bool moves(const struct model *model, const struct model_item *item) {
    return op_kind_moves(&model->kind[item->type == LOOPS_OP ? item->kind : item->list[0][0].kind]);
}

static void add_pauses(const struct model *model, const struct model_items *items, double *seconds, double *requests) {
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        if (item->type == LOOPS_LOOP) add_pauses(model, &item->body, seconds, requests);
        if (!item->think) continue;
        *seconds += (double)item->think->quantile_ns[2] / 1e9 * (double)item->think->count;
        if (moves(model, item)) *requests += (double)item->think->count;
    }
}

// Uses medians: a long pause before a phase gives the storage time before its first request only. Metadata calls
// between two requests count as pauses, because they do not use the storage's bandwidth.
static double pause_of(const struct model *model, const struct model_family *family) {
    double seconds = 0, requests = 0;
    for (size_t i = 0; i < family->parts; i++) add_pauses(model, &family->part[i].items, &seconds, &requests);
    for (size_t i = 0; i < family->others; i++) add_pauses(model, &family->other[i].items, &seconds, &requests);
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

double classes_name_rate(const struct system *system, enum name_rate rate) {
    const struct system_metadata *of = &system->metadata;
    return (double[]){of->create, of->open, of->stat, of->unlink}[rate];
}

static enum name_rate rate_of(const struct op_summary *row) {
    unsigned effect = call_table[row->kind->call_id].effect;
    if (!strcmp(row->name, "create") || effect == EFFECT_CREATE || effect == EFFECT_LINK) return RATE_CREATE;
    if (row->kind->class == CLASS_OPEN) return RATE_OPEN;
    return op_kind_asks(row->kind) ? RATE_STAT : RATE_REMOVE;
}

// Ranks with different numbers of names make their calls at the same time: they are one class. `seen` has a bit of each
// rate by rank.
static int add_names(struct io_classes *classes, uint32_t family, const struct op_summary *row, uint8_t *seen) {
    enum name_rate rate = rate_of(row);
    size_t place = classes->names;
    while (place > 0 && classes->name[place - 1].family == family && classes->name[place - 1].rate != rate) place--;
    if (place == 0 || classes->name[place - 1].family != family) {
        struct name_class new = {.family = family, .rate = rate};
        FORWARD(array_push(classes->name, classes->names, new));
        place = classes->names;
    }
    struct name_class *class = &classes->name[place - 1];
    class->count += row->count;
    for (size_t i = 0; i < row->part->ranks; i++) {
        uint8_t *rank = &seen[row->part->rank[i]];
        class->np += !(*rank & 1u << rate);
        *rank |= (uint8_t)(1u << rate);
    }
    return 0;
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
    uint8_t *seen = calloc(model->program[family->program].np + 1u, sizeof *seen);
    int code = ranks && seen ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !code; i++) {
        const struct op_summary *row = &rows[i];
        if (!row->moves) code = add_names(classes, number, row, seen);
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
                                                            .pause = pause_of(model, family),
                                                            .bytes = row->bytes};
    }
    free(ranks);
    free(seen);
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
