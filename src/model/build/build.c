// From a log to a model.
#include "model/build/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scoped.h"
#include "log/visit.h"

static int make_family(struct building *b, uint32_t id) {
    struct model_family *family = &b->model->family[id];
    FORWARD(build_parts(b, id, false));
    FORWARD(build_parts(b, id, true));
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->family[id].count; i++) bytes += b->segments.segment[b->family[id].piece[i].segment].bytes;
    family->weight = bytes / family->count;
    b->model->bytes += bytes;
    return 0;
}

static int copy_programs(struct building *b) {
    struct model *model = b->model;
    for (size_t i = 0; i < b->recorded.programs; i++) {
        const struct recorded_program *from = &b->recorded.program[i];
        FORWARD(builder_add_program(&b->builder, from->is_mpi, from->np));
        if (!from->name) continue;
        model->program[i].name = arena_text(&model->arena, from->name);
        RETURN_IF(!model->program[i].name, -ENOMEM);
    }
    return 0;
}

static int copy_selections(struct building *b) {
    struct model *model = b->model;
    model->selections = b->recorded.selections;
    FORWARD(arena_array(&model->arena, model->selection, model->selections));
    for (size_t i = 0; i < model->selections; i++) model->selection[i] = b->recorded.selection[i];
    return 0;
}

static int cut_threads(struct building *b, int64_t gap_ns) {
    b->of_thread = calloc(b->recorded.count + 1, sizeof *b->of_thread);
    RETURN_IF(!b->of_thread, -ENOMEM);
    for (size_t i = 0; i < b->recorded.count; i++) {
        b->of_thread[i].first = b->segments.count;
        FORWARD(segments_make(&b->segments, &b->recorded, &b->recorded.thread[i], gap_ns, &b->model->arena));
        b->of_thread[i].end = b->segments.count;
    }
    return align_make(&b->align, &b->recorded, &b->segments, b->of_thread);
}

static int build(struct building *b) {
    struct model *model = b->model;
    FORWARD(recorded_finish(&b->recorded));
    // Names are in the arena of the recorded threads, so the model takes over that arena.
    model->arena = b->recorded.arena;
    b->recorded.arena = (struct arena){0};
    FORWARD(communicators_join(&b->communicators, &b->recorded, b->log));
    FORWARD(communicators_set(&b->communicators, &b->recorded));
    bool is_above = call_layer_is_above(model->layer); // nobody replays such a model
    if (!is_above) FORWARD(build_syncs(b));
    recorded_drop_idle(&b->recorded);
    if (!is_above) FORWARD(build_file_waits(b));
    FORWARD(build_metadata(b));
    FORWARD(cut_threads(b, model->gap_ns));
    FORWARD(copy_programs(b));
    FORWARD(build_families(b));
    for (uint32_t i = 0; i < model->families; i++) FORWARD(make_family(b, i));
    FORWARD(build_periods(b));
    FORWARD(build_numbers(b, b->log));
    FORWARD(copy_selections(b));
    const struct recorded_left *left = &b->recorded.left;
    model->unphased_launchers = left->launchers;
    model->unphased_inherited = left->inherited;
    model->unphased_unnamed = left->unnamed;
    model->unphased_untraced = left->untraced;
    model->unphased = left->launchers + left->inherited + left->unnamed + left->untraced;
    return 0;
}

static int observe_job(struct model *model, const struct log *log) {
    const struct log_job *job = log_job(log);
    SCOPED(bytes_free) struct bytes words = {0};
    for (size_t i = 0; i < job->command.count; i++) {
        if (i) FORWARD(bytes_append(&words, " ", 1));
        FORWARD(bytes_append(&words, job->command.word[i], strlen(job->command.word[i])));
    }
    FORWARD(bytes_append(&words, "", 1));
    model->command = arena_text(&model->arena, (const char *)words.data);
    model->host = job->host ? arena_text(&model->arena, job->host) : NULL;
    const char *mpi = log_world_count(log) ? log_world_at(log, 0)->mpi : NULL;
    model->mpi = mpi ? arena_text(&model->arena, mpi) : NULL;
    model->start = (double)job->start_ns / 1e9;
    model->run_seconds = (double)log_run_ns(log) / 1e9;
    return 0;
}

int model_build_begin(struct building **out, struct log *log, const struct model_options *options,
                      struct log_consumer *consumer) {
    struct building *b = *out = calloc(1, sizeof *b);
    RETURN_IF(!b, -ENOMEM);
    b->log = log;
    b->options = *options;
    return recorded_begin(&b->recorded, log, options, consumer);
}

int model_build_finish(struct building *b, struct model *model) {
    const struct model_options *options = &b->options;
    b->model = model;
    *model = (struct model){.layer = options->layer, .gap_ns = options->gap_ns ? options->gap_ns : MODEL_GAP_NS};
    builder_begin(&b->builder, model);
    int code = build(b);
    if (!code) code = observe_job(model, b->log);
    for (size_t i = 0; i < model->families && b->family; i++) free(b->family[i].piece);
    builder_end(&b->builder);
    if (code) model_free(model);
    return code;
}

void model_build_free(struct building *b) {
    if (!b) return;
    free(b->family);
    free(b->segments.segment);
    free(b->of_thread);
    align_free(&b->align);
    recorded_free(&b->recorded);
    communicators_free(&b->communicators);
    free(b);
}

int model_from_log(struct model *model, struct log *log, const struct model_options *options) {
    struct building *b;
    struct log_consumer consumer;
    *model = (struct model){0};
    int code = model_build_begin(&b, log, options, &consumer);
    if (!code) code = log_visit(&(struct log_visit){.log = log, .consumer = &consumer, .consumers = 1});
    if (!code) code = model_build_finish(b, model);
    model_build_free(b);
    return code;
}
