#include "cli/info_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/err.h"
#include "base/table.h"
#include "log/describe.h"
#include "log/import.h"
#include "summary/libraries.h"
#include "summary/mounts.h"
#include "summary/mpi_text.h"

static void print_more(size_t shown, size_t all, FILE *out) {
    if (shown < all) fprintf(out, "  ... and %s more (--all lists them)\n", human_count(all - shown, "").text);
}

static struct table begin_table(FILE *out, const struct table_column *columns) {
    struct table table = table_begin(out, columns);
    table.indent = 2;
    return table;
}

enum { SHORT_LIST = 10, SHORT_COMMAND = 100, LONG_COMMAND = 1000 };

// The words of a command, cut after about `most` bytes: a long script in one word would hide everything else. The
// caller frees the text.
static char *command_text(const struct log_strings *words, size_t most) {
    char *text = NULL;
    size_t len, printed = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    for (size_t i = 0; i < words->count && printed < most; i++) {
        size_t room = most - printed, word_len = strlen(words->word[i]);
        fprintf(out, "%s%.*s", i ? " " : "", (int)room, words->word[i]);
        printed += word_len + 1;
        if (word_len > room || (printed >= most && i + 1 < words->count)) fputs(" ...", out);
    }
    if (!words->count) fputs("(command not known)", out);
    return fclose(out) ? NULL : text;
}

// --- the job

