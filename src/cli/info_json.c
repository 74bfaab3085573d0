#include <string.h>
#include <sys/wait.h>

#include "base/json_keys.h"
#include "cli/info.h"
#include "log/describe.h"

// A script on a command line is one long word.
static void key_words(struct json_out *json, const char *key, const struct log_strings *words, size_t most)
{
    enum { LONGEST = 1000 };
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < words->count && i < most; i++) {
        size_t len = strlen(words->word[i]);
        json_bytes(json, words->word[i], len > LONGEST && most != SIZE_MAX ? LONGEST : len);
    }
    json_close(json);
}

static void key_exit_status(struct json_out *json, bool known, int64_t status)
{
    json_key(json, "exit_status");
    if (known) {
        json_signed(json, status);
    } else {
        json_null(json);
    }
}

static void print_job(struct json_out *json, const struct info *info, size_t most)
{
    const struct log_job *job = log_job(info->log);
    int status = job->exit_status;
    json_key(json, "job");
    json_object(json);
    key_words(json, "command", &job->command, most);
    key_seconds_if(json, "start", true, (int64_t)job->start_ns);
    int64_t run_ns = log_run_ns(info->log);
    key_seconds_if(json, "end", job->end_ns || (job->start_ns && run_ns), (int64_t)job->start_ns + run_ns);
    key_number(json, "nprocs", info->nprocs);
    key_text(json, "mpi", info->mpi);
    key_number(json, "host_count", info->host_count);
    key_text(json, "host", job->host);
    key_text(json, "cwd", job->cwd);
    key_text(json, "id", job->id);
    // As a shell has it: 128 + n for a signal.
    key_exit_status(json, job->has_exit_status, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    key_text(json, "version", job->version);
    key_bool(json, "complete", job->complete);
    json_close(json);
}

// Of most variables only the name is stored.
static void print_settings(struct json_out *json, const struct log *log)
{
    json_key(json, "settings");
    json_array(json);
    for (size_t i = 0; i < log_setting_count(log); i++) {
        const struct log_setting *setting = log_setting_at(log, i);
        json_object(json);
        key_text(json, "name", setting->name);
        key_text(json, "value", setting->value);
        json_close(json);
    }
    json_close(json);
}

static void print_worlds(struct json_out *json, const struct log *log)
{
    json_key(json, "worlds");
    json_array(json);
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

static void print_ranks(struct json_out *json, const struct info *info, size_t most)
{
    json_key(json, "ranks");
    json_array(json);
    for (size_t i = 0; i < info->rank_count && i < most; i++) {
        const struct info_rank *rank = &info->ranks[i];
        json_object(json);
        key_signed(json, "rank", rank->process->rank);
        key_number(json, "world", rank->process->world);
        key_number(json, "pid", rank->process->pid);
        key_seconds_if(json, "io", rank->known, rank->io_ns);
        key_seconds_if(json, "communication", rank->known, rank->comm_ns);
        key_seconds_if(json, "rest", rank->known, rank->rest_ns);
        key_seconds_if(json, "run", true, rank->run_ns);
        json_close(json);
    }
    json_close(json);
}

static void print_process(struct json_out *json, const struct log_process *process, size_t most)
{
    bool has_status = process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE;
    json_object(json);
    json_key(json, "rank");
    if (process->has_rank) {
        json_signed(json, process->rank);
    } else {
        json_null(json);
    }
    key_number(json, "pid", process->pid);
    key_text(json, "host", process->host);
    key_text(json, "exit", describe_exit(process).text);
    key_exit_status(json, has_status, process->exit_value);
    key_number(json, "ppid", process->ppid);
    key_text(json, "exe", process->exe);
    key_words(json, "command", &process->args, most);
    json_key(json, "world");
    if (process->has_rank) {
        json_unsigned(json, process->world);
    } else {
        json_null(json);
    }
    json_key(json, "local_rank");
    if (process->local_rank >= 0) {
        json_signed(json, process->local_rank);
    } else {
        json_null(json);
    }
    key_bool(json, "launcher", process->is_launcher);
    key_seconds_if(json, "start", true, process->start_ns);
    key_seconds_if(json, "end", process->has_end, process->end_ns);
    json_close(json);
}

static void print_files(struct json_out *json, const struct info *info, size_t most)
{
    json_key(json, "files");
    json_array(json);
    for (size_t i = 0; i < info->file_count && i < most; i++) {
        const struct info_file *file = &info->files[i];
        json_object(json);
        key_text(json, "name", file->file->name);
        key_number(json, "bytes_read", file->bytes[DIRECTION_READ]);
        key_number(json, "bytes_written", file->bytes[DIRECTION_WRITE]);
        key_number(json, "opens", file->opens);
        json_key(json, "ranks");
        if (info->rank_count) {
            json_unsigned(json, file->ranks);
        } else {
            json_null(json);
        }
        key_number(json, "processes", file->processes);
        json_key(json, "mpi");
        info_mpi_json(&info->mpi_files, json, info->log, file->file);
        json_close(json);
    }
    json_close(json);
}

static void print_losses(struct json_out *json, const struct info *info, size_t most)
{
    json_key(json, "losses");
    json_array(json);
    for (size_t i = 0; i < log_loss_count(info->log) && i < most; i++) {
        const struct log_loss *loss = log_loss_at(info->log, i);
        json_object(json);
        key_text(json, "reason", describe_loss(loss->reason));
        key_number(json, "events", loss->count);
        key_number(json, "bytes", loss->bytes);
        json_key(json, "pid");
        if (loss->process) {
            json_unsigned(json, loss->process->pid);
        } else {
            json_null(json);
        }
        key_text(json, "text", loss->text);
        json_close(json);
    }
    json_close(json);
}

static void print_part(struct json_out *json, const char *direction, const char *reason, uint64_t bytes)
{
    if (!bytes) return;
    json_object(json);
    key_text(json, "direction", direction);
    key_text(json, "reason", reason);
    key_number(json, "bytes", bytes);
    json_close(json);
}

static const char *const direction_names[DIRECTION_COUNT] = {"read", "write"};

// What nobody counts has no number.
static void print_uncounted(struct json_out *json, const char *reason)
{
    json_object(json);
    key_text(json, "direction", NULL);
    key_text(json, "reason", reason);
    key_null(json, "bytes");
    json_close(json);
}

static void print_unseen(struct json_out *json, const struct info *info)
{
    const struct coverage *coverage = &info->coverage;
    const char *remainder = info_is_damaged(info) ? COVERAGE_REMAINDER_DAMAGED : COVERAGE_REMAINDER;
    json_key(json, "unseen");
    json_array(json);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        const char *name = direction_names[direction];
        print_part(json, name, remainder, coverage_remainder(coverage, direction));
    }
    if (coverage->raw_rings) print_uncounted(json, COVERAGE_RINGS);
    if (coverage->mappings) print_uncounted(json, COVERAGE_MAPPINGS);
    json_close(json);
}

static void print_coverage(struct json_out *json, const struct info *info)
{
    const struct coverage *coverage = &info->coverage;
    json_key(json, "coverage");
    json_object(json);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        double fraction;
        json_key(json, direction_names[direction]);
        if (coverage_fraction(coverage, direction, &fraction)) {
            json_double(json, fraction);
        } else {
            json_null(json);
        }
    }
    print_unseen(json, info);
    json_key(json, "left_out");
    json_array(json);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        for (unsigned reason = 0; reason < LEFT_OUT_COUNT; reason++) {
            print_part(json, direction_names[direction], describe_left_out(reason),
                       coverage->left_out[direction][reason]);
        }
        print_part(json, direction_names[direction], COVERAGE_LOADING, coverage->loading[direction]);
    }
    json_close(json);
    static const char *const captured_keys[] = {"captured_read", "captured_write"};
    static const char *const total_keys[] = {"total_read", "total_write"};
    static const char *const uncounted_keys[] = {"uncounted_read", "uncounted_write"};
    static const char *const asked_keys[] = {"stdio_asked_read", "stdio_asked_write"};
    static const char *const kernel_keys[] = {"stdio_kernel_read", "stdio_kernel_write"};
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        key_number(json, captured_keys[direction], coverage->captured[direction]);
        key_number(json, uncounted_keys[direction], coverage->uncounted[direction]);
        key_number(json, asked_keys[direction], coverage->stdio_asked[direction]);
        key_number(json, kernel_keys[direction], coverage->stdio_kernel[direction]);
        json_key(json, total_keys[direction]);
        if (coverage->known) {
            json_unsigned(json, coverage->total[direction]);
        } else {
            json_null(json);
        }
    }
    json_close(json);
}

