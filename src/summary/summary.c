#include "summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "log/import.h"

static int add_user(struct summary *summary, struct summary_file *file, const struct log_process *process) {
    uint32_t number = (uint32_t)log_file_index(summary->log, file->file);
    int is_new = log_images_add_user(&summary->images, &summary->users, process, number);
    FORWARD(is_new);
    file->processes += (unsigned)is_new;
    file->ranks += process->has_rank;
    file->last = process;
    return 0;
}

static void add_bytes(struct summary_file *file, const struct log_stats_record *record) {
    // Higher layers move the same bytes through these two layers, and neither of the two uses the other.
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO) return;
    file->bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    file->bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    file->opens += counters_true_opens(&record->counters, record->layer);
}

static int add_record(const struct log_stats_record *record, void *context) {
    struct summary *summary = context;
    if (summary->also) FORWARD(summary->also(record, summary->also_context));
    coverage_add(&summary->coverage, record);
    summary->layer_used[record->layer] = true; // past the end of a trace only the counters show which layers were used
    if (!record->file || call_layer_is_above(record->layer)) return 0;
    struct summary_file *file = &summary->files[log_file_index(summary->log, record->file)];
    file->file = record->file;
    if (file->last != record->process) FORWARD(add_user(summary, file, record->process));
    add_bytes(file, record);
    return 0;
}

// Counters of several ranks say how many these are, not which.
static int add_added_up(const struct log_stats_record *record, void *context) {
    struct summary *summary = context;
    if (record->process) return add_record(record, context);
    if (summary->also) FORWARD(summary->also(record, summary->also_context));
    coverage_add(&summary->coverage, record);
    summary->layer_used[record->layer] = true;
    if (call_layer_is_above(record->layer)) return 0;
    struct summary_file *file = &summary->files[log_file_index(summary->log, record->file)];
    file->file = record->file;
    if (record->ranks.count > file->ranks) file->ranks = file->processes = record->ranks.count;
    add_bytes(file, record);
    return 0;
}

static int compare_files(const void *a, const void *b) {
    const struct summary_file *left = a;
    const struct summary_file *right = b;
    uint64_t left_bytes = left->bytes[DIRECTION_READ] + left->bytes[DIRECTION_WRITE];
    uint64_t right_bytes = right->bytes[DIRECTION_READ] + right->bytes[DIRECTION_WRITE];
    if (left_bytes != right_bytes) return left_bytes < right_bytes ? 1 : -1;
    if (left->mapped[MAPPED_READ] != right->mapped[MAPPED_READ])
        return left->mapped[MAPPED_READ] < right->mapped[MAPPED_READ] ? 1 : -1;
    return strcmp(left->file->name, right->file->name);
}

static void add_mapped(struct summary *summary) {
    for (size_t i = 0; i < log_mapped_count(summary->log); i++) {
        const struct log_mapped *mapped = log_mapped_at(summary->log, i);
        if (!mapped->file) continue;
        struct summary_file *file = &summary->files[log_file_index(summary->log, mapped->file)];
        file->file = mapped->file;
        for (unsigned kind = 0; kind < MAPPED_KINDS; kind++) {
            file->mapped[kind] += mapped->bytes[kind];
            summary->coverage.mapped[kind] += mapped->bytes[kind];
        }
    }
}

static void list_files(struct summary *summary) {
    size_t count = log_file_count(summary->log);
    for (size_t i = 0; i < count; i++) {
        if (summary->files[i].file) summary->files[summary->file_count++] = summary->files[i];
    }
    qsort(summary->files, summary->file_count, sizeof *summary->files, compare_files);
}

struct summary_past_cap summary_past_cap(const struct summary *summary) {
    struct summary_past_cap past = {0};
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct log_file *file = summary->files[i].file;
        past.records += file->is_aggregate && !file->object;
        past.files += file->object ? 0 : file->stands_for;
    }
    return past;
}

