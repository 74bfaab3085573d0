#include "summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static int add_record(const struct log_stats_record *record, void *context)
{
    struct info *info = context;
    if (info->also) FORWARD(info->also(record, info->also_context));
    coverage_add(&info->coverage, record);
    info->layer_used[record->layer] = true; // past the end of a trace only the counters show which layers were used
    if (!record->file) return 0;
    struct info_file *file = &info->files[log_file_index(info->log, record->file)];
    file->file = record->file;
    if (!record->process || file->last != record->process) {
        file->processes++;
        file->ranks += record->has_rank;
        file->last = record->process;
    }
    // Higher layers move the same bytes through these two, and neither of these moves them through the other.
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO) return 0;
    file->bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    file->bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    file->opens += counters_true_opens(&record->counters, record->layer);
    return 0;
}

static int compare_files(const void *a, const void *b)
{
    const struct info_file *left = a;
    const struct info_file *right = b;
    uint64_t left_bytes = left->bytes[DIRECTION_READ] + left->bytes[DIRECTION_WRITE];
    uint64_t right_bytes = right->bytes[DIRECTION_READ] + right->bytes[DIRECTION_WRITE];
    if (left_bytes != right_bytes) return left_bytes < right_bytes ? 1 : -1;
    return strcmp(left->file->name, right->file->name);
}

static void list_files(struct info *info)
{
    size_t count = log_file_count(info->log);
    for (size_t i = 0; i < count; i++) {
        if (info->files[i].file) info->files[info->file_count++] = info->files[i];
    }
    qsort(info->files, info->file_count, sizeof *info->files, compare_files);
}

// There are few hosts, and the processes of one are mostly adjacent.
static void count_hosts(struct info *info)
{
    enum { MOST = 65536 };
    const char **hosts = malloc(MOST * sizeof *hosts);
    for (size_t i = 0; hosts && i < log_process_count(info->log); i++) {
        const char *host = log_process_at(info->log, i)->host;
        size_t at = info->host_count;
        while (host && at > 0 && strcmp(hosts[at - 1], host) != 0) at--;
        if (host && at == 0 && info->host_count < MOST) hosts[info->host_count++] = host;
    }
    free(hosts);
}

static void gather_losses(struct info *info)
{
    const struct log_health *health = log_health(info->log);
    for (size_t i = 0; i < log_loss_count(info->log); i++) {
        const struct log_loss *loss = log_loss_at(info->log, i);
        if (loss_is_of_events(loss->reason)) info->lost_events += loss->count;
        if (loss->reason == LOSS_DAMAGED) info->spill_damaged_bytes += loss->bytes;
    }
    info->lost_events += health->events_damaged;
    info->may_lack_events =
        health->truncated || health->bytes_skipped || health->records_damaged || info->spill_damaged_bytes;
    info->is_damaged =
        info->may_lack_events || health->index_missing || health->header_damaged || health->blocks_damaged;
}

static void gather_job(struct info *info)
{
    const struct log *log = info->log;
    info->nprocs = log_job(log)->nprocs ? log_job(log)->nprocs : log_process_count(log);
    // The largest of several MPI jobs counts; the processes around it are not part of the job.
    for (size_t i = 0, most = 0; i < log_world_count(log); i++) {
        const struct log_world *world = log_world_at(log, i);
        uint64_t size = world->size ? world->size : world->ranks;
        if (size <= most) continue;
        info->nprocs = most = size;
        info->mpi = world->mpi;
    }
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_seen(log, id);
        if (call) info->layer_used[call->layer] = true;
    }
    gather_losses(info);
    count_hosts(info);
}

int info_begin(struct info *info, const struct info_source *source, log_stats_take *also, void *context,
               struct log_consumer consumer[INFO_CONSUMERS])
{
    struct log *log = source->log;
    *info = (struct info){.source = *source, .log = log, .also = also, .also_context = context};
    info->stats = (struct log_stats_request){.log = log, .take = add_record, .context = info};
    mpi_files_init(&info->mpi_files);
    info->files = calloc(log_file_count(log) + 1, sizeof *info->files);
    RETURN_IF(!info->files, -ENOMEM);
    consumer[0] = log_stats_consumer(&info->stats);
    return info_begin_ranks(info, &consumer[1]);
}

int info_finish(struct info *info)
{
    list_files(info);
    info_finish_ranks(info);
    FORWARD(coverage_finish(&info->coverage, info->log));
    // Last: damaged blocks are known only after all blocks have been read.
    gather_job(info);
    return 0;
}

int info_gather(struct info *info, const struct info_source *source)
{
    struct log_consumer consumer[INFO_CONSUMERS];
    FORWARD(info_begin(info, source, NULL, NULL, consumer));
    FORWARD(log_visit(&(struct log_visit){.log = source->log, .consumer = consumer, .consumers = INFO_CONSUMERS}));
    return info_finish(info);
}

int info_gather_records(struct info *info, const struct info_source *source)
{
    *info = (struct info){.source = *source, .log = source->log};
    FORWARD(info_list_ranks(info));
    gather_job(info);
    return 0;
}

void info_free(struct info *info)
{
    free(info->files);
    free(info->processes);
    free(info->ranks);
    free(info->reading);
    mpi_files_free(&info->mpi_files);
}
