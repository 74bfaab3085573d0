// The object of `ioseer info --json`.
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/json_keys.h"
#include "log/describe.h"
#include "summary/mpi_text.h"
#include "summary/summary.h"

// A script on the command line is one long word.
static void key_words(struct json_out *json, const char *key, const struct log_strings *words, size_t most)
{
    enum { LONGEST = 1000 };
    key_array(json, key);
    for (size_t i = 0; i < words->count && i < most; i++) {
        size_t len = strlen(words->word[i]);
        json_bytes(json, words->word[i], len > LONGEST && most != SIZE_MAX ? LONGEST : len);
    }
    json_close(json);
}

static void write_job(struct json_out *json, const struct summary *summary, size_t most)
{
    const struct log_job *job = log_job(summary->log);
    int status = job->exit_status;
    int64_t run_ns = log_run_ns(summary->log);
    key_object(json, "job");
    key_words(json, "command", &job->command, most);
    key_seconds(json, "start", (int64_t)job->start_ns);
    key_seconds_if(json, "end", job->end_ns || (job->start_ns && run_ns), (int64_t)job->start_ns + run_ns);
    key_number(json, "nprocs", summary->nprocs);
    key_text(json, "mpi", summary->mpi);
    key_number(json, "host_count", summary->host_count);
    key_text(json, "host", job->host);
    key_text(json, "cwd", job->cwd);
    key_text(json, "id", job->id);
    // As in a shell: 128 + n for a signal.
    key_signed_if(json, "exit_status", job->has_exit_status,
                  WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    key_text(json, "version", job->version);
    key_bool(json, "complete", job->complete);
    json_close(json);
}

// The log has only the names of most variables.
static void write_settings(struct json_out *json, const struct log *log)
{
    key_array(json, "settings");
    for (size_t i = 0; i < log_setting_count(log); i++) {
        const struct log_setting *setting = log_setting_at(log, i);
        json_object(json);
        key_text(json, "name", setting->name);
        key_text(json, "value", setting->value);
        json_close(json);
    }
    json_close(json);
}

static void write_process(struct json_out *json, const struct log_process *process, size_t most)
{
    bool has_status = process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE;
    json_object(json);
    key_signed_if(json, "rank", process->has_rank, process->rank);
    key_number(json, "pid", process->pid);
    key_text(json, "host", process->host);
    key_text(json, "exit", describe_exit(process).text);
    key_signed_if(json, "exit_status", has_status, process->exit_value);
    key_number(json, "ppid", process->ppid);
    key_text(json, "exe", process->exe);
    key_words(json, "command", &process->args, most);
    key_number_if(json, "world", process->has_rank, process->world);
    key_signed_if(json, "local_rank", process->local_rank >= 0, process->local_rank);
    key_bool(json, "launcher", process->is_launcher);
    key_seconds(json, "start", process->start_ns);
    key_seconds_if(json, "end", process->has_end, process->end_ns);
    json_close(json);
}

static void write_worlds(struct json_out *json, const struct log *log)
{
    key_array(json, "worlds");
    for (size_t i = 0; i < log_world_count(log); i++) {
        const struct log_world *world = log_world_at(log, i);
        json_object(json);
        key_text(json, "mpi", world->mpi);
        key_number(json, "size", world->size ? world->size : world->ranks);
        key_number(json, "ranks", world->ranks);
        json_close(json);
    }
    json_close(json);
}

static void write_rank(struct json_out *json, const struct summary_rank *rank)
{
    json_object(json);
    key_signed(json, "rank", rank->process->rank);
    key_number(json, "world", rank->process->world);
    key_number(json, "pid", rank->process->pid);
    key_seconds_if(json, "io", rank->known, rank->ns[RANK_IO]);
    key_seconds_if(json, "communication", rank->known, rank->ns[RANK_COMMUNICATION]);
    key_seconds_if(json, "rest", rank->known, rank->ns[RANK_REST]);
    key_seconds(json, "run", rank->ns[RANK_RUN]);
    json_close(json);
}

// --- files

static void write_use(struct json_out *json, struct log *log, const struct mpi_use *use)
{
    json_object(json);
    switch (use->kind) {
    case MPI_USE_HINTS:
        json_key(json, "hints");
        mpi_json_hints(json, use->first, use->number);
        break;
    case MPI_USE_VIEW:
        json_key(json, "view");
        mpi_json_view(json, log, use->number, use->first, use->second);
        break;
    default:
        key_text(json, "amode", mpi_text_amode(use->number).text);
        key_number(json, "comm_size", use->comm_size);
        break;
    }
    key_number(json, "count", use->count);
    json_close(json);
}

static void write_mpi(struct json_out *json, const struct summary *summary, const struct log_file *file)
{
    enum { MOST = 100 };
    static const char *const keys[] = {"access", "hints", "views"};
    size_t count = 0;
    json_object(json);
    for (enum mpi_use_kind kind = 0; kind < MPI_USE_KINDS; kind++) {
        const struct mpi_use *use = mpi_files_uses(&summary->mpi_files, file, kind, &count);
        key_array(json, keys[kind]);
        for (size_t i = 0; i < count && i < MOST; i++) write_use(json, summary->log, &use[i]);
        json_close(json);
    }
    key_number(json, "view_count", count);
    json_close(json);
}

static void write_file(struct json_out *json, const struct summary *summary, const struct summary_file *file)
{
    json_object(json);
    key_text(json, "name", file->file->name);
    key_number(json, "bytes_read", file->bytes[DIRECTION_READ]);
    key_number(json, "bytes_written", file->bytes[DIRECTION_WRITE]);
    key_number(json, "opens", file->opens);
    key_number_if(json, "ranks", summary->rank_count, file->ranks);
    key_number(json, "processes", file->processes);
    json_key(json, "mpi");
    if (mpi_files_has(&summary->mpi_files, file->file)) {
        write_mpi(json, summary, file->file);
    } else {
        json_null(json);
    }
    json_close(json);
}

void summary_key_counters(struct json_out *json, const struct counters *counters, const struct counters_ranks *ranks,
                          unsigned layer)
{
    struct counters_value value[COUNTERS_MAX_VALUES];
    size_t count = counters_list(counters, ranks, layer, value);
    key_object(json, "counters");
    for (size_t i = 0; i < count; i++) {
        if (value[i].is_real) {
            key_double(json, value[i].name, value[i].real);
        } else {
            key_signed(json, value[i].name, value[i].integer);
        }
    }
    json_close(json);
}

void summary_key_device(struct json_out *json, const struct log_device *device)
{
    char number[32];
    snprintf(number, sizeof number, "%u:%u", major(device->number), minor(device->number));
    key_text(json, "name", device->name);
    key_text(json, "host", device->host);
    key_text(json, "number", number);
}

static void write_device(struct json_out *json, const struct log_device *device)
{
    const struct device_sample *sum = &device->sum;
    json_object(json);
    summary_key_device(json, device);
    key_number(json, "reads", sum->count[DEVICE_READS]);
    key_number(json, "writes", sum->count[DEVICE_WRITES]);
    key_number(json, "bytes_read", sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES);
    key_number(json, "bytes_written", sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES);
    key_double(json, "utilisation", device_utilisation(sum));
    key_double(json, "queue", device_queue(sum));
    key_seconds(json, "start", device->start_ns);
    key_seconds(json, "span", (int64_t)sum->span_ns);
    key_number(json, "samples", device->sample_count);
    json_close(json);
}

// --- how far the log can be trusted

static void write_losses(struct json_out *json, const struct log *log, size_t most)
{
    key_array(json, "losses");
    for (size_t i = 0; i < log_loss_count(log) && i < most; i++) {
        const struct log_loss *loss = log_loss_at(log, i);
        json_object(json);
        key_text(json, "reason", describe_loss(loss->reason));
        key_number(json, "events", loss->count);
        key_number(json, "bytes", loss->bytes);
        key_number_if(json, "pid", loss->process, loss->process ? loss->process->pid : 0);
        key_text(json, "text", loss->text);
        json_close(json);
    }
    json_close(json);
}

static const char *const direction_names[DIRECTION_COUNT] = {"read", "write"};

static void write_parts(struct json_out *json, const char *key, enum coverage_kind kind,
                        const struct coverage_parts *parts)
{
    key_array(json, key);
    for (size_t i = 0; i < parts->count; i++) {
        const struct coverage_part *part = &parts->part[i];
        if (part->kind != kind) continue;
        json_object(json);
        key_text(json, "direction", part->direction < 0 ? NULL : direction_names[part->direction]);
        key_text(json, "reason", part->reason);
        key_number_if(json, "bytes", part->direction >= 0, part->bytes);
        json_close(json);
    }
    json_close(json);
}

static void write_coverage(struct json_out *json, const struct summary *summary)
{
    const struct coverage *coverage = &summary->coverage;
    const struct {
        const char *key[DIRECTION_COUNT];
        const uint64_t *bytes;
        bool known;
    } sums[] = {
        {{"captured_read", "captured_write"}, coverage->captured, true},
        {{"uncounted_read", "uncounted_write"}, coverage->uncounted, true},
        {{"stdio_asked_read", "stdio_asked_write"}, coverage->stdio_asked, true},
        {{"stdio_kernel_read", "stdio_kernel_write"}, coverage->stdio_kernel, true},
        {{"total_read", "total_write"}, coverage->total, coverage->known},
    };
    struct coverage_parts parts;
    key_object(json, "coverage");
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        double fraction = 0;
        bool known = coverage_fraction(coverage, direction, &fraction);
        key_double_if(json, direction_names[direction], known, fraction);
    }
    coverage_list(coverage, summary->is_damaged, &parts);
    write_parts(json, "unseen", COVERAGE_UNSEEN, &parts);
    write_parts(json, "left_out", COVERAGE_LEFT_OUT, &parts);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
            key_number_if(json, sums[i].key[direction], sums[i].known, sums[i].bytes[direction]);
    }
    json_close(json);
}