static void gather_losses(struct summary *summary) {
    const struct log_health *health = log_health(summary->log);
    for (size_t i = 0; i < log_loss_count(summary->log); i++) {
        const struct log_loss *loss = log_loss_at(summary->log, i);
        if (loss_is_of_events(loss->reason)) summary->lost_events += loss->count;
        if (loss->reason == LOSS_DAMAGED) summary->spill_damaged_bytes += loss->bytes;
        if (loss->reason == LOSS_DAMAGED && log_import(summary->log)) summary->origin_damaged = true;
    }
    summary->lost_events += health->events_damaged;
    summary->may_lack_events =
        health->truncated || health->bytes_skipped || health->records_damaged || summary->spill_damaged_bytes;
    summary->is_damaged = summary->may_lack_events || summary->origin_damaged || health->index_missing ||
                          health->header_damaged || health->blocks_damaged;
}

static int gather_job(struct summary *summary) {
    const struct log *log = summary->log;
    // The largest of several MPI jobs counts; the processes around it are not part of the job.
    const struct log_world *world = log_largest_world(log);
    summary->nprocs = log_job(log)->nprocs ? log_job(log)->nprocs : log_process_count(log);
    if (world) summary->nprocs = world->size, summary->mpi = world->mpi;
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_seen(log, id);
        if (call) summary->layer_used[call->layer] = true;
    }
    gather_losses(summary);
    return summary_hosts_find(summary);
}

int summary_begin(struct summary *summary, const struct summary_source *source, log_stats_callback *also, void *context,
                  struct log_consumer consumer[SUMMARY_CONSUMERS]) {
    struct log *log = source->log;
    *summary = (struct summary){.source = *source, .log = log, .also = also, .also_context = context};
    summary->stats = (struct log_stats_request){.log = log, .callback = add_record, .context = summary};
    mpi_files_init(&summary->mpi_files);
    summary->files = calloc(log_file_count(log) + 1, sizeof *summary->files);
    RETURN_IF(!summary->files, -ENOMEM);
    consumer[0] = log_stats_consumer(&summary->stats);
    FORWARD(summary_begin_processes(summary, &consumer[1]));
    FORWARD(call_tree_begin(&summary->tree, log, &consumer[2]));
    FORWARD(stack_begin(&summary->stack, log, &consumer[4]));
    return collectives_begin(&summary->collectives, log, &consumer[3]);
}

int summary_finish(struct summary *summary) {
    FORWARD(log_stats_added_up(summary->log, NULL, add_added_up, summary));
    add_mapped(summary);
    list_files(summary);
    FORWARD(summary_finish_processes(summary));
    FORWARD(collectives_finish(&summary->collectives));
    FORWARD(stack_finish(&summary->stack));
    FORWARD(summary_comms_find(&summary->comms, summary->log));
    FORWARD(coverage_finish(&summary->coverage, summary->log));
    // Last: damaged blocks are known only after all blocks have been read.
    return gather_job(summary);
}

int summary_gather(struct summary *summary, const struct summary_source *source) {
    struct log_consumer consumer[SUMMARY_CONSUMERS];
    FORWARD(summary_begin(summary, source, NULL, NULL, consumer));
    FORWARD(log_visit(&(struct log_visit){.log = source->log, .consumer = consumer, .consumers = SUMMARY_CONSUMERS}));
    return summary_finish(summary);
}

int summary_gather_index(struct summary *summary, const struct summary_source *source) {
    *summary = (struct summary){.source = *source, .log = source->log, .tree.log = source->log};
    struct log_consumer unused;
    FORWARD(summary_begin_processes(summary, &unused));
    FORWARD(summary_finish_processes(summary));
    for (size_t i = 0; i < summary->rank_count; i++) summary->ranks[i].known = false;
    return gather_job(summary);
}

void summary_free(struct summary *summary) {
    free(summary->files);
    free(summary->processes);
    free(summary->rows);
    free(summary->ranks);
    free(summary->hosts);
    arena_free(&summary->arena);
    free(summary->comms.comm);
    collectives_free(&summary->collectives);
    free(summary->process);
    log_images_free(&summary->images);
    lookup_free(&summary->users);
    mpi_files_free(&summary->mpi_files);
    call_tree_free(&summary->tree);
    stack_free(&summary->stack);
}