static void add_run(struct table *lines, const struct summary *summary) {
    const struct log_job *job = log_job(summary->log);
    int64_t run_ns = log_run_ns(summary->log);
    time_t seconds = (time_t)(job->start_ns / 1000000000);
    int status = job->exit_status;
    struct tm local;
    char when[64] = "at an unknown time";
    if (localtime_r(&seconds, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    table_text(lines, "Ran");
    table_text(lines, when);
    if (job->host) table_append(lines, " on %s", job->host);
    if (run_ns || job->end_ns) table_append(lines, ", for %s", human_seconds(run_ns).text);
    if (log_is_joined(summary->log)) {
        table_append(lines, ", joined while it ran: what it did before is not in the log");
    } else if (log_import(summary->log)) {
        if (!job->complete) table_append(lines, ", until the last moment in it: it did not end in order");
    } else if (!job->has_exit_status) {
        table_append(lines, ", its end was not seen");
    } else if (WIFSIGNALED(status)) {
        table_append(lines, ", killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        table_append(lines, ", exit status %d", WEXITSTATUS(status));
    }
    table_row(lines);
}

static int print_job(const struct summary *summary, FILE *out) {
    static const struct table_column columns[] = {{"", TABLE_TEXT}, {"", TABLE_TEXT}, {0}};
    const struct log_job *job = log_job(summary->log);
    size_t worlds = log_world_count(summary->log);
    char *command = command_text(&job->command, LONG_COMMAND);
    struct table lines = table_begin(out, columns);
    lines.has_header = true;
    table_text(&lines, "Command  "), table_text(&lines, command), table_row(&lines);
    free(command);
    add_run(&lines, summary);
    if (job->cwd) table_text(&lines, "In"), table_text(&lines, job->cwd), table_row(&lines);
    if (summary->rank_count) {
        table_text(&lines, "MPI");
        table_printf(&lines, "%s, %s", summary->mpi ? summary->mpi : "unknown",
                     human_count(summary->nprocs, "rank").text);
        if (worlds > 1) table_append(&lines, ", the largest of %s", human_count(worlds, "job").text);
        table_row(&lines);
    }
    if (job->only) table_text(&lines, "Only"), table_text(&lines, job->only), table_row(&lines);
    // The log has only the names of most variables.
    for (size_t i = 0; i < log_setting_count(summary->log); i++) {
        const struct log_setting *setting = log_setting_at(summary->log, i);
        table_text(&lines, i ? "" : "Settings");
        table_printf(&lines, "%s%s%s", setting->name, setting->value ? "=" : "",
                     setting->value ? setting->value : " is set");
        table_row(&lines);
    }
    return table_end(&lines);
}

// --- what it was made from

static void add_module(struct table *table, const struct darshan_part *part) {
    table_text(table, darshan_module_name((unsigned)part->module).text);
    table_number(table, part->version);
    table_number_if(table, part->state != DARSHAN_UNKNOWN, part->records);
    table_text(table, part->state == DARSHAN_UNKNOWN   ? "skipped: its records are not known"
                      : part->state == DARSHAN_DAMAGED ? "damaged: records are missing"
                                                       : "");
    if (part->is_partial) table_append(table, "%sincomplete: some rank had no room for more", part->state ? "; " : "");
    if (part->left_out) table_append(table, "; %" PRIu64 " left out: they mix POSIX and stdio", part->left_out);
    table_row(table);
}

static int print_import(const struct summary *summary, FILE *out) {
    static const struct table_column columns[] = {
        {"MODULE", TABLE_TEXT}, {"VERSION", TABLE_NUMBER}, {"RECORDS", TABLE_NUMBER}, {"", TABLE_NAME}, {0}};
    const struct log_import *import = log_import(summary->log);
    if (!import) return 0;
    fprintf(out, "\nImported   from a log of %s, version ", import->program);
    human_print_name(out, import->version);
    fprintf(out, "%s; no communication, no process ids%s\n", import->is_swapped ? ", of the other byte order" : "",
            log_has_trace(summary->log) ? "" : ", no trace: it has no records of DXT");
    if (!import->module_count) return 0;
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < import->module_count; i++) add_module(&table, &import->modules[i]);
    return table_end(&table);
}

// --- hosts

// A line for each; one host is named above already.
static int print_hosts(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {
        {"PROCESSES", TABLE_NUMBER}, {"CLOCK", TABLE_UNIT}, {"ERROR", TABLE_UNIT}, {"HOST", TABLE_NAME}, {0}};
    size_t shown = !all && summary->host_count > SHORT_LIST ? SHORT_LIST : summary->host_count;
    if (summary->host_count < 2) return 0;
    fprintf(out, "\nHosts      %zu; clocks are what was added to their times, and how wrong these may be\n",
            summary->host_count);
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < shown; i++) {
        const struct summary_host *host = &summary->hosts[i];
        const struct log_host *clock = host->clock;
        table_printf(&table, "%" PRIu64, host->processes);
        if (clock) {
            table_text(&table, human_seconds(clock->clock_offset_ns).text);
            table_text(&table, human_seconds(clock->clock_error_ns).text);
        } else {
            table_text(&table, host->is_reference ? "reference" : "system's");
            table_text(&table, host->is_reference ? NULL : "unknown");
        }
        table_text(&table, host->name);
        table_row(&table);
    }
    FORWARD(table_end(&table));
    print_more(shown, summary->host_count, out);
    return 0;
}

// --- processes and ranks

// Counters only, as jobs without `record` have them.
static bool has_no_trace(const struct summary *summary) {
    bool has_counters = false;
    for (size_t i = 0; i < log_process_count(summary->log); i++)
        has_counters |= log_process_at(summary->log, i)->trace_ended == LOSS_TRACE_CAP;
    return has_counters && log_events(summary->log) == 0;
}

static void add_process(struct table *table, const struct summary_row *row, bool has_ranks, bool all, bool tells_end) {
    const struct log_process *process = row->process, *last = row->last;
    char *command = process->args.count ? command_text(&process->args, all ? LONG_COMMAND : SHORT_COMMAND) : NULL;
    if (process->has_rank) {
        table_text(table, describe_ranks(process).text);
    } else if (has_ranks) {
        table_text(table, NULL);
    }
    table_number_if(table, process->pid, process->pid);
    table_duration(table, row->run_ns);
    table_text(table, row->io_known ? human_seconds(row->io_ns).text : "unknown");
    table_text(table, row->io_known ? human_percent(summary_row_share(row)).text : "unknown");
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        table_text(table, row->bytes_known ? human_bytes(row->bytes[direction]).text : "unknown");
    table_text(table, describe_exit(last).text);
    if ((last->exit == EXIT_CLEAN || last->exit == EXIT_UNDERSCORE) && last->exit_value)
        table_append(table, ", status %" PRIu32, last->exit_value);
    table_text(table, command ? command : process->exe);
    if (process->counts_all && process->via != VIA_IMPORT) table_append(table, "  [trace: calls that triggers chose]");
    if (process->trace_ended && tells_end)
        table_append(table, "  [trace ended: %s]", describe_loss(process->trace_ended));
    table_row(table);
    free(command);
}

// One row per process, the most time in I/O first. Launchers come last.
static int print_processes(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {{"RANK", TABLE_NUMBER},  {"PID", TABLE_NUMBER},
                                                  {"RUN", TABLE_UNIT},     {"I/O", TABLE_UNIT},
                                                  {"SHARE", TABLE_UNIT},   {"READ", TABLE_UNIT},
                                                  {"WRITTEN", TABLE_UNIT}, {"END", TABLE_TEXT},
                                                  {"COMMAND", TABLE_NAME}, {0}};
    uint64_t images = 0, launchers = 0;
    size_t shown = 0, hidden = 0;
    uint64_t processes = log_job(summary->log)->nprocs;
    for (size_t i = 0; i < log_process_count(summary->log); i++)
        images += log_process_members(log_process_at(summary->log, i));
    fprintf(out, "\nProcesses  %s", human_count(processes ? processes : images, "").text);
    if (processes && processes != images) fprintf(out, " (%s)", human_count(images, "program image").text);
    fputs(summary->row_count > 1 ? ", the most time in I/O first; shares are of their run time\n" : "\n", out);
    if (!images) return 0;
    bool has_trace = !has_no_trace(summary);
    struct table table = begin_table(out, summary->rank_count ? columns : columns + 1);
    for (size_t i = 0; i < summary->row_count; i++) {
        if (summary->rows[i].process->is_launcher && summary->rank_count && !all) {
            launchers += summary->rows[i].members;
            hidden++;
        } else if (all || shown < SHORT_LIST) {
            add_process(&table, &summary->rows[i], summary->rank_count, all, has_trace);
            shown++;
        }
    }
    FORWARD(table_end(&table));
    if (launchers) fprintf(out, "  and %s of the launcher (--all)\n", human_count(launchers, "process").text);
    print_more(shown, summary->row_count - hidden, out);
    return 0;
}

// `lacks_rest`: of a group nobody knows the least and the most of the rest.
static void add_times(struct table *table, const struct summary_rank *rank, bool lacks_rest) {
    for (unsigned i = 0; i < RANK_TIMES; i++) {
        bool is_known = i == RANK_RUN || (rank->known && (i == RANK_IO || rank->comm_known));
        is_known = is_known && !(lacks_rest && i == RANK_REST);
        table_text(table, is_known ? human_seconds(rank->ns[i]).text : "unknown");
    }
    table_row(table);
}

// For many ranks: the least, the mean and the most of each time.
static void add_range(struct table *table, const struct summary *summary) {
    struct summary_rank least = summary->ranks[0], mean = least, most = least;
    double sum[RANK_TIMES] = {0};
    bool has_group = false;
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct summary_rank *rank = &summary->ranks[i];
        least.known = most.known = mean.known = mean.known && rank->known;
        has_group = has_group || rank->process->group;
        for (unsigned k = 0; k < RANK_TIMES; k++) {
            int64_t low_ns = summary_rank_extreme(rank, k, false), high_ns = summary_rank_extreme(rank, k, true);
            if (low_ns < least.ns[k] || i == 0) least.ns[k] = low_ns;
            if (high_ns > most.ns[k]) most.ns[k] = high_ns;
            sum[k] += (double)rank->ns[k] * (double)log_process_members(rank->process);
        }
    }
    for (unsigned k = 0; k < RANK_TIMES; k++) mean.ns[k] = (int64_t)(sum[k] / (double)summary->rank_total);
    table_text(table, "least"), add_times(table, &least, has_group);
    table_text(table, "mean"), add_times(table, &mean, false);
    table_text(table, "most"), add_times(table, &most, has_group);
}

