#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/info.h"
#include "log/describe.h"

enum { SHORT_LIST = 10, SHORT_COMMAND = 100, LONG_COMMAND = 1000 };

// At most about `most` bytes: a script given on the command line would bury everything else.
static void print_command(FILE *out, const struct log_strings *words, size_t most)
{
    size_t printed = 0;
    for (size_t i = 0; i < words->count && printed < most; i++) {
        size_t room = most - printed;
        size_t len = strlen(words->word[i]);
        char *word = strndup(words->word[i], room);
        if (i) fputc(' ', out);
        human_print_name(out, word ? word : "");
        free(word);
        printed += len + 1;
        if (len > room || (printed >= most && i + 1 < words->count)) fputs(" ...", out);
    }
    if (!words->count) fputs("(command not known)", out);
}

static void print_end(FILE *out, const struct log_job *job)
{
    if (!job->has_exit_status) {
        fputs(", its end was not seen", out);
    } else if (WIFSIGNALED(job->exit_status)) {
        fprintf(out, ", killed by signal %d (%s)", WTERMSIG(job->exit_status), strsignal(WTERMSIG(job->exit_status)));
    } else {
        fprintf(out, ", exit status %d", WEXITSTATUS(job->exit_status));
    }
}

static void print_job(const struct info *info, FILE *out)
{
    const struct log_job *job = log_job(info->log);
    time_t seconds = (time_t)(job->start_ns / 1000000000);
    struct tm local;
    char when[64] = "at an unknown time";
    if (localtime_r(&seconds, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    fputs("Command    ", out);
    print_command(out, &job->command, LONG_COMMAND);
    fprintf(out, "\nRan        %s", when);
    if (job->host) {
        fputs(" on ", out);
        human_print_name(out, job->host);
    }
    int64_t run_ns = log_run_ns(info->log);
    if (run_ns || job->end_ns) fprintf(out, ", for %s", human_seconds(run_ns).text);
    print_end(out, job);
    fputc('\n', out);
    if (job->cwd) {
        fputs("In         ", out);
        human_print_name(out, job->cwd);
        fputc('\n', out);
    }
    if (!info->rank_count) return;
    fputs("MPI        ", out);
    human_print_name(out, info->mpi ? info->mpi : "unknown");
    fprintf(out, ", %s", human_count(info->nprocs, "rank").text);
    size_t worlds = log_world_count(info->log);
    fputs(worlds > 1 ? ", the largest of " : "\n", out);
    if (worlds > 1) fprintf(out, "%s\n", human_count(worlds, "job").text);
}

// Of most variables only the name is stored.
static void print_settings(const struct log *log, FILE *out)
{
    for (size_t i = 0; i < log_setting_count(log); i++) {
        const struct log_setting *setting = log_setting_at(log, i);
        fputs(i ? "           " : "Settings   ", out);
        human_print_name(out, setting->name);
        if (setting->value) fputc('=', out);
        human_print_name(out, setting->value ? setting->value : " is set");
        fputc('\n', out);
    }
}

static void print_process(const struct log_process *process, bool has_ranks, bool all, FILE *out)
{
    char ended[128];
    int len = snprintf(ended, sizeof ended, "%s", describe_exit(process).text);
    if ((process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE) && process->exit_value) {
        snprintf(ended + len, sizeof ended - (size_t)len, ", status %" PRIu32, process->exit_value);
    }
    if (process->has_rank) {
        fprintf(out, "  %6" PRId64, process->rank);
    } else if (has_ranks) {
        fprintf(out, "  %6s", "-");
    }
    fprintf(out, "  %8" PRIu32 "  %-20s  ", process->pid, ended);
    if (process->args.count) {
        print_command(out, &process->args, all ? LONG_COMMAND : SHORT_COMMAND);
    } else {
        human_print_name(out, process->exe ? process->exe : "-");
    }
    if (process->trace_ended) fprintf(out, "  [trace ended: %s]", describe_loss(process->trace_ended));
    fputc('\n', out);
}

static void print_more(size_t shown, size_t all, FILE *out)
{
    if (shown < all) fprintf(out, "  ... and %zu more (--all lists them)\n", all - shown);
}

static void print_processes(const struct info *info, bool all, FILE *out)
{
    size_t count = log_process_count(info->log);
    size_t shown = 0, launchers = 0;
    uint64_t processes = log_job(info->log)->nprocs;
    fprintf(out, "\nProcesses  %s", human_count(processes ? processes : count, "").text);
    // The list has a line for each program that a process went on to with exec.
    if (processes && processes != count) fprintf(out, " (%s)", human_count(count, "program image").text);
    fputc('\n', out);
    if (count && info->rank_count) fprintf(out, "  %6s", "RANK");
    if (count) fprintf(out, "  %8s  %-20s  %s\n", "PID", "END", "COMMAND");
    for (size_t i = 0; i < count; i++) {
        if (info->processes[i]->is_launcher && info->rank_count && !all) {
            launchers++;
        } else if (all || shown < SHORT_LIST) {
            print_process(info->processes[i], info->rank_count, all, out);
            shown++;
        }
    }
    if (launchers) fprintf(out, "  and %s of the launcher (--all)\n", human_count(launchers, "process").text);
    print_more(shown, count - launchers, out);
}

// One line of the table of ranks.
static void print_rank_times(FILE *out, const char *name, const struct info_rank *rank)
{
    fprintf(out, "  %6s  %12s", name, human_seconds(rank->run_ns).text);
    fprintf(out, "  %12s", rank->known ? human_seconds(rank->io_ns).text : "unknown");
    fprintf(out, "  %13s", rank->known ? human_seconds(rank->comm_ns).text : "unknown");
    fprintf(out, "  %12s\n", rank->known ? human_seconds(rank->rest_ns).text : "unknown");
}

static int64_t *rank_time_at(struct info_rank *rank, unsigned column)
{
    int64_t *const columns[] = {&rank->run_ns, &rank->io_ns, &rank->comm_ns, &rank->rest_ns};
    return columns[column];
}

// Of many ranks: the least, the mean and the most of each column.
static void print_rank_range(const struct info *info, FILE *out)
{
    enum { COLUMNS = 4 };
    struct info_rank least = info->ranks[0], most = info->ranks[0], mean = {.known = true};
    for (unsigned column = 0; column < COLUMNS; column++) {
        double sum = 0;
        for (size_t i = 0; i < info->rank_count; i++) {
            struct info_rank rank = info->ranks[i];
            int64_t ns = *rank_time_at(&rank, column);
            if (ns < *rank_time_at(&least, column)) *rank_time_at(&least, column) = ns;
            if (ns > *rank_time_at(&most, column)) *rank_time_at(&most, column) = ns;
            sum += (double)ns;
            if (!rank.known) mean.known = false;
        }
        *rank_time_at(&mean, column) = (int64_t)(sum / (double)info->rank_count);
    }
    least.known = most.known = mean.known;
    print_rank_times(out, "least", &least);
    print_rank_times(out, "mean", &mean);
    print_rank_times(out, "most", &most);
}

static void print_ranks(const struct info *info, bool all, FILE *out)
{
    if (!info->rank_count) return;
    fprintf(out, "\nRanks      %s\n", human_count(info->rank_count, "").text);
    fprintf(out, "  %6s  %12s  %12s  %13s  %12s\n", "RANK", "RUN", "I/O", "COMMUNICATION", "REST");
    if (!all && info->rank_count > SHORT_LIST) {
        print_rank_range(info, out);
        return;
    }
    for (size_t i = 0; i < info->rank_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%" PRId64, info->ranks[i].process->rank);
        print_rank_times(out, name, &info->ranks[i]);
    }
}

static void print_files(const struct info *info, bool all, FILE *out)
{
    size_t shown = all || info->file_count < SHORT_LIST ? info->file_count : SHORT_LIST;
    fprintf(out, "\nFiles      %s%s\n", human_count(info->file_count, "").text, shown ? ", most bytes first" : "");
    if (shown) fprintf(out, "  %10s  %10s  %7s  %s\n", "READ", "WRITTEN", "OPENS", "FILE");
    for (size_t i = 0; i < shown; i++) {
        const struct info_file *file = &info->files[i];
        fprintf(out, "  %10s  %10s  %7" PRIu64 "  ", human_bytes(file->bytes[DIRECTION_READ]).text,
                human_bytes(file->bytes[DIRECTION_WRITE]).text, file->opens);
        human_print_name(out, file->file->name);
        fputc('\n', out);
    }
    print_more(shown, info->file_count, out);
}

static const char *loss_noun(unsigned reason)
{
    switch (reason) {
    case LOSS_NO_SPILL: return "process";
    case LOSS_SANDBOX: return "thread";
    case LOSS_MAPPINGS: return "mapping";
    default: return "event";
    }
}

// In the order of the list above.
static void print_mpi_files(const struct info *info, bool all, FILE *out)
{
    const struct log_hints *shown_hints = NULL;
    size_t files = 0, shown = 0;
    for (size_t i = 0; i < info->file_count; i++) files += info_mpi_has(&info->mpi_files, info->files[i].file);
    if (files) fprintf(out, "\nMPI files  %s\n", human_count(files, "").text);
    for (size_t i = 0; i < info->file_count && (all || shown < SHORT_LIST); i++) {
        const struct log_file *file = info->files[i].file;
        if (!info_mpi_has(&info->mpi_files, file)) continue;
        info_mpi_text(&info->mpi_files, info->log, file, all, out, &shown_hints);
        shown++;
    }
    print_more(shown, files, out);
}

// Losses of many processes for one reason are one line.
static void print_losses(const struct info *info, FILE *out)
{
    enum { REASONS = 16 };
    uint64_t count[REASONS] = {0};
    uint64_t bytes[REASONS] = {0};
    for (size_t i = 0; i < log_loss_count(info->log); i++) {
        const struct log_loss *loss = log_loss_at(info->log, i);
        unsigned reason = loss->reason < REASONS ? loss->reason : 0;
        count[reason] += loss->count;
        bytes[reason] += loss->bytes;
        if (!loss->text) continue;
        fputs("  note: ", out);
        human_print_name(out, loss->text);
        fputc('\n', out);
    }
    for (unsigned reason = 0; reason < REASONS; reason++) {
        if (!count[reason] && !bytes[reason]) continue;
        // Damage has a size, but what was in it nobody could count.
        const char *noun = loss_noun(reason);
        fprintf(out, "  %s", count[reason] ? human_count(count[reason], noun).text : human_bytes(bytes[reason]).text);
        if (count[reason] && bytes[reason]) fprintf(out, " (%s)", human_bytes(bytes[reason]).text);
        fprintf(out, " %s\n", describe_loss(reason));
    }
    uint64_t damaged = log_health(info->log)->events_damaged;
    if (damaged) fprintf(out, "  %s in blocks of this log that cannot be read\n", human_count(damaged, "event").text);
}

static void print_events(const struct info *info, FILE *out)
{
    const char *separator = "";
    fputs("\nLayers     ", out);
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (!info->layer_used[layer]) continue;
        fprintf(out, "%s%s", separator, call_layer_name(layer));
        separator = ", ";
    }
    fprintf(out, "%s\nEvents     %s, ", *separator ? "" : "none", human_count(log_events(info->log), "").text);
    if (info->lost_events) {
        const char *least = info_may_lack_events(info) ? "at least " : "";
        fprintf(out, "and %s%s lost:\n", least, human_count(info->lost_events, "").text);
    } else if (info_may_lack_events(info)) {
        fputs("and an unknown number lost to damage\n", out);
    } else {
        fputs("none lost\n", out);
    }
    print_losses(info, out);
}

static void print_row(FILE *out, const char *what, unsigned direction, const char *reason, uint64_t bytes)
{
    fprintf(out, "  %-8s %10s %-7s  %s\n", what, human_bytes(bytes).text,
            direction == DIRECTION_READ ? "read" : "written", reason);
}

static void print_part(FILE *out, const char *what, unsigned direction, const char *reason, uint64_t bytes)
{
    if (bytes) print_row(out, what, direction, reason, bytes);
}

// So that the sum is that of the files: stdio reads ahead, and gives from its buffers what it has read before.
static void print_recorded(const struct coverage *coverage, unsigned direction, FILE *out)
{
    uint64_t asked = coverage->stdio_asked[direction], stdio = coverage->stdio_kernel[direction];
    bool apart = asked != stdio;
    print_part(out, "recorded", direction, "in this log", coverage->captured[direction] - (apart ? stdio : 0));
    if (apart) {
        char reason[160];
        snprintf(reason, sizeof reason, "in this log, by stdio, which the program asked for %s",
                 human_bytes(asked).text);
        print_row(out, "recorded", direction, reason, stdio);
    }
    print_part(out, "recorded", direction, COVERAGE_UNCOUNTED, coverage->uncounted[direction]);
}

static void print_coverage(const struct info *info, FILE *out)
{
    const struct coverage *coverage = &info->coverage;
    const char *remainder = info_is_damaged(info) ? COVERAGE_REMAINDER_DAMAGED : COVERAGE_REMAINDER;
    static const char *const names[DIRECTION_COUNT] = {"read", "written"};
    fputs("Coverage   ", out);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        double fraction;
        bool known = coverage_fraction(coverage, direction, &fraction);
        fprintf(out, "%s%s of the bytes %s", direction ? ", " : "",
                known ? human_percent(fraction).text : "an unknown part", names[direction]);
    }
    if (coverage->uncounted[DIRECTION_READ] || coverage->uncounted[DIRECTION_WRITE])
        fputs(", asynchronous I/O aside", out);
    fputs(coverage->known ? "\n" : " (what the kernel counted is not known)\n", out);
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        print_recorded(coverage, direction, out);
        for (unsigned reason = 0; reason < LEFT_OUT_COUNT; reason++) {
            print_part(out, "left out", direction, describe_left_out(reason), coverage->left_out[direction][reason]);
        }
        print_part(out, "left out", direction, COVERAGE_LOADING, coverage->loading[direction]);
        print_part(out, "unseen", direction, remainder, coverage_remainder(coverage, direction));
    }
    if (coverage->raw_rings) fprintf(out, "  %-8s %10s %-7s  %s\n", "unseen", "unknown", "", COVERAGE_RINGS);
    if (coverage->mappings) fprintf(out, "  %-8s %10s %-7s  %s\n", "unseen", "unknown", "", COVERAGE_MAPPINGS);
}

static void print_log(const struct info *info, FILE *out)
{
    const struct log_health *health = log_health(info->log);
    fprintf(out, "Log        %s", human_bytes(log_size_bytes(info->log)).text);
    if (info->argument->is_directory) fputs(", packed for this from the directory of spill files", out);
    if (!log_job(info->log)->complete) fputs(", incomplete: the end of the command was not seen", out);
    fputs(info_is_damaged(info) ? "\nDamage     " : ", no damage", out);
    int parts = describe_health(out, health);
    if (info->spill_damaged_bytes) {
        fprintf(out, "%s%s of its spill files could not be read", parts ? ", " : "",
                human_bytes(info->spill_damaged_bytes).text);
    }
    fputc('\n', out);
}

void info_text(const struct info *info, bool all, FILE *out)
{
    print_job(info, out);
    print_settings(info->log, out);
    print_processes(info, all, out);
    print_ranks(info, all, out);
    print_files(info, all, out);
    print_mpi_files(info, all, out);
    info_devices_text(info->log, out);
    print_events(info, out);
    print_coverage(info, out);
    print_log(info, out);
}
