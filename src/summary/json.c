// The object of `ioseer info --json`.
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/json_keys.h"
#include "log/describe.h"
#include "log/import.h"
#include "summary/libraries.h"
#include "summary/mounts.h"
#include "summary/mpi_text.h"
#include "summary/summary.h"

// A script on the command line is one long word.
static void key_words(struct json_out *json, const char *key, const struct log_strings *words, size_t most) {
    enum { LONGEST = 1000 };
    key_array(json, key);
    for (size_t i = 0; i < words->count && i < most; i++) {
        size_t len = strlen(words->word[i]);
        json_bytes(json, words->word[i], len > LONGEST && most != SIZE_MAX ? LONGEST : len);
    }
    json_close(json);
}

static void write_job(struct json_out *json, const struct summary *summary, size_t most) {
    const struct log_job *job = log_job(summary->log);
    int status = job->exit_status;
    int64_t run_ns = log_run_ns(summary->log);
    key_object(json, "job");
    key_words(json, "command", &job->command, most);
    json_members(json, m_seconds("start", (int64_t)job->start_ns),
                 m_seconds_if("end", job->end_ns || (job->start_ns && run_ns), (int64_t)job->start_ns + run_ns),
                 m_number("nprocs", summary->nprocs), m_text("mpi", summary->mpi),
                 m_number("host_count", summary->host_count), m_text("host", job->host), m_text("cwd", job->cwd),
                 m_text("id", job->id), m_text("only", job->only));
    // As in a shell: 128 + n for a signal.
    json_members(json,
                 m_signed_if("exit_status", job->has_exit_status,
                             WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)),
                 m_text("version", job->version), m_bool("complete", job->complete),
                 m_bool("joined", log_is_joined(summary->log)), m_bool("trace", log_has_trace(summary->log)));
    json_close(json);
}

static void write_import(struct json_out *json, const struct log *log) {
    static const char *const states[] = {"read", "unknown", "damaged"};
    const struct log_import *import = log_import(log);
    json_key(json, "import");
    if (!import) {
        json_null(json);
        return;
    }
    json_object(json);
    json_members(json, m_text("program", import->program), m_text("version", import->version),
                 m_bool("swapped", import->is_swapped), m_bool("trace", log_has_trace(log)),
                 m_text("metadata", import->job.metadata));
    key_array(json, "modules");
    for (size_t i = 0; i < import->module_count; i++) {
        const struct darshan_part *part = &import->modules[i];
        bool is_known = part->state != DARSHAN_UNKNOWN;
        json_object_of(json, m_text("name", darshan_module_name((unsigned)part->module).text),
                       m_number("version", part->version), m_number_if("records", is_known, part->records),
                       m_text("state", part->state < sizeof states / sizeof *states ? states[part->state] : NULL),
                       m_bool("partial", part->is_partial), m_number("left_out", part->left_out));
    }
    json_close(json);
    json_close(json);
}

// The log has only the names of most variables.
static void write_settings(struct json_out *json, const struct log *log) {
    key_array(json, "settings");
    for (size_t i = 0; i < log_setting_count(log); i++) {
        const struct log_setting *setting = log_setting_at(log, i);
        json_object_of(json, m_text("name", setting->name), m_text("value", setting->value));
    }
    json_close(json);
}

static void key_row(struct json_out *json, const struct summary_row *row) {
    json_members(json, m_text("program", summary_program(row->process)), m_seconds("run_time", row->run_ns),
                 m_seconds_if("io_time", row->io_known, row->io_ns),
                 m_number_if("bytes_read", row->bytes_known, row->bytes[DIRECTION_READ]),
                 m_number_if("bytes_written", row->bytes_known, row->bytes[DIRECTION_WRITE]),
                 m_number_if("calls", row->bytes_known, row->calls));
}