// Which ranks of a group are slowest and fastest.
static int print_extremes(const struct summary *summary, FILE *out) {
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct log_process *process = summary->ranks[i].process;
        const struct group_spread *io = process->group ? &process->group->spread[GROUP_IO] : NULL;
        if (!io || !io->is_known || !io->rank_least || !io->rank_most) continue;
        fprintf(out,
                "  ranks %s have one record: the most time in I/O had rank %" PRIu64 " (%s), the least rank %" PRIu64
                " (%s); deviation %s\n",
                describe_ranks(process).text, io->rank_most - 1, human_seconds(io->most).text, io->rank_least - 1,
                human_seconds(io->least).text, human_seconds((int64_t)io->deviation).text);
    }
    return 0;
}

static int print_ranks(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {{"RANK", TABLE_NUMBER}, {"RUN", TABLE_UNIT},
                                                  {"I/O", TABLE_UNIT},    {"COMMUNICATION", TABLE_UNIT},
                                                  {"REST", TABLE_UNIT},   {0}};
    if (!summary->rank_count) return 0;
    fprintf(out, "\nRanks      %s\n", human_count(summary->rank_total, "").text);
    struct table table = begin_table(out, columns);
    bool has_group = summary->rank_total > summary->rank_count;
    bool is_short = summary->rank_total > SHORT_LIST && (!all || has_group);
    if (is_short) add_range(&table, summary);
    for (size_t i = 0; i < summary->rank_count && !is_short; i++) {
        table_text(&table, describe_ranks(summary->ranks[i].process).text);
        add_times(&table, &summary->ranks[i], false);
    }
    FORWARD(table_end(&table));
    return print_extremes(summary, out);
}

