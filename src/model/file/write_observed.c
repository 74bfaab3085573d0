// `observed`: what one run on one machine saw.

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/keywords.h"
#include "model/file/write_private.h"

static void write_job(struct writing *w) {
    const struct model *model = w->model;
    json_members(w->json, m_text("command", model->command), m_text("host", model->host), m_text("mpi", model->mpi),
                 m_double("start", model->start), m_double("run_time", model->run_seconds),
                 m_text("layer", call_layer_name(model->layer)), m_seconds("gap", model->gap_ns),
                 m_number("bytes", model->bytes), m_number("unphased_bytes", model->unphased));
    json_fold(w->json);
    json_key(w->json, "unphased");
    json_object_of(w->json, m_number("launchers", model->unphased_launchers),
                   m_number("unnamed", model->unphased_unnamed), m_number("inherited", model->unphased_inherited),
                   m_number("untraced", model->unphased_untraced));
}

static void write_programs(struct writing *w) {
    key_array(w->json, "programs");
    for (size_t i = 0; i < w->model->programs; i++) {
        json_fold(w->json);
        json_object_of(w->json, m_text("name", w->model->program[i].name));
    }
    json_close(w->json);
}

// Writes which members of a set existed before and how large each was, unless their number and total size say it.
static int write_before(struct writing *w, const struct model_file *file) {
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

static int write_files(struct writing *w) {
    key_array(w->json, "files");
    for (size_t i = 0; i < w->model->files; i++) {
        const struct model_file *file = &w->model->file[i];
        json_fold(w->json);
        json_object(w->json);
        key_text(w->json, "file", w->files.text[i]);
        json_key(w->json, "directory");
        json_bytes(w->json, file->set->pattern, write_directory_len(file->set));
        json_members(w->json, m_number("existed", file->existed), m_number("size_before", file->size_before),
                     m_number("size_after", file->size_after));
        FORWARD(write_before(w, file));
        if (file->read_before)
            json_members(w->json, m_number("read_before", file->read_before),
                         m_number("read_cached", file->read_cached));
        json_close(w->json);
    }
    json_close(w->json);
    return 0;
}

static void write_phase(struct writing *w, size_t id) {
    const struct model_phase *phase = &w->model->phase[id];
    const struct model_family *family = &w->model->family[phase->family];
    json_fold(w->json);
    json_object_of(
        w->json, m_number("phase", id + 1), m_number("family", phase->family + 1u), m_number("ph", phase->ph),
        m_number("tick", phase->tick), m_seconds("start", phase->start_ns), m_seconds("span", phase->span_ns),
        m_seconds("duration", phase->duration_ns), m_seconds("other", phase->other_ns),
        m_seconds("comm_time", phase->comm_ns), m_number("comm_calls", phase->comm_calls),
        m_number("comm_bytes", phase->comm_bytes), m_seconds("idle", phase->idle_ns),
        m_double_if("bandwidth", phase->duration_ns > 0, (double)family->weight / ((double)phase->duration_ns / 1e9)));
}

// --- families

static bool has_something(const struct model_item *item) {
    return item->think && item->think->count && (item->think->total_ns || item->async);
}

// One value for all transfers, or a list of them in turn.
static void write_async(struct writing *w, const struct model_async *async) {
    if (async->turns == 1) {
        json_members(w->json, m_number("ahead", async->turn->ahead), m_seconds("overlap", async->turn->work_ns));
        return;
    }
    key_array(w->json, "ahead");
    for (size_t i = 0; i < async->turns; i++) json_unsigned(w->json, async->turn[i].ahead);
    json_close(w->json);
    key_array(w->json, "overlap");
    for (size_t i = 0; i < async->turns; i++) json_seconds(w->json, async->turn[i].work_ns);
    json_close(w->json);
}

// Writes the pauses before the operations of a part, in the order in which the part has them.
static void write_think(struct writing *w, size_t part, const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    const struct model_item *item;
    for (size_t op = 1; (item = model_next_leaf(&leaves)); op++) {
        if (!has_something(item)) continue;
        json_fold(w->json);
        json_object(w->json);
        json_members(w->json, m_number("part", part), m_number("op", op), m_number("count", item->think->count),
                     m_seconds("mean", item->think->total_ns / (int64_t)item->think->count));
        key_array(w->json, "quartiles");
        for (unsigned q = 0; q < 5; q++) json_seconds(w->json, item->think->quantile_ns[q]);
        json_close(w->json);
        if (item->async) write_async(w, item->async);
        json_close(w->json);
    }
}

static bool parts_think(const struct model_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct model_leaves leaves = model_leaves(&parts[i].items);
        for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
            if (has_something(item)) return true;
        }
    }
    return false;
}

static void write_parts_think(struct writing *w, const char *key, const struct model_part *parts, size_t count) {
    if (!parts_think(parts, count)) return;
    key_array(w->json, key);
    for (size_t i = 0; i < count; i++) write_think(w, i + 1, &parts[i].items);
    json_close(w->json);
}

static void write_family(struct writing *w, size_t id) {
    const struct model_family *family = &w->model->family[id];
    bool thinks = parts_think(family->part, family->parts) || parts_think(family->other, family->others);
    if (!thinks && !family->has_period) return;
    json_object(w->json);
    key_number(w->json, "family", id + 1);
    if (family->has_period)
        json_members(w->json, m_seconds("period", family->period_ns), m_number("period_ticks", family->period_ticks),
                     m_double("irregularity", family->irregularity));
    write_parts_think(w, "think", family->part, family->parts);
    write_parts_think(w, "think_others", family->other, family->others);
    json_close(w->json);
}

static int write_waits(struct writing *w) {
    if (!w->model->waits) return 0;
    key_array(w->json, "waits");
    for (size_t i = 0; i < w->model->waits; i++) {
        const struct model_wait *wait = &w->model->wait[i];
        json_fold(w->json);
        json_object(w->json);
        json_members(w->json, m_number("program", wait->program), m_number("rank", wait->rank),
                     m_number("thread", wait->thread));
        if (wait->behind_rank != wait->rank) key_number(w->json, "behind_rank", wait->behind_rank);
        json_members(w->json, m_number("behind", wait->behind), m_number("count", wait->count));
        json_key(w->json, "ops");
        FORWARD(write_numbers(w, wait->op, wait->count));
        json_key(w->json, "done");
        FORWARD(write_numbers(w, wait->done, wait->count));
        json_close(w->json);
    }
    json_close(w->json);
    return 0;
}

static int write_founds(struct writing *w) {
    if (!w->model->founds) return 0;
    key_array(w->json, "found");
    for (size_t i = 0; i < w->model->founds; i++) {
        const struct model_found *found = &w->model->found[i];
        json_fold(w->json);
        json_object(w->json);
        json_members(w->json, m_number("program", found->program), m_text("file", w->files.text[found->file]));
        write_ranges(w, "members", found->member, found->count);
        json_key(w->json, "sizes");
        FORWARD(write_numbers(w, found->bytes, found->count));
        json_close(w->json);
    }
    json_close(w->json);
    return 0;
}

int write_observed(struct writing *w) {
    write_job(w);
    write_programs(w);
    FORWARD(write_files(w));
    FORWARD(write_founds(w));
    if (w->model->hints_count) write_hints(w, true);
    key_array(w->json, "phases");
    for (size_t i = 0; i < w->model->phases; i++) write_phase(w, i);
    json_close(w->json);
    key_array(w->json, "families");
    for (size_t i = 0; i < w->model->families; i++) write_family(w, i);
    json_close(w->json);
    return write_waits(w);
}
