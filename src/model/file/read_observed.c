// `observed`: what one run saw. All of it may be missing.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "model/file/read_private.h"

// --- the job

static int copy_text(struct reading *r, const struct json_value *object, const char *key, const char **out) {
    const char *text = NULL;
    FORWARD(read_optional_text(r, object, key, &text));
    if (!text) return 0;
    *out = arena_text(&r->model->arena, text);
    return *out ? 0 : -ENOMEM;
}

static int read_double(struct reading *r, const struct json_value *object, const char *key, double *out) {
    if (json_in_type(json_in_member(object, key)) == JSON_NULL) return 0;
    return json_in_need_double(object, key, out, r->error);
}

static int read_unphased(struct reading *r) {
    struct model *model = r->model;
    const struct json_value *value = json_in_member(r->observed, "unphased");
    FORWARD(read_optional_count(r, value, "launchers", 0, INT64_MAX, &model->unphased_launchers));
    FORWARD(read_optional_count(r, value, "inherited", 0, INT64_MAX, &model->unphased_inherited));
    FORWARD(read_optional_count(r, value, "unnamed", 0, INT64_MAX, &model->unphased_unnamed));
    FORWARD(read_optional_count(r, value, "untraced", 0, INT64_MAX, &model->unphased_untraced));
    return read_optional_count(r, r->observed, "unphased_bytes", 0, INT64_MAX, &model->unphased);
}

static int read_job(struct reading *r) {
    struct model *model = r->model;
    const char *layer = NULL;
    FORWARD(copy_text(r, r->observed, "command", &model->command));
    FORWARD(copy_text(r, r->observed, "host", &model->host));
    FORWARD(copy_text(r, r->observed, "mpi", &model->mpi));
    FORWARD(read_double(r, r->observed, "start", &model->start));
    FORWARD(read_double(r, r->observed, "run_time", &model->run_seconds));
    FORWARD(read_optional_ns(r, r->observed, "gap", &model->gap_ns));
    FORWARD(read_optional_text(r, r->observed, "layer", &layer));
    int found = layer ? call_layer_find(layer) : LAYER_NONE;
    if (found < 0) return json_in_fail(r->error, r->observed, "there is no layer \"%s\"", layer);
    model->layer = (unsigned)found;
    return read_unphased(r);
}

static int read_program_names(struct reading *r) {
    const struct json_value *programs = NULL;
    FORWARD(read_optional_array(r, r->observed, "programs", &programs));
    for (size_t i = 0; i < json_in_length(programs) && i < r->model->programs; i++) {
        FORWARD(copy_text(r, json_in_at(programs, i), "name", &r->model->program[i].name));
    }
    return 0;
}

// Reads which members existed before and how large they were; by default the first ones, all of the same size.
static int read_before(struct reading *r, const struct json_value *value, struct model_file *file) {
    const struct json_value *members = json_in_member(value, "existed_members");
    const struct json_value *sizes = json_in_member(value, "sizes_before");
    size_t count;
    if (json_in_type(members) != JSON_NULL) {
        uint32_t most = (uint32_t)file->set->member_count - 1;
        FORWARD(read_ranges(r, members, "existed_members", (struct read_limits){0, most}, &file->before, &count));
        if (count != file->existed)
            return json_in_fail(r->error, members, "%zu members, but existed says otherwise", count);
    }
    if (json_in_type(sizes) == JSON_NULL) return 0;
    FORWARD(read_charge(r, sizes, file->existed));
    FORWARD(arena_array(&r->model->arena, file->before_bytes, file->existed));
    FORWARD(read_numbers(r, sizes, "sizes_before", file->existed, file->before_bytes));
    for (size_t i = 0; i < file->existed; i++) {
        if (file->before_bytes[i] < 0) return json_in_fail(r->error, sizes, "a size is negative");
    }
    return 0;
}