// --- files

static int print_files(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {
        {"READ", TABLE_UNIT}, {"WRITTEN", TABLE_UNIT}, {"OPENS", TABLE_NUMBER}, {"FILE", TABLE_NAME}, {0}};
    size_t shown = all || summary->file_count < SHORT_LIST ? summary->file_count : SHORT_LIST;
    fprintf(out, "\nFiles      %s%s\n", human_count(summary->file_count, "").text, shown ? ", most bytes first" : "");
    if (!shown) return 0;
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < shown; i++) {
        const struct summary_file *file = &summary->files[i];
        table_bytes(&table, file->bytes[DIRECTION_READ]);
        table_bytes(&table, file->bytes[DIRECTION_WRITE]);
        table_count(&table, file->opens);
        table_text(&table, file->file->name);
        table_row(&table);
    }
    FORWARD(table_end(&table));
    print_more(shown, summary->file_count, out);
    const struct summary_past_cap past = summary_past_cap(summary);
    if (past.records)
        fprintf(out, "  past the caps: %s in %s, by pattern of name or directory\n",
                human_count(past.files, "file").text, human_count(past.records, "record").text);
    return 0;
}

// What went through mappings, in the order of the files.
static int print_mapped(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {
        {"READ", TABLE_UNIT}, {"CHANGED", TABLE_UNIT}, {"COPIED", TABLE_UNIT}, {"FILE", TABLE_NAME}, {0}};
    size_t count = 0;
    if (!summary->coverage.mapped[MAPPED_READ]) return 0;
    fputs("\nMapped     bytes moved through mappings of files (mmap), estimated\n", out);
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct summary_file *file = &summary->files[i];
        if (!file->mapped[MAPPED_READ] || (count++ >= SHORT_LIST && !all)) continue;
        for (unsigned kind = 0; kind < MAPPED_MISSED; kind++) table_bytes(&table, file->mapped[kind]);
        table_text(&table, file->file->name);
        table_row(&table);
    }
    FORWARD(table_end(&table));
    print_more(all || count < SHORT_LIST ? count : SHORT_LIST, count, out);
    uint64_t missed = summary->coverage.mapped[MAPPED_MISSED];
    if (missed) fprintf(out, "  %s ended or synced without an estimate\n", human_count(missed, "mapping").text);
    return 0;
}

// --- files of MPI-IO

// As many hints per line as fit.
static void add_hints(struct table *lines, const char *title, const struct log_hint_list *list) {
    size_t column = HUMAN_LINE;
    for (size_t i = 0; i < list->count; i++) {
        const struct log_hint *hint = &list->hint[i];
        size_t len = strlen(hint->name) + strlen(hint->value) + sizeof "=, ";
        bool is_new_line = column + len > HUMAN_LINE;
        column = is_new_line ? len : column + len;
        if (i) table_append(lines, is_new_line ? "," : ", ");
        if (i && is_new_line) table_row(lines);
        if (is_new_line) table_text(lines, i ? "" : title), table_text(lines, "");
        table_append(lines, "%s=%s", hint->name, hint->value);
    }
    if (list->count) table_row(lines);
}

// Hints that were `shown` last are not repeated.
static void add_mpi_use(struct table *lines, struct log *log, const struct mpi_use *use,
                        const struct log_hints **shown) {
    const struct log_hints *hints = use->first;
    switch (use->kind) {
    case MPI_USE_HINTS:
        if (hints == *shown) {
            table_text(lines, "hints"), table_text(lines, "as above"), table_row(lines);
            return;
        }
        add_hints(lines, "asked", &hints->asked);
        add_hints(lines, "in force", &hints->in_force);
        *shown = hints;
        return;
    case MPI_USE_VIEW:
        table_text(lines, "view");
        table_printf(lines, "from %" PRIu64 " of %s: %s", use->number, mpi_text_datatype(log, use->first).text,
                     mpi_text_datatype(log, use->second).text);
        break;
    default:
        table_text(lines, "opened  "); // as wide as the longest label, so that all files are aligned
        table_printf(lines, "%s by %s%s", mpi_text_amode(use->number).text, human_count(use->comm_size, "process").text,
                     use->comm_size > 1 ? " together" : "");
    }
    table_append(lines, ", %s", human_count(use->count, "call").text);
    table_row(lines);
}

