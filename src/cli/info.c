// `ioseer info`: sums a log up. Reads all events once, by way of the counters.
#include "cli/info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/verb.h"

static struct {
    bool json;
    bool all;
    const char *output;
} options;

static const struct option_row rows[] = {
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"all", 'a', OPTION_FLAG, &options.all, NULL, "list all files and processes, not the first ten (JSON has all)"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {0},
};

bool info_is_damaged(const struct info *info)
{
    const struct log_health *health = log_health(info->log);
    return health->index_missing || health->header_damaged || health->blocks_damaged || info_may_lack_events(info);
}

bool info_may_lack_events(const struct info *info)
{
    const struct log_health *health = log_health(info->log);
    return health->truncated || health->bytes_skipped || health->records_damaged || info->spill_damaged_bytes;
}

static int take_record(const struct log_stats_record *record, void *context)
{
    struct info *info = context;
    if (info->also) FORWARD(info->also(record, info->also_context));
    coverage_add(&info->coverage, record);
    info->layer_used[record->layer] = true; // without a trace there is nothing else to tell
    if (!record->file) return 0;
    struct info_file *sum = &info->files[log_file_index(info->log, record->file)];
    sum->file = record->file;
    if (!record->process || sum->last != record->process) {
        sum->processes++;
        sum->ranks += record->has_rank;
        sum->last = record->process;
    }
    // Higher layers move the same bytes through these two; these two never through each other.
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO) return 0;
    sum->bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    sum->bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    sum->opens += counters_true_opens(&record->counters, record->layer);
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

static int gather_files(struct info *info)
{
    size_t count = log_file_count(info->log);
    info->files = calloc(count ? count : 1, sizeof *info->files);
    RETURN_IF(!info->files, -ENOMEM);
    FORWARD(log_stats(info->log, NULL, take_record, info));
    for (size_t i = 0; i < count; i++) {
        if (info->files[i].file) info->files[info->file_count++] = info->files[i];
    }
    qsort(info->files, info->file_count, sizeof *info->files, compare_files);
    return 0;
}

// Hosts are few, and the processes of one mostly come together.
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

static void gather_job(struct info *info)
{
    const struct log *log = info->log;
    info->nprocs = log_job(log)->nprocs ? log_job(log)->nprocs : log_process_count(log);
    // Of several MPI jobs the largest; what ran around them are not processes of the job.
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
    for (size_t i = 0; i < log_loss_count(log); i++) {
        const struct log_loss *loss = log_loss_at(log, i);
        if (loss_is_of_events(loss->reason)) info->lost_events += loss->count;
        if (loss->reason == LOSS_DAMAGED) info->spill_damaged_bytes += loss->bytes;
    }
    info->lost_events += log_health(log)->events_damaged;
    count_hosts(info);
}

int info_gather(struct info *info, const struct log_argument *argument, log_stats_take *also, void *context)
{
    *info = (struct info){.argument = argument, .log = argument->log, .also = also, .also_context = context};
    FORWARD(gather_files(info));
    FORWARD(info_gather_ranks(info));
    FORWARD(coverage_finish(&info->coverage, info->log));
    // Last, when all blocks have been read: only then it is known which are damaged.
    gather_job(info);
    return 0;
}

int info_gather_records(struct info *info, const struct log_argument *argument)
{
    *info = (struct info){.argument = argument, .log = argument->log};
    FORWARD(info_list_ranks(info));
    gather_job(info);
    return 0;
}

void info_free(struct info *info)
{
    free(info->files);
    free(info->processes);
    free(info->ranks);
    info_mpi_free(&info->mpi_files);
}

static int print_json(const struct info *info, struct output *output)
{
    struct json_out *json = json_out_begin(output->out, 2);
    RETURN_IF(!json, -ENOMEM);
    info_json(info, json, SIZE_MAX);
    output->error = json_out_end(json);
    return 0;
}

static int info_print(const struct info *info)
{
    struct output output;
    int status = log_argument_output(info->argument, &output, options.output);
    if (status != STATUS_OK) return status;
    int code = 0;
    if (options.json) {
        code = print_json(info, &output);
    } else {
        info_text(info, options.all, output.out);
    }
    if (code < 0) cli_fail("info", info->argument->path, code);
    return output_close(&output, code < 0);
}

static int info_run(int argc, char **argv)
{
    struct log_argument argument;
    int status = log_argument_open(&argument, "info", argc, argv);
    if (status != STATUS_OK) return status;
    struct info info;
    int code = info_gather(&info, &argument, NULL, NULL);
    status = code < 0 ? cli_fail("info", argument.path, code) : info_print(&info);
    info_free(&info);
    log_argument_close(&argument);
    return status;
}

const struct verb verb_info = {
    .name = "info",
    .summary = "sum a log up: what ran, which files, how much was seen",
    .usage = "[OPTION]... LOG",
    .about = "Prints what ran, how its processes ended, the files with the most bytes, what was lost, and how much of\n"
             "the job's I/O the log covers. LOG may be the directory of a running or killed job's spill files.",
    .options = rows,
    .run = info_run,
};