// Their names and folders were read with the structure.
static int read_file_sizes(struct reading *r) {
    const struct json_value *files = json_in_member(r->observed, "files");
    for (size_t i = 0; i < json_in_length(files); i++) {
        const struct json_value *value = json_in_at(files, i);
        const char *name;
        FORWARD(json_in_need_text(value, "file", &name, NULL, r->error));
        struct model_file *file = &r->model->file[string_table_find(&r->files, name)];
        FORWARD(read_optional_count(r, value, "existed", 0, file->set->member_count, &file->existed));
        FORWARD(read_optional_count(r, value, "size_before", 0, UINT64_MAX, &file->size_before));
        FORWARD(read_optional_count(r, value, "size_after", 0, UINT64_MAX, &file->size_after));
        FORWARD(read_optional_count(r, value, "read_before", 0, UINT64_MAX, &file->read_before));
        FORWARD(read_optional_count(r, value, "read_cached", 0, file->read_before, &file->read_cached));
        FORWARD(read_before(r, value, file));
    }
    return 0;
}

// --- what programs found otherwise

static int read_found(struct reading *r, const struct json_value *value, struct model_found *found) {
    uint64_t program;
    const char *name;
    FORWARD(read_count(r, value, "program", 0, r->model->programs - 1, &program));
    FORWARD(json_in_need_text(value, "file", &name, NULL, r->error));
    found->program = (uint32_t)program;
    found->file = string_table_find(&r->files, name);
    if (found->file >= r->model->files) return json_in_fail(r->error, value, "there is no file %s", name);
    uint32_t most = (uint32_t)r->model->file[found->file].set->member_count - 1;
    FORWARD(read_ranges(r, json_in_member(value, "members"), "members", (struct read_limits){0, most}, &found->member,
                        &found->count));
    FORWARD(read_charge(r, value, found->count));
    FORWARD(arena_array(&r->model->arena, found->bytes, found->count));
    return read_numbers(r, json_in_member(value, "sizes"), "sizes", found->count, found->bytes);
}

static int read_founds(struct reading *r) {
    const struct json_value *founds = NULL;
    FORWARD(read_optional_array(r, r->observed, "found", &founds));
    size_t count = json_in_length(founds);
    if (!count) return 0;
    if (!r->model->programs) return json_in_fail(r->error, founds, "there is no program that found them");
    r->model->found = calloc(count, sizeof *r->model->found);
    RETURN_IF(!r->model->found, -ENOMEM);
    for (; r->model->founds < count; r->model->founds++) {
        FORWARD(read_found(r, json_in_at(founds, r->model->founds), &r->model->found[r->model->founds]));
    }
    return 0;
}

// --- phases

static int read_phase(struct reading *r, const struct json_value *value, struct model_phase *phase) {
    uint64_t family = phase->family + 1u, ph = phase->ph;
    FORWARD(read_optional_count(r, value, "family", family, family, &family));
    FORWARD(read_optional_count(r, value, "ph", ph, ph, &ph));
    FORWARD(read_optional_count(r, value, "tick", 0, UINT64_MAX, &phase->tick));
    FORWARD(read_optional_ns(r, value, "start", &phase->start_ns));
    FORWARD(read_optional_ns(r, value, "span", &phase->span_ns));
    FORWARD(read_optional_ns(r, value, "duration", &phase->duration_ns));
    FORWARD(read_optional_ns(r, value, "other", &phase->other_ns));
    FORWARD(read_optional_ns(r, value, "comm_time", &phase->comm_ns));
    FORWARD(read_optional_count(r, value, "comm_calls", 0, UINT64_MAX, &phase->comm_calls));
    FORWARD(read_optional_count(r, value, "comm_bytes", 0, UINT64_MAX, &phase->comm_bytes));
    return read_optional_ns(r, value, "idle", &phase->idle_ns);
}

static int read_phases(struct reading *r) {
    const struct json_value *phases = NULL;
    FORWARD(read_optional_array(r, r->observed, "phases", &phases));
    if (!phases) return 0;
    if (json_in_length(phases) != r->model->phases) {
        return json_in_fail(r->error, phases, "%zu phases were observed, but the order has %zu", json_in_length(phases),
                            r->model->phases);
    }
    for (size_t i = 0; i < r->model->phases; i++) {
        FORWARD(read_phase(r, json_in_at(phases, i), &r->model->phase[i]));
    }
    return 0;
}

// --- families

// The operation with this number in a part, from 1, or NULL.
static struct model_item *leaf_at(const struct model_items *items, uint64_t number) {
    struct model_leaves leaves = model_leaves(items);
    struct model_item *item = NULL;
    for (uint64_t i = 0; i < number && (item = model_next_leaf(&leaves)); i++) continue;
    return item;
}