static int print_mpi_file(FILE *out, const struct summary *summary, const struct log_file *file, bool all,
                          const struct log_hints **shown) {
    enum { FEW = 3 };
    static const char *const nouns[] = {"way", "set", "view"};
    static const struct table_column columns[] = {{"", TABLE_TEXT}, {"", TABLE_TEXT}, {0}};
    struct table lines = table_begin(out, columns);
    lines.has_header = true;
    lines.indent = 4;
    fputs("  ", out);
    human_print_name(out, file->name);
    fputc('\n', out);
    for (enum mpi_use_kind kind = 0; kind < MPI_USE_KINDS; kind++) {
        size_t count;
        const struct mpi_use *use = mpi_files_uses(&summary->mpi_files, file, kind, &count);
        size_t some = all || count < FEW ? count : FEW;
        for (size_t i = 0; i < some; i++) add_mpi_use(&lines, summary->log, &use[i], shown);
        if (some == count) continue;
        table_text(&lines, "");
        table_printf(&lines, "... and %s more", human_count(count - some, nouns[kind]).text);
        table_row(&lines);
    }
    return table_end(&lines);
}

static int print_mpi_files(const struct summary *summary, bool all, FILE *out) {
    const struct log_hints *shown_hints = NULL;
    size_t files = 0, shown = 0;
    for (size_t i = 0; i < summary->file_count; i++)
        files += mpi_files_has(&summary->mpi_files, summary->files[i].file);
    if (files) fprintf(out, "\nMPI files  %s\n", human_count(files, "").text);
    for (size_t i = 0; i < summary->file_count && (all || shown < SHORT_LIST); i++) {
        const struct log_file *file = summary->files[i].file;
        if (!mpi_files_has(&summary->mpi_files, file)) continue;
        FORWARD(print_mpi_file(out, summary, file, all, &shown_hints));
        shown++;
    }
    print_more(shown, files, out);
    return 0;
}

// --- inside collective calls

static int print_collectives(const struct summary *summary, bool all, FILE *out) {
    const struct collectives *collectives = &summary->collectives;
    size_t shown = all || collectives->divided < SHORT_LIST ? collectives->divided : SHORT_LIST;
    if (!collectives_has(collectives)) return 0;
    fputs("\nCollective calls of MPI-IO\n", out);
    FORWARD(collectives_text(collectives, &summary->mpi_files, shown, out));
    print_more(shown, collectives->divided, out);
    return 0;
}

// --- devices

static int print_devices(const struct log *log, FILE *out) {
    static const struct table_column columns[] = {
        {"READ", TABLE_UNIT},      {"WRITTEN", TABLE_UNIT}, {"BUSY", TABLE_UNIT},   {"QUEUE", TABLE_NUMBER},
        {"SAMPLES", TABLE_NUMBER}, {"TIME", TABLE_UNIT},    {"DEVICE", TABLE_NAME}, {0}};
    size_t count = log_device_count(log);
    if (!count) return 0;
    fprintf(out, "\nDevices    %s under these files; numbers include everything that the machine did on them\n",
            human_count(count, "").text);
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < count; i++) {
        const struct log_device *device = log_device_at(log, i);
        const struct device_sample *sum = &device->sum;
        table_bytes(&table, sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES);
        table_bytes(&table, sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES);
        table_percent(&table, device_utilisation(sum));
        table_printf(&table, "%.2f", device_queue(sum));
        table_count(&table, device->sample_count);
        table_duration(&table, (int64_t)sum->span_ns);
        table_text(&table, device->name);
        if (device->host) table_append(&table, " on %s", device->host);
        table_row(&table);
    }
    return table_end(&table);
}

// --- file systems

static int print_mounts(const struct log *log, FILE *out) {
    if (!log_mount_count(log)) return 0;
    fputs("\nMounts     file systems under these files\n", out);
    return mounts_text(log, out);
}

