// `observed`: what one run on one machine saw.
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/keywords.h"
#include "model/file/writing.h"

static void write_job(struct writing *w)
{
    const struct model *model = w->model;
    key_text(w->json, "command", model->command);
    key_text(w->json, "host", model->host);
    key_text(w->json, "mpi", model->mpi);
    key_double(w->json, "start", model->start);
    key_double(w->json, "run_time", model->run_seconds);
    key_text(w->json, "layer", call_layer_name(model->layer));
    key_seconds(w->json, "gap", model->gap_ns);
    key_number(w->json, "bytes", model->bytes);
    key_number(w->json, "unphased_bytes", model->unphased);
    json_fold(w->json);
    key_object(w->json, "unphased");
    key_number(w->json, "launchers", model->unphased_launchers);
    key_number(w->json, "unnamed", model->unphased_unnamed);
    key_number(w->json, "untraced", model->unphased_untraced);
    json_close(w->json);
}

static void write_programs(struct writing *w)
{
    key_array(w->json, "programs");
    for (size_t i = 0; i < w->model->programs; i++) {
        json_fold(w->json);
        json_object(w->json);
        key_text(w->json, "name", w->model->program[i].name);
        json_close(w->json);
    }
    json_close(w->json);
}

// Writes which members of a set existed before and how large each was, unless their number and total size say it.
static int write_before(struct writing *w, const struct model_file *file)
{
    if (!file->existed) return 0;
    if (file->before && file->before[file->existed - 1] != file->existed - 1) {
        write_ranges(w, "existed_members", file->before, file->existed);
    }
    for (size_t i = 1; file->before_bytes && i < file->existed; i++) {
        if (file->before_bytes[i] == file->before_bytes[0]) continue;
        json_key(w->json, "sizes_before");
        return write_numbers(w, file->before_bytes, file->existed);
    }
    return 0;
}

static int write_files(struct writing *w)
{
    key_array(w->json, "files");
    for (size_t i = 0; i < w->model->files; i++) {
        const struct model_file *file = &w->model->file[i];
        json_fold(w->json);
        json_object(w->json);
        key_text(w->json, "file", w->files.text[i]);
        json_key(w->json, "directory");
        json_bytes(w->json, file->set->pattern, write_directory_len(file->set));
        key_number(w->json, "existed", file->existed);
        key_number(w->json, "size_before", file->size_before);
        key_number(w->json, "size_after", file->size_after);
        FORWARD(write_before(w, file));
        if (file->read_before) {
            key_number(w->json, "read_before", file->read_before);
            key_number(w->json, "read_cached", file->read_cached);
        }
        json_close(w->json);
    }
    json_close(w->json);
    return 0;
}

static void write_phase(struct writing *w, size_t id)
{
    const struct model_phase *phase = &w->model->phase[id];
    const struct model_family *family = &w->model->family[phase->family];
    json_fold(w->json);
    json_object(w->json);
    key_number(w->json, "phase", id + 1);
    key_number(w->json, "family", phase->family + 1u);
    key_number(w->json, "ph", phase->ph);
    key_number(w->json, "tick", phase->tick);
    key_seconds(w->json, "start", phase->start_ns);
    key_seconds(w->json, "span", phase->span_ns);
    key_seconds(w->json, "duration", phase->duration_ns);
    key_seconds(w->json, "other", phase->other_ns);
    key_seconds(w->json, "comm_time", phase->comm_ns);
    key_number(w->json, "comm_calls", phase->comm_calls);
    key_number(w->json, "comm_bytes", phase->comm_bytes);
    key_seconds(w->json, "idle", phase->idle_ns);
    json_key(w->json, "bandwidth");
    if (phase->duration_ns > 0) {
        json_double(w->json, (double)family->weight / ((double)phase->duration_ns / 1e9));
    } else {
        json_null(w->json);
    }
    json_close(w->json);
}

// --- families

static bool has_something(const struct model_item *item)
{
    return item->think && item->think->count && (item->think->total_ns || item->async);
}

// Writes the pauses before the operations of a part, in the order in which the part has them.
static void write_think(struct writing *w, size_t part, const struct model_items *items)
{
    struct model_leaves leaves = model_leaves(items);
    const struct model_item *item;
    for (size_t op = 1; (item = model_next_leaf(&leaves)); op++) {
        if (!has_something(item)) continue;
        json_fold(w->json);
        json_object(w->json);
        key_number(w->json, "part", part);
        key_number(w->json, "op", op);
        key_number(w->json, "count", item->think->count);
        key_seconds(w->json, "mean", item->think->total_ns / (int64_t)item->think->count);
        key_array(w->json, "quartiles");
        for (unsigned q = 0; q < 5; q++) json_seconds(w->json, item->think->quantile_ns[q]);
        json_close(w->json);
        if (item->async) {
            key_number(w->json, "ahead", item->async->ahead);
            key_seconds(w->json, "overlap", item->async->overlap_ns);
        }
        json_close(w->json);
    }
}

static bool parts_think(const struct model_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct model_leaves leaves = model_leaves(&parts[i].items);
        for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
            if (has_something(item)) return true;
        }
    }
    return false;
}

static void write_parts_think(struct writing *w, const char *key, const struct model_part *parts, size_t count)
{
    if (!parts_think(parts, count)) return;
    key_array(w->json, key);
    for (size_t i = 0; i < count; i++) write_think(w, i + 1, &parts[i].items);
    json_close(w->json);
}

static void write_family(struct writing *w, size_t id)
{
    const struct model_family *family = &w->model->family[id];
    bool thinks = parts_think(family->part, family->parts) || parts_think(family->other, family->others);
    if (!thinks && !family->has_period) return;
    json_object(w->json);
    key_number(w->json, "family", id + 1);
    if (family->has_period) {
        key_seconds(w->json, "period", family->period_ns);
        key_number(w->json, "period_ticks", family->period_ticks);
        key_double(w->json, "irregularity", family->irregularity);
    }
    write_parts_think(w, "think", family->part, family->parts);
    write_parts_think(w, "think_others", family->other, family->others);
    json_close(w->json);
}

static int write_waits(struct writing *w)
{
    if (!w->model->waits) return 0;
    key_array(w->json, "waits");
    for (size_t i = 0; i < w->model->waits; i++) {
        const struct model_wait *wait = &w->model->wait[i];
        json_fold(w->json);
        json_object(w->json);
        key_number(w->json, "program", wait->program);
        key_number(w->json, "rank", wait->rank);
        key_number(w->json, "thread", wait->thread);
        key_number(w->json, "behind", wait->behind);
        key_number(w->json, "count", wait->count);
        json_key(w->json, "ops");
        FORWARD(write_numbers(w, wait->op, wait->count));
        json_key(w->json, "done");
        FORWARD(write_numbers(w, wait->done, wait->count));
        json_close(w->json);
    }
    json_close(w->json);
    return 0;
}

int write_observed(struct writing *w)
{
    write_job(w);
    write_programs(w);
    FORWARD(write_files(w));
    if (w->model->hints_count) write_hints(w, true);
    key_array(w->json, "phases");
    for (size_t i = 0; i < w->model->phases; i++) write_phase(w, i);
    json_close(w->json);
    key_array(w->json, "families");
    for (size_t i = 0; i < w->model->families; i++) write_family(w, i);
    json_close(w->json);
    return write_waits(w);
}