static const struct json_value *turn_of(const struct json_value *value, size_t turn) {
    return json_in_type(value) == JSON_ARRAY ? json_in_at(value, turn) : value;
}

static int read_turn(struct reading *r, const struct json_value *ahead, const struct json_value *overlap,
                     struct model_overlap *out) {
    if (json_in_uint64(ahead, &out->ahead) || out->ahead > UINT32_MAX) {
        return json_in_fail(r->error, ahead, "\"ahead\" is not a number of operations");
    }
    return json_in_type(overlap) == JSON_NULL ? 0 : read_ns(r, overlap, "overlap", &out->work_ns);
}

// One value for all transfers, or a list of them in turn.
static int read_async(struct reading *r, const struct json_value *value, struct model_item *item) {
    const struct json_value *ahead = json_in_member(value, "ahead"), *overlap = json_in_member(value, "overlap");
    if (json_in_type(ahead) == JSON_NULL) return 0;
    size_t turns = json_in_type(ahead) == JSON_ARRAY ? json_in_length(ahead) : 1;
    if (!turns) return json_in_fail(r->error, ahead, "\"ahead\" is empty");
    if (json_in_type(overlap) == JSON_ARRAY && json_in_length(overlap) != turns) {
        return json_in_fail(r->error, overlap, "\"overlap\" is not as long as \"ahead\"");
    }
    FORWARD(arena_array(&r->model->arena, item->async, 1));
    FORWARD(arena_array(&r->model->arena, item->async->turn, turns));
    item->async->turns = turns;
    for (size_t i = 0; i < turns; i++) {
        FORWARD(read_turn(r, turn_of(ahead, i), turn_of(overlap, i), &item->async->turn[i]));
    }
    return 0;
}

static int read_think(struct reading *r, const struct json_value *value, const struct model_part *parts, size_t count) {
    uint64_t part, op;
    int64_t mean_ns;
    const struct json_value *quartiles;
    FORWARD(read_count(r, value, "part", 1, count, &part));
    FORWARD(read_count(r, value, "op", 1, UINT32_MAX, &op));
    struct model_item *item = leaf_at(&parts[part - 1].items, op);
    if (!item) return json_in_fail(r->error, value, "there is no such operation in part %" PRIu64, part);
    FORWARD(builder_set_pause(&r->b, item, &(struct model_pause){0}));
    struct model_pause *think = item->think;
    FORWARD(read_count(r, value, "count", 1, INT64_MAX, &think->count));
    FORWARD(read_ns(r, json_in_member(value, "mean"), "mean", &mean_ns));
    if (__builtin_mul_overflow(mean_ns, (int64_t)think->count, &think->total_ns)) {
        return json_in_fail(r->error, value, "too many pauses that are too long");
    }
    FORWARD(json_in_need_array(value, "quartiles", &quartiles, r->error));
    if (json_in_length(quartiles) != 5) return json_in_fail(r->error, quartiles, "five quartiles are needed");
    for (unsigned q = 0; q < 5; q++) {
        FORWARD(read_ns(r, json_in_at(quartiles, q), "quartiles", &think->quantile_ns[q]));
    }
    return read_async(r, value, item);
}

static int read_parts_think(struct reading *r, const struct json_value *value, const char *key,
                            const struct model_part *parts, size_t count) {
    const struct json_value *think = NULL;
    FORWARD(read_optional_array(r, value, key, &think));
    for (size_t i = 0; i < json_in_length(think); i++) FORWARD(read_think(r, json_in_at(think, i), parts, count));
    return 0;
}

static int read_family(struct reading *r, const struct json_value *value) {
    uint64_t id;
    FORWARD(read_count(r, value, "family", 1, r->model->families, &id));
    struct model_family *family = &r->model->family[id - 1];
    family->has_period = json_in_type(json_in_member(value, "period")) != JSON_NULL;
    FORWARD(read_optional_ns(r, value, "period", &family->period_ns));
    FORWARD(read_optional_count(r, value, "period_ticks", 0, UINT64_MAX, &family->period_ticks));
    FORWARD(read_double(r, value, "irregularity", &family->irregularity));
    FORWARD(read_parts_think(r, value, "think", family->part, family->parts));
    return read_parts_think(r, value, "think_others", family->other, family->others);
}