// Null but for a group: which ranks, where, and how their times differ.
static void key_group(struct json_out *json, const struct log_process *process) {
    static const char *const names[GROUP_TIMES] = {"start", "end", "run", "io", "communication", "cpu_wait"};
    const struct log_group *group = process->group;
    if (!group) {
        key_null(json, "group");
        return;
    }
    key_object(json, "group");
    json_members(json, m_number("members", group->members));
    key_array(json, "ranks");
    for (size_t i = 0; i < group->range_count; i++)
        json_object_of(json, m_number("first", group->ranges[i].first),
                       m_number("last", group->ranges[i].first + group->ranges[i].count - 1));
    json_close(json);
    key_number(json, "hosts", log_group_host_count(group));
    for (enum group_time time = 0; time < GROUP_TIMES; time++) {
        const struct group_spread *spread = &group->spread[time];
        json_key(json, names[time]);
        if (!spread->is_known) {
            json_null(json);
            continue;
        }
        bool is_length = time != GROUP_START && time != GROUP_END;
        json_object_of(json, m_seconds("least", spread->least), m_seconds("most", spread->most),
                       m_seconds_if("mean", is_length, (int64_t)(spread->sum / group->members)),
                       m_seconds("deviation", (int64_t)spread->deviation),
                       m_number_if("rank_least", spread->rank_least, spread->rank_least - 1),
                       m_number_if("rank_most", spread->rank_most, spread->rank_most - 1));
    }
    json_close(json);
}

// Whether it was looked for.
static bool knows_end(const struct log_process *process) { return process->via != VIA_IMPORT; }

static bool has_status(const struct log_process *process) {
    return process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE;
}

// One program image.
static void write_process(struct json_out *json, const struct summary *summary, const struct log_process *process,
                          size_t most) {
    struct summary_row row = {0};
    summary_row_add(summary, &row, process);
    json_object(json);
    json_members(json, m_signed_if("rank", process->has_rank && !process->group, process->rank),
                 m_number_if("pid", process->pid, process->pid), m_text("host", process->host),
                 m_text("exit", knows_end(process) ? describe_exit(process).text : NULL),
                 m_signed_if("exit_status", has_status(process), process->exit_value),
                 m_number_if("ppid", process->via != VIA_IMPORT && !process->group, process->ppid),
                 m_text("exe", process->exe));
    key_words(json, "command", &process->args, most);
    json_members(json, m_number_if("world", process->has_rank, process->world),
                 m_signed_if("local_rank", process->local_rank >= 0, process->local_rank),
                 m_bool("launcher", process->is_launcher), m_seconds("start", process->start_ns),
                 m_seconds_if("end", process->has_end, process->end_ns),
                 m_number_if("cpus", process->cpus, process->cpus),
                 m_seconds_if("cpu_wait", process->cpu_wait_known, process->cpu_wait_ns),
                 m_text("via", describe_via(process->via)), m_bool("joined", process->is_joined));
    key_row(json, &row);
    key_group(json, process);
    json_close(json);
}

// A process with all its program images.
static void write_row(struct json_out *json, const struct summary_row *row, size_t most) {
    const struct log_process *process = row->process;
    json_object(json);
    json_members(json, m_signed_if("rank", process->has_rank && !process->group, process->rank),
                 m_number_if("pid", process->pid, process->pid), m_text("host", process->host),
                 m_text("exit", knows_end(row->last) ? describe_exit(row->last).text : NULL),
                 m_signed_if("exit_status", has_status(row->last), row->last->exit_value),
                 m_number("images", row->images), m_bool("launcher", process->is_launcher));
    key_row(json, row);
    json_members(json, m_double_if("share", row->io_known && row->run_ns > 0, summary_row_share(row)));
    key_words(json, "command", &process->args, most);
    key_group(json, process);
    json_close(json);
}

static void write_worlds(struct json_out *json, const struct log *log) {
    key_array(json, "worlds");
    for (size_t i = 0; i < log_world_count(log); i++) {
        const struct log_world *world = log_world_at(log, i);
        json_object_of(json, m_text("mpi", world->mpi), m_number("size", world->size), m_number("ranks", world->ranks));
    }
    json_close(json);
}

static void write_rank(struct json_out *json, const struct summary_rank *rank) {
    const struct group_spread *io = rank->process->group ? &rank->process->group->spread[GROUP_IO] : NULL;
    json_object_of(json, m_signed_if("rank", !rank->process->group, rank->process->rank),
                   m_number("members", log_process_members(rank->process)),
                   m_number_if("slowest_rank", io && io->rank_most, io ? io->rank_most - 1 : 0),
                   m_number_if("fastest_rank", io && io->rank_least, io ? io->rank_least - 1 : 0),
                   m_number("world", rank->process->world), m_number_if("pid", rank->process->pid, rank->process->pid),
                   m_seconds_if("io", rank->known, rank->ns[RANK_IO]),
                   m_seconds_if("communication", rank->comm_known, rank->ns[RANK_COMMUNICATION]),
                   m_seconds_if("rest", rank->known && rank->comm_known, rank->ns[RANK_REST]),
                   m_seconds("run", rank->ns[RANK_RUN]));
}

// --- files