// How files lie on a parallel file system, in the order of the files.
static int print_stripes(const struct summary *summary, bool all, FILE *out) {
    static const struct table_column columns[] = {
        {"SERVERS", TABLE_NUMBER}, {"SIZE", TABLE_UNIT},    {"FIRST", TABLE_NUMBER}, {"PATTERN", TABLE_TEXT},
        {"POOL", TABLE_TEXT},      {"PARTS", TABLE_NUMBER}, {"FILE", TABLE_NAME},    {0}};
    struct table table = begin_table(out, columns);
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct log_file *file = summary->files[i].file;
        const struct stripe *stripe = log_file_stripe(file);
        if (!stripe || (count++ >= SHORT_LIST && !all)) continue;
        if (!shown++) fputs("\nStripes    of files, over the servers of their file system\n", out);
        table_number_if(&table, stripe->count, stripe->count);
        table_bytes(&table, stripe->size);
        table_number_if(&table, stripe->first, stripe->first - 1);
        table_text(&table, stripe_pattern_name(stripe->pattern));
        table_text(&table, *stripe->pool ? stripe->pool : NULL);
        table_number(&table, file->stripe_count);
        table_text(&table, file->name);
        table_row(&table);
    }
    table.has_header |= !shown;
    FORWARD(table_end(&table));
    print_more(shown, count, out);
    return 0;
}

// --- how far the log can be trusted

static const char *loss_noun(unsigned reason) {
    switch (reason) {
    case LOSS_NO_SPILL:
    case LOSS_NO_PLUGIN:
    case LOSS_OLD_LIBRARY: return "process";
    case LOSS_SANDBOX: return "thread";
    case LOSS_MAPPINGS: return "mapping";
    case LOSS_NOT_FOLLOWED: return "program";
    case LOSS_PROBE: return "call";
    case LOSS_AWAY: return "host";
    default: return "event";
    }
}

// One line per reason, for all processes together.
static void print_losses(const struct summary *summary, FILE *out) {
    uint64_t count[LOSS_REASONS] = {0};
    uint64_t bytes[LOSS_REASONS] = {0};
    for (size_t i = 0; i < log_loss_count(summary->log); i++) {
        const struct log_loss *loss = log_loss_at(summary->log, i);
        unsigned reason = loss->reason < LOSS_REASONS ? loss->reason : 0;
        count[reason] += loss->count;
        bytes[reason] += loss->bytes;
        if (!loss->text) continue;
        fputs("  note: ", out);
        human_print_name(out, loss->text);
        fputc('\n', out);
    }
    for (unsigned reason = 0; reason < LOSS_REASONS; reason++) {
        if (!count[reason] && !bytes[reason]) continue;
        // The size of damage is known, but not what was in it.
        const char *noun = loss_noun(reason);
        fprintf(out, "  %s", count[reason] ? human_count(count[reason], noun).text : human_bytes(bytes[reason]).text);
        if (count[reason] && bytes[reason]) fprintf(out, " (%s)", human_bytes(bytes[reason]).text);
        fprintf(out, " %s\n", describe_loss(reason));
    }
    const struct log_health *health = log_health(summary->log);
    static const char *const unread = "in blocks of this log that cannot be read";
    if (health->events_damaged) fprintf(out, "  %s %s\n", human_count(health->events_damaged, "event").text, unread);
    if (health->below_damaged)
        fprintf(out, "  %s below the system call %s\n", human_count(health->below_damaged, "call").text, unread);
}

static void print_events(const struct summary *summary, FILE *out) {
    const char *separator = "";
    fputs("\nLayers     ", out);
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (!summary->layer_used[layer]) continue;
        fprintf(out, "%s%s", separator, call_layer_name(layer));
        separator = ", ";
    }
    fprintf(out, "%s\nEvents     %s%s, ", *separator ? "" : "none", human_count(log_events(summary->log), "").text,
            has_no_trace(summary) ? " (counters only)" : "");
    if (summary->lost_events) {
        const char *least = summary->may_lack_events ? "at least " : "";
        fprintf(out, "and %s%s lost:\n", least, human_count(summary->lost_events, "").text);
    } else {
        fputs(summary->may_lack_events ? "and an unknown number lost to damage\n" : "none lost\n", out);
    }
    print_losses(summary, out);
}