// --- waits

// Reads numbers from 1 on, each at least `least_step` above the previous one.
static int read_row(struct reading *r, const struct json_value *object, const char *key, size_t count,
                    int64_t least_step, int64_t **out) {
    const struct json_value *value = json_in_member(object, key);
    if (json_in_type(value) == JSON_ARRAY && json_in_length(value) != count) {
        return json_in_fail(r->error, value, "\"%s\" is not an array of %zu integers", key, count);
    }
    FORWARD(read_charge(r, object, count));
    FORWARD(arena_array(&r->model->arena, *out, count));
    FORWARD(read_numbers(r, value, key, count, *out));
    for (size_t i = 0; i < count; i++) {
        if ((*out)[i] < 1 || (i && (*out)[i] - (*out)[i - 1] < least_step)) {
            return json_in_fail(r->error, value, "\"%s\" does not ascend from 1", key);
        }
    }
    return 0;
}

static bool is_behind(const struct model_wait *wait, const struct model_wait *before) {
    if (wait->program != before->program) return wait->program > before->program;
    if (wait->rank != before->rank) return wait->rank > before->rank;
    if (wait->thread != before->thread) return wait->thread > before->thread;
    if (wait->behind_rank != before->behind_rank) return wait->behind_rank > before->behind_rank;
    return wait->behind > before->behind;
}

static int read_wait(struct reading *r, const struct json_value *value, struct model_wait *wait) {
    uint64_t program, rank, thread, behind_rank, behind, count;
    FORWARD(read_count(r, value, "program", 0, r->model->programs - 1, &program));
    FORWARD(read_count(r, value, "rank", 0, r->model->program[program].np - 1, &rank));
    FORWARD(read_count(r, value, "thread", 0, UINT32_MAX, &thread));
    FORWARD(read_count(r, value, "behind", 0, UINT32_MAX, &behind));
    behind_rank = rank; // models of earlier versions have waits between the threads of a process only
    FORWARD(read_optional_count(r, value, "behind_rank", 0, r->model->program[program].np - 1, &behind_rank));
    if (rank == behind_rank && thread == behind)
        return json_in_fail(r->error, value, "a thread does not wait for itself");
    FORWARD(read_count(r, value, "count", 1, UINT32_MAX, &count));
    *wait = (struct model_wait){.program = (uint32_t)program,
                                .rank = (uint32_t)rank,
                                .thread = (uint32_t)thread,
                                .behind_rank = (uint32_t)behind_rank,
                                .behind = (uint32_t)behind,
                                .count = (size_t)count};
    FORWARD(read_row(r, value, "ops", wait->count, 1, &wait->op));
    return read_row(r, value, "done", wait->count, 0, &wait->done);
}

static int read_waits(struct reading *r) {
    const struct json_value *waits = NULL;
    FORWARD(read_optional_array(r, r->observed, "waits", &waits));
    size_t count = json_in_length(waits);
    if (!count) return 0;
    if (!r->model->programs) return json_in_fail(r->error, waits, "there is no program that waits");
    r->model->wait = calloc(count, sizeof *r->model->wait);
    RETURN_IF(!r->model->wait, -ENOMEM);
    for (; r->model->waits < count; r->model->waits++) {
        const struct json_value *value = json_in_at(waits, r->model->waits);
        struct model_wait *wait = &r->model->wait[r->model->waits];
        FORWARD(read_wait(r, value, wait));
        if (r->model->waits && !is_behind(wait, wait - 1)) {
            return json_in_fail(r->error, value, "it is not behind the one before, by program, ranks and threads");
        }
    }
    return 0;
}

int read_observed(struct reading *r) {
    const struct json_value *families = NULL;
    if (!r->observed) return 0;
    FORWARD(read_job(r));
    FORWARD(read_program_names(r));
    FORWARD(read_file_sizes(r));
    FORWARD(read_founds(r));
    FORWARD(read_phases(r));
    FORWARD(read_optional_array(r, r->observed, "families", &families));
    for (size_t i = 0; i < json_in_length(families); i++) FORWARD(read_family(r, json_in_at(families, i)));
    return read_waits(r);
}
