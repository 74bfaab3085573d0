// Brings a catalogue up to date: looks what has changed, lets workers read it, and stores what they found.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "catalogue/catalogue.h"
#include "catalogue/workers.h"

// Results are kept until there are some, so that a transaction, which others have to wait for, is short.
enum { MOST_WAITING = 256 };
static const int64_t most_waiting_ns = 1000000000;

struct result {
    size_t log;
    struct bytes data;
    char *reason; // NULL: there is a job
};

struct indexing {
    const struct catalogue_order *order;
    struct catalogue_changes *changes;
    struct writer writer;
    struct result *waiting;
    size_t waiting_count;
    int64_t since_ns; // of the first that waits
    uint64_t done;
    struct problem *problem;
};

static void forget_results(struct indexing *indexing) {
    for (size_t i = 0; i < indexing->waiting_count; i++) {
        bytes_free(&indexing->waiting[i].data);
        free(indexing->waiting[i].reason);
    }
    free(indexing->waiting);
    indexing->waiting = NULL;
    indexing->waiting_count = 0;
}

static int store_result(struct indexing *indexing, const struct result *result) {
    struct catalogue_changes *changes = indexing->changes;
    const struct walk_log *log = &changes->walk.changed[result->log];
    const struct log_entry place = {changes->walk.folder[log->folder], log->name, log->state};
    struct job job = {0};
    int code = result->reason ? 0 : job_get(&job, result->data.data, result->data.len);
    if (code == 0)
        code = writer_put(&indexing->writer, &place, result->reason ? NULL : &job, result->reason, indexing->problem);
    job_free(&job);
    if (code == WRITER_ADDED) changes->added += !result->reason;
    if (code == WRITER_UPDATED) changes->updated += !result->reason;
    return code < 0 ? code : 0;
}

static int store_results(struct indexing *indexing) {
    if (!indexing->waiting_count) return 0;
    FORWARD(writer_begin(&indexing->writer, indexing->problem));
    int code = 0;
    for (size_t i = 0; i < indexing->waiting_count && code == 0; i++)
        code = store_result(indexing, &indexing->waiting[i]);
    code = writer_end(&indexing->writer, code, indexing->problem);
    forget_results(indexing);
    return code;
}

// --- what workers ask for

static int path_of(void *context, size_t log, char path[]) {
    const struct indexing *indexing = context;
    const struct walk *walk = &indexing->changes->walk;
    return walk_path(walk, &walk->changed[log], path);
}

static int done(void *context, size_t log, const struct bytes *data, const char *reason) {
    struct indexing *indexing = context;
    struct result result = {.log = log, .reason = reason ? strdup(reason) : NULL};
    char path[PATH_MAX];
    RETURN_IF(reason && !result.reason, -ENOMEM);
    if (reason) FORWARD(path_of(context, log, path));
    if (reason) FORWARD(walk_add_bad(&indexing->changes->walk, path, reason));
    if (data) FORWARD(bytes_append(&result.data, data->data, data->len));
    if (!indexing->waiting_count) indexing->since_ns = clock_now_ns();
    FORWARD(array_push(indexing->waiting, indexing->waiting_count, result));
    indexing->done++;
    return indexing->waiting_count < MOST_WAITING ? 0 : store_results(indexing);
}

static int tick(void *context) {
    struct indexing *indexing = context;
    const struct catalogue_order *order = indexing->order;
    const struct catalogue_progress progress = {indexing->done, indexing->changes->walk.changed_count};
    if (indexing->waiting_count && clock_now_ns() - indexing->since_ns > most_waiting_ns)
        FORWARD(store_results(indexing));
    return order->progress ? order->progress(order->context, &progress) : 0;
}

// --- the whole

static int remove_logs(struct indexing *indexing) {
    struct walk *walk = &indexing->changes->walk;
    for (size_t at = 0; at < walk->removed_count; at += MOST_WAITING) {
        int code = 0;
        FORWARD(writer_begin(&indexing->writer, indexing->problem));
        for (size_t i = at; i < walk->removed_count && i < at + MOST_WAITING && code == 0; i++)
            code = writer_remove(&indexing->writer, walk->removed[i], indexing->problem);
        FORWARD(writer_end(&indexing->writer, code, indexing->problem));
    }
    indexing->changes->removed = walk->removed_count;
    return 0;
}

static int bring_up_to_date(struct indexing *indexing) {
    const struct catalogue_order *order = indexing->order;
    struct walk *walk = &indexing->changes->walk;
    FORWARD(walk_look(walk, &indexing->writer, order->path, order->paths, indexing->problem));
    indexing->changes->same = walk->same;
    FORWARD(remove_logs(indexing));
    const struct workers_order read = {indexing, walk->changed_count, path_of, done, tick};
    FORWARD(workers_run(&read, indexing->problem));
    return store_results(indexing);
}

int catalogue_index(struct catalogue *catalogue, const struct catalogue_order *order, struct catalogue_changes *changes,
                    struct problem *problem) {
    struct indexing indexing = {.order = order, .changes = changes, .problem = problem};
    *changes = (struct catalogue_changes){0};
    writer_init(&indexing.writer, catalogue->store);
    int code = bring_up_to_date(&indexing);
    forget_results(&indexing);
    writer_free(&indexing.writer);
    return code;
}

void catalogue_changes_free(struct catalogue_changes *changes) { walk_free(&changes->walk); }
