#include "predict/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// What does not follow a rule is closest to random.
static enum system_mode mode_of(const char *name)
{
    enum system_mode mode;
    if (!strcmp(name, "single")) return MODE_SEQUENTIAL;
    return system_mode_of(name, &mode) ? mode : MODE_RANDOM;
}

static uint64_t size_of(const struct model_row *row)
{
    uint64_t size = model_row_size(row);
    return size ? size : 1;
}

static void add_pauses(const struct model_items *items, double *seconds, double *count)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        if (item->type == LOOPS_LOOP) add_pauses(&(struct model_items){item->body, item->length}, seconds, count);
        if (!item->think) continue;
        *seconds += (double)item->think->quantile_ns[2] / 1e9 * (double)item->think->count;
        *count += (double)item->think->count;
    }
}

// Medians: one long pause before a phase rests the storage for its first request only. What was done to names between
// two requests does not use what moves data.
static double pause_of(const struct model_family *family)
{
    double seconds = 0, requests = 0, others = 0;
    for (size_t i = 0; i < family->parts; i++) add_pauses(&family->part[i].items, &seconds, &requests);
    for (size_t i = 0; i < family->others; i++) add_pauses(&family->other[i].items, &seconds, &others);
    return requests > 0 ? seconds / requests : 0;
}

static bool transfers(const struct model_row *row)
{
    return row->bytes > 0;
}

// In how many processes each thread transfers something, by its number.
static size_t *count_ranks(uint32_t threads, const struct model_row *rows, size_t count)
{
    size_t *ranks = calloc(threads + 1u, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++) {
        const struct model_part *part = rows[i].part;
        if (transfers(&rows[i]) && part->ranks > ranks[part->thread]) ranks[part->thread] = part->ranks;
    }
    return ranks;
}

// A thread does one thing after the other, threads do theirs at the same time.
static double mount_users_of(const struct model_row *row, const size_t *ranks, uint32_t threads)
{
    double users = (double)row->part->ranks;
    for (uint32_t i = 0; i < threads; i++) users += i == row->part->thread ? 0 : (double)ranks[i];
    return users;
}

// Ranks whose requests lie in turns are together sequential for the storage, but each of them strides.
static void fill(struct io_class *class, const struct model_row *row, const struct model_use *use, double pause,
                 double users)
{
    *class = (struct io_class){.write = row->class == CLASS_WRITE,
                               .size = size_of(row),
                               .mode = mode_of(row->mode),
                               .np = (uint32_t)row->part->ranks,
                               .users = users,
                               .shared = use->shared,
                               .collective = row->kind->collective,
                               .mpiio = row->kind->layer == LAYER_MPIIO,
                               .pause = pause,
                               .rep = row->rep,
                               .bytes = row->bytes};
}

int classes_of_family(const struct model *model, const struct model_family *family, struct io_classes *classes)
{
    struct model_row *rows = NULL;
    struct model_use use;
    size_t count = 0;
    double pause = pause_of(family);
    uint32_t threads = model_threads(model, family->program);
    *classes = (struct io_classes){0};
    FORWARD(model_files_used(model, family, &use));
    FORWARD(model_rows(model, family, &rows, &count));
    size_t *ranks = count_ranks(threads, rows, count);
    classes->item = ranks ? calloc(count + 1, sizeof *classes->item) : NULL;
    for (size_t i = 0; i < count && classes->item; i++) {
        if (!transfers(&rows[i])) continue;
        fill(&classes->item[classes->count++], &rows[i], &use, pause, mount_users_of(&rows[i], ranks, threads));
    }
    free(ranks);
    free(rows);
    return classes->item ? 0 : -ENOMEM;
}