static void write_damage(struct json_out *json, const struct summary *summary)
{
    const struct log_health *health = log_health(summary->log);
    if (!summary->is_damaged) {
        key_null(json, "damage");
        return;
    }
    key_object(json, "damage");
    key_bool(json, "truncated", health->truncated);
    key_bool(json, "index_missing", health->index_missing);
    key_bool(json, "header_damaged", health->header_damaged);
    key_number(json, "bytes_skipped", health->bytes_skipped);
    key_number(json, "blocks_damaged", health->blocks_damaged);
    key_number(json, "events_damaged", health->events_damaged);
    key_number(json, "records_damaged", health->records_damaged);
    key_number(json, "spill_bytes_damaged", summary->spill_damaged_bytes);
    json_close(json);
}

void summary_json(const struct summary *summary, struct json_out *json, size_t most)
{
    const struct log *log = summary->log;
    json_object(json);
    write_job(json, summary, most);
    write_settings(json, log);
    key_array(json, "processes");
    for (size_t i = 0; i < log_process_count(log) && i < most; i++) write_process(json, summary->processes[i], most);
    json_close(json);
    write_worlds(json, log);
    key_array(json, "ranks");
    for (size_t i = 0; i < summary->rank_count && i < most; i++) write_rank(json, &summary->ranks[i]);
    json_close(json);
    key_array(json, "files");
    for (size_t i = 0; i < summary->file_count && i < most; i++) write_file(json, summary, &summary->files[i]);
    json_close(json);
    key_array(json, "devices");
    for (size_t i = 0; i < log_device_count(log); i++) write_device(json, log_device_at(log, i));
    json_close(json);
    key_array(json, "layers");
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (summary->layer_used[layer]) json_text(json, call_layer_name(layer));
    }
    json_close(json);
    key_number(json, "events", log_events(log));
    key_number(json, "lost_events", summary->lost_events);
    write_losses(json, log, most);
    write_coverage(json, summary);
    write_damage(json, summary);
    key_bool(json, "spill_directory", summary->source.from_spills);
    json_close(json);
}