static void write_use(struct json_out *json, struct log *log, const struct mpi_use *use) {
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
        json_members(json, m_text("amode", mpi_text_amode(use->number).text), m_number("comm_size", use->comm_size));
        break;
    }
    key_number(json, "count", use->count);
    json_close(json);
}

static void write_mpi(struct json_out *json, const struct summary *summary, const struct log_file *file) {
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

static void write_past_cap(struct json_out *json, const struct summary *summary) {
    const struct summary_past_cap past = summary_past_cap(summary);
    key_object(json, "past_cap");
    json_members(json, m_number("files", past.files), m_number("records", past.records));
    json_close(json);
}

static void write_file(struct json_out *json, const struct summary *summary, const struct summary_file *file) {
    json_object(json);
    json_members(
        json, m_text("name", file->file->name), m_number("bytes_read", file->bytes[DIRECTION_READ]),
        m_number("bytes_written", file->bytes[DIRECTION_WRITE]), m_number("opens", file->opens),
        m_number_if("ranks", summary->rank_count, file->ranks), m_number("processes", file->processes),
        m_number("mapped_read", file->mapped[MAPPED_READ]), m_number("mapped_dirty", file->mapped[MAPPED_DIRTY]),
        m_number("mapped_copied", file->mapped[MAPPED_COPIED]), m_number("mapped_missed", file->mapped[MAPPED_MISSED]),
        m_number_if("stands_for", file->file->is_aggregate, file->file->stands_for));
    json_key(json, "mpi");
    if (mpi_files_has(&summary->mpi_files, file->file)) {
        write_mpi(json, summary, file->file);
    } else {
        json_null(json);
    }
    mounts_json_stripe(file->file, json);
    json_close(json);
}

void summary_key_counters(struct json_out *json, const struct counters *counters,
                          const struct counters_module *module) {
    struct counters_value value[COUNTERS_MAX_VALUES];
    size_t count = counters_list(counters, module, value);
    key_object(json, "counters");
    for (size_t i = 0; i < count; i++) {
        if (value[i].is_unknown) {
            json_key(json, value[i].name);
            json_null(json);
        } else if (value[i].is_real) {
            key_double(json, value[i].name, value[i].real);
        } else if (value[i].is_id) {
            key_number(json, value[i].name, (uint64_t)value[i].integer);
        } else {
            key_signed(json, value[i].name, value[i].integer);
        }
    }
    json_close(json);
}

void summary_key_device(struct json_out *json, const struct log_device *device) {
    char number[32];
    snprintf(number, sizeof number, "%u:%u", major(device->number), minor(device->number));
    json_members(json, m_text("name", device->name), m_text("host", device->host), m_text("number", number));
}

static void write_device(struct json_out *json, const struct log_device *device) {
    const struct device_sample *sum = &device->sum;
    json_object(json);
    summary_key_device(json, device);
    json_members(json, m_number("reads", sum->count[DEVICE_READS]), m_number("writes", sum->count[DEVICE_WRITES]),
                 m_number("bytes_read", sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES),
                 m_number("bytes_written", sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES),
                 m_double("utilisation", device_utilisation(sum)), m_double("queue", device_queue(sum)),
                 m_seconds("start", device->start_ns), m_seconds("span", (int64_t)sum->span_ns),
                 m_number("samples", device->sample_count));
    json_close(json);
}

// --- how far the log can be trusted

static void write_losses(struct json_out *json, const struct log *log, size_t most) {
    key_array(json, "losses");
    for (size_t i = 0; i < log_loss_count(log) && i < most; i++) {
        const struct log_loss *loss = log_loss_at(log, i);
        json_object_of(json, m_text("reason", describe_loss(loss->reason)), m_number("events", loss->count),
                       m_number("bytes", loss->bytes),
                       m_number_if("pid", loss->process, loss->process ? loss->process->pid : 0),
                       m_text("text", loss->text));
    }
    json_close(json);
}

static const char *const direction_names[DIRECTION_COUNT] = {"read", "write"};

static void write_parts(struct json_out *json, const char *key, enum coverage_kind kind,
                        const struct coverage_parts *parts) {
    key_array(json, key);
    for (size_t i = 0; i < parts->count; i++) {
        const struct coverage_part *part = &parts->part[i];
        if (part->kind != kind) continue;
        json_object_of(json, m_text("direction", part->direction < 0 ? NULL : direction_names[part->direction]),
                       m_text("reason", part->reason), m_number_if("bytes", part->direction >= 0, part->bytes));
    }
    json_close(json);
}

static void write_coverage(struct json_out *json, const struct summary *summary) {
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
    write_parts(json, "estimated", COVERAGE_ESTIMATED, &parts);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
            key_number_if(json, sums[i].key[direction], sums[i].known, sums[i].bytes[direction]);
    }
    json_close(json);
}