// What layers above MPI-IO asked for, and what that came to.
static int print_libraries(const struct summary *summary, FILE *out) {
    const struct call_tree *tree = &summary->tree;
    if (!library_next(tree, LAYER_COUNT)) return 0;
    fputs("\nLibraries  what they were asked for and what reached the files, by the calls that caused it; times are\n"
          "           those of all processes, the library's own without the calls below\n",
          out);
    FORWARD(libraries_text(tree, out));
    for (unsigned layer = LAYER_COUNT; (layer = library_next(tree, layer));) {
        for (unsigned direction = DIRECTION_COUNT; direction-- > 0;) {
            struct library_words words = library_moved(tree, layer, direction);
            if (*words.text) human_paragraph(out, "  ", words.text);
        }
    }
    return 0;
}

// Where the time of calls on a stack's files went, layer by layer and server by server.
static int print_stack(const struct summary *summary, FILE *out) {
    if (!stack_has(&summary->stack) && !log_stack(summary->log)) return 0;
    fputs("\nStack\n", out);
    FORWARD(stack_text_facts(summary->log, out));
    return stack_has(&summary->stack) ? stack_text(&summary->stack, out) : 0;
}

static int print_coverage(const struct summary *summary, FILE *out) {
    static const struct table_column columns[] = {
        {"", TABLE_TEXT}, {"", TABLE_UNIT}, {"", TABLE_TEXT}, {"", TABLE_TEXT}, {0}};
    static const char *const directions[] = {"read", "written"}, *const kinds[] = {"recorded", "left out", "unseen",
                                                                                   "estimated"};
    const struct coverage *coverage = &summary->coverage;
    struct coverage_parts parts;
    fputs("Coverage   ", out);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        double fraction;
        bool known = coverage_fraction(coverage, direction, &fraction);
        fprintf(out, "%s%s of the bytes %s", direction ? ", " : "",
                known ? human_percent(fraction).text : "an unknown part", directions[direction]);
    }
    if (coverage->uncounted[DIRECTION_READ] || coverage->uncounted[DIRECTION_WRITE])
        fputs(", without asynchronous I/O", out);
    fputs(coverage->known ? "\n" : " (the kernel's byte counts are unknown)\n", out);
    coverage_list(coverage, summary->is_damaged, &parts);
    struct table table = begin_table(out, columns);
    table.has_header = true; // the columns need none
    for (size_t i = 0; i < parts.count; i++) {
        const struct coverage_part *part = &parts.part[i];
        table_text(&table, kinds[part->kind]);
        table_text(&table, part->direction < 0 ? "unknown" : human_bytes(part->bytes).text);
        table_text(&table, part->direction < 0 ? "" : directions[part->direction]);
        table_text(&table, part->reason);
        table_row(&table);
    }
    return table_end(&table);
}

static void print_log(const struct summary *summary, FILE *out) {
    fprintf(out, "Log        %s", human_bytes(log_size_bytes(summary->log)).text);
    if (summary->source.from_spills) fputs(", made from the job's spill files", out);
    if (!log_job(summary->log)->complete) fputs(", incomplete: the end of the command was not seen", out);
    fputs(summary->is_damaged ? "\nDamage     " : ", no damage", out);
    int parts = describe_health(out, log_health(summary->log));
    if (summary->spill_damaged_bytes)
        fprintf(out, "%s%s of its spill files could not be read", parts ? ", " : "",
                human_bytes(summary->spill_damaged_bytes).text);
    if (summary->origin_damaged)
        fprintf(out, "%sthe log that it was made from was damaged", parts || summary->spill_damaged_bytes ? ", " : "");
    fputc('\n', out);
}

int info_text(const struct summary *summary, bool all, FILE *out) {
    FORWARD(print_job(summary, out));
    FORWARD(print_import(summary, out));
    FORWARD(print_hosts(summary, all, out));
    FORWARD(print_processes(summary, all, out));
    FORWARD(print_ranks(summary, all, out));
    FORWARD(print_files(summary, all, out));
    FORWARD(print_mapped(summary, all, out));
    FORWARD(print_mpi_files(summary, all, out));
    FORWARD(print_collectives(summary, all, out));
    FORWARD(print_mounts(summary->log, out));
    FORWARD(print_stripes(summary, all, out));
    FORWARD(print_devices(summary->log, out));
    FORWARD(print_libraries(summary, out));
    FORWARD(print_stack(summary, out));
    print_events(summary, out);
    FORWARD(print_coverage(summary, out));
    print_log(summary, out);
    return 0;
}