static void print_damage(struct json_out *json, const struct info *info)
{
    const struct log_health *health = log_health(info->log);
    json_key(json, "damage");
    if (!info_is_damaged(info)) {
        json_null(json);
        return;
    }
    json_object(json);
    key_bool(json, "truncated", health->truncated);
    key_bool(json, "index_missing", health->index_missing);
    key_bool(json, "header_damaged", health->header_damaged);
    key_number(json, "bytes_skipped", health->bytes_skipped);
    key_number(json, "blocks_damaged", health->blocks_damaged);
    key_number(json, "events_damaged", health->events_damaged);
    key_number(json, "records_damaged", health->records_damaged);
    key_number(json, "spill_bytes_damaged", info->spill_damaged_bytes);
    json_close(json);
}

void info_json(const struct info *info, struct json_out *json, size_t most)
{
    json_object(json);
    print_job(json, info, most);
    print_settings(json, info->log);
    json_key(json, "processes");
    json_array(json);
    for (size_t i = 0; i < log_process_count(info->log) && i < most; i++) print_process(json, info->processes[i], most);
    json_close(json);
    print_worlds(json, info->log);
    print_ranks(json, info, most);
    print_files(json, info, most);
    info_devices_json(info->log, json);
    json_key(json, "layers");
    json_array(json);
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (info->layer_used[layer]) json_text(json, call_layer_name(layer));
    }
    json_close(json);
    key_number(json, "events", log_events(info->log));
    key_number(json, "lost_events", info->lost_events);
    print_losses(json, info, most);
    print_coverage(json, info);
    print_damage(json, info);
    key_bool(json, "spill_directory", info->argument->is_directory);
    json_close(json);
}