static void write_damage(struct json_out *json, const struct summary *summary) {
    const struct log_health *health = log_health(summary->log);
    if (!summary->is_damaged) {
        key_null(json, "damage");
        return;
    }
    key_object(json, "damage");
    json_members(json, m_bool("truncated", health->truncated), m_bool("index_missing", health->index_missing),
                 m_bool("header_damaged", health->header_damaged), m_number("bytes_skipped", health->bytes_skipped),
                 m_number("blocks_damaged", health->blocks_damaged), m_number("events_damaged", health->events_damaged),
                 m_number("below_damaged", health->below_damaged), m_number("records_damaged", health->records_damaged),
                 m_number("spill_bytes_damaged", summary->spill_damaged_bytes),
                 m_bool("import_damaged", summary->origin_damaged));
    json_close(json);
}

static void write_host(struct json_out *json, const struct summary_host *host) {
    const struct log_host *clock = host->clock;
    json_object_of(json, m_text("name", host->name), m_number("processes", host->processes),
                   m_seconds_if("clock_offset", clock || host->is_reference, clock ? clock->clock_offset_ns : 0),
                   m_double_if("clock_drift", clock ? clock->has_drift : host->is_reference,
                               clock ? (double)clock->clock_drift / 1e9 : 0),
                   m_seconds_if("clock_error", clock || host->is_reference, clock ? clock->clock_error_ns : 0),
                   m_text("clock_reference", clock ? clock->reference : NULL));
}

// Unknown before the events are read.
static void write_collectives(struct json_out *json, const struct summary *summary, size_t most) {
    json_key(json, "collectives");
    if (summary->collectives.in.log)
        collectives_json(&summary->collectives, &summary->mpi_files, json, most);
    else
        json_null(json);
}

// Of a log without calls below the system call there is none.
static int write_stack(struct json_out *json, const struct summary *summary, size_t most) {
    if (!stack_has(&summary->stack) && !log_stack(summary->log)) {
        key_null(json, "stack");
        return 0;
    }
    key_object(json, "stack");
    stack_json_facts(summary->log, json);
    int code = stack_json(&summary->stack, json, most);
    json_close(json);
    return code;
}

int summary_json(const struct summary *summary, struct json_out *json, size_t most) {
    const struct log *log = summary->log;
    json_object(json);
    write_job(json, summary, most);
    write_import(json, log);
    write_settings(json, log);
    key_array(json, "processes");
    for (size_t i = 0; i < log_process_count(log) && i < most; i++)
        write_process(json, summary, summary->processes[i], most);
    json_close(json);
    key_array(json, "busiest");
    for (size_t i = 0; i < summary->row_count && i < most; i++) write_row(json, &summary->rows[i], most);
    json_close(json);
    key_array(json, "hosts");
    for (size_t i = 0; i < summary->host_count && i < most; i++) write_host(json, &summary->hosts[i]);
    json_close(json);
    write_worlds(json, log);
    summary_comms_json(&summary->comms, json, most);
    write_collectives(json, summary, most);
    key_array(json, "ranks");
    for (size_t i = 0; i < summary->rank_count && i < most; i++) write_rank(json, &summary->ranks[i]);
    json_close(json);
    key_array(json, "files");
    for (size_t i = 0; i < summary->file_count && i < most; i++) write_file(json, summary, &summary->files[i]);
    json_close(json);
    key_array(json, "devices");
    for (size_t i = 0; i < log_device_count(log); i++) write_device(json, log_device_at(log, i));
    json_close(json);
    mounts_json(log, json, most);
    key_array(json, "layers");
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (summary->layer_used[layer]) json_text(json, call_layer_name(layer));
    }
    json_close(json);
    int code = libraries_json(&summary->tree, json, most);
    if (!code) code = write_stack(json, summary, most);
    stack_json_untied(log, json);
    write_past_cap(json, summary);
    json_members(json, m_number("events", log_events(log)), m_number("lost_events", summary->lost_events));
    write_losses(json, log, most);
    write_coverage(json, summary);
    write_damage(json, summary);
    key_bool(json, "spill_directory", summary->source.from_spills);
    json_close(json);
    return code;
}
