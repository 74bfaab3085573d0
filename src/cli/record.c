// ioseer record: runs a command and leaves a log of what it and its descendants did to files.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/settings.h"
#include "cli/pack_report.h"
#include "cli/verb.h"
#include "pack/log_writer.h"
#include "record/devices.h"
#include "record/guard.h"
#include "record/job.h"
#include "record/run.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

static struct record_options options = {
    .wait_seconds = 2,
    .trace_cap_bytes = SETTING_DEFAULT_TRACE_CAP,
    .file_cap = SETTING_DEFAULT_FILE_CAP,
};

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "LOG", "name of the log (default: PROGRAM-DATE-TIME-PID.ioseer)"},
    {"force", 0, OPTION_FLAG, &options.force, NULL, "overwrite LOG"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print nothing of ioseer's own"},
    {"wait", 0, OPTION_DURATION, &options.wait_seconds, "DURATION",
     "how long to wait for processes that outlive COMMAND (default: 2s)"},
    {"include", 0, OPTION_LIST, &options.include, "GLOB", "record these files even where they are left out by default"},
    {"exclude", 0, OPTION_LIST, &options.exclude, "GLOB", "leave these files out"},
    {"trace-cap", 0, OPTION_SIZE, &options.trace_cap_bytes, "SIZE",
     "trace of one process; counters go on beyond it (default: 256M)"},
    {"no-trace", 0, OPTION_FLAG, &options.no_trace, NULL, "keep counters only"},
    {"file-cap", 0, OPTION_NUMBER, &options.file_cap, "N",
     "files of one process that have a record of their own (default: 16384)"},
    {"callsites", 0, OPTION_FLAG, &options.callsites, NULL, "note the source line of the calls"},
    {"no-devices", 0, OPTION_FLAG, &options.no_devices, NULL, "do not watch the devices under the files"},
    {"keep-spill", 0, OPTION_FLAG, &options.keep_spill, NULL, "do not remove the spill files once LOG is there"},
    {"env", 0, OPTION_LIST, &options.env, "NAME", "store the value of this environment variable"},
    {0},
};

// PROGRAM-YYYYmmdd-HHMMSS-PID.ioseer in the current directory.
static char *default_log_name(const char *command)
{
    const char *slash = strrchr(command, '/');
    const char *program = slash && slash[1] ? slash + 1 : command;
    char moment[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(moment, sizeof moment, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    char *name;
    return asprintf(&name, "%.128s-%s-%d.ioseer", program, moment, (int)getpid()) < 0 ? NULL : name;
}

// Before the command runs: afterwards it would be too late to choose another name.
static int check_output(const char *log_path)
{
    struct stat there;
    size_t len = strlen(log_path);
    if (len == 0) return cli_usage("record", "-o", "the name is empty");
    if (log_path[len - 1] == '/') return cli_usage("record", log_path, "a directory, not a file");
    if (lstat(log_path, &there)) return STATUS_OK;
    if (!options.force) {
        fprintf(stderr, "ioseer record: %s: is there already; --force overwrites it\n", log_path);
        return STATUS_FAILURE;
    }
    if (S_ISREG(there.st_mode) || S_ISLNK(there.st_mode)) return STATUS_OK;
    fprintf(stderr, "ioseer record: %s: not a regular file\n", log_path);
    return STATUS_FAILURE;
}

// The recorder gets them one a line.
static int check_patterns(const char *option, const struct option_list *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (strchr(patterns->item[i], '\n')) return cli_usage("record", option, "a pattern with a line break");
    }
    return STATUS_OK;
}

static int command_status(int status)
{
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int exec_failed(const char *command, int error)
{
    cli_fail("record", command, -error);
    return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

// The kernel's totals are complete only where everybody was reaped and could be read.
static void sum_chars(const struct record_job *job, struct pack_job *about, const struct record_run *run)
{
    about->chars_known = run->all_reaped && !record_ranks_several(&job->ranks); // the others reaped their own
    for (size_t i = 0; i < run->child_count; i++) {
        const struct pack_child *child = &run->children[i];
        if (!child->chars_known) about->chars_known = false;
        about->chars[0] += child->chars[0];
        about->chars[1] += child->chars[1];
    }
}

static void describe_run(struct record_job *job, const struct record_run *run)
{
    struct pack_job *about = &job->about;
    about->complete = true;
    about->status = run->status;
    about->start = run->start;
    about->end = run->end;
    about->children = run->children;
    about->child_count = run->child_count;
    sum_chars(job, about, run);
}

static void make_log(const struct record_job *job, const char *log_path)
{
    const struct pack_job *about = &job->about;
    struct pack_result result;
    int code = pack_with_progress(about, job->spill_dir, log_path, options.force, options.quiet, &result);
    if (code < 0) {
        // What was recorded is still there, and may be packed elsewhere.
        if (options.quiet) return;
        fprintf(stderr, "ioseer record: %s: %s; 'ioseer pack %s -o LOG' makes the log elsewhere\n", log_path,
                err_text(code), job->spill_dir);
        return;
    }
    if (!options.quiet) pack_print_result(log_path, about->command[0], &result);
    code = options.keep_spill ? 0 : pack_remove_directory(job->spill_dir);
    if (code < 0 && !options.quiet) cli_fail("record", job->spill_dir, code);
}

// Whatever keeps ioseer from recording is no reason for the command not to run.
static int run_unrecorded(char **command, const char *problem, sighandler_t file_limit)
{
    if (!options.quiet) fprintf(stderr, "ioseer record: %s; the command runs unrecorded\n", problem);
    struct record_plan plan = {.command = command, .environment = environ, .file_limit = file_limit};
    struct record_run run;
    int code = record_run(&run, &plan);
    int status = run.exec_error ? exec_failed(command[0], run.exec_error) : command_status(run.status);
    record_run_free(&run);
    return code < 0 ? cli_fail("record", command[0], code) : status;
}

// Whether the log that a killed `record` had begun to make is there in spite of it.
static bool was_made(const char *log_path, const struct record_guard *guard)
{
    log_writer_remove_unfinished(log_path, guard->record);
    return !options.force && access(log_path, F_OK) == 0;
}

// What is left to do where the launcher has killed the `record` that we are the guard of.
static void stand_in(struct record_job *job, const struct record_guard *guard, const char *log_path)
{
    struct record_run run = {0};
    record_guard_await_command(guard, options.wait_seconds);
    if (guard->packing && was_made(log_path, guard)) {
        if (!options.keep_spill) pack_remove_directory(job->spill_dir);
    } else if (guard->packing || record_ranks_finish(&job->ranks, job->spill_dir, &run, options.wait_seconds)) {
        record_ranks_gather(&job->ranks, job->spill_dir, &run);
        job->about.start = run.start;
        job->about.children = run.children;
        job->about.child_count = run.child_count;
        make_log(job, log_path);
    }
    record_run_free(&run);
}

static int run_recorded(struct record_job *job, const struct record_plan *plan, const char *log_path)
{
    struct record_run run;
    struct record_devices devices;
    record_devices_start(&devices, options.no_devices ? NULL : job->spill_dir, job->host);
    int code = record_run(&run, plan);
    record_devices_stop(&devices, job->host);
    int status = command_status(run.status);
    bool shared = record_ranks_several(&job->ranks);
    bool packs = !shared || record_ranks_finish(&job->ranks, job->spill_dir, &run, options.wait_seconds);
    if (packs && plan->guard) record_guard_tell_packing(plan->guard);
    if (code < 0 || run.exec_error) {
        if (packs) pack_remove_directory(job->spill_dir);
        status = code < 0 ? cli_fail("record", plan->command[0], code) : exec_failed(plan->command[0], run.exec_error);
    } else if (packs) {
        if (shared) record_ranks_gather(&job->ranks, job->spill_dir, &run);
        describe_run(job, &run);
        make_log(job, log_path);
    }
    record_run_free(&run);
    return status;
}

// One of several ranks that make one log together.
static int run_as_rank(struct record_job *job, struct record_plan *plan, const char *log_path)
{
    struct record_guard guard;
    if (record_guard_start(&guard)) {
        stand_in(job, &guard, log_path);
        return STATUS_OK;
    }
    plan->guard = &guard;
    int status = run_recorded(job, plan, log_path);
    record_guard_dismiss(&guard);
    return status;
}

static int run(int argc, char **argv)
{
    if (argc < 2) return cli_usage("record", "COMMAND", "is missing");
    char **command = argv + 1;
    int status = check_patterns("--include", &options.include);
    if (status == STATUS_OK) status = check_patterns("--exclude", &options.exclude);
    if (status != STATUS_OK) return status;
    char *log_path = options.output ? strdup(options.output) : default_log_name(command[0]);
    if (!log_path) return cli_fail("record", command[0], -ENOMEM);
    status = check_output(log_path);
    if (status == STATUS_OK) {
        // Where a file may not grow, writing should fail and be seen, not kill: the command is still to run.
        sighandler_t file_limit = signal(SIGXFSZ, SIG_IGN);
        struct record_job job;
        char problem[512];
        if (record_job_prepare(&job, &options, log_path, command, problem) < 0) {
            status = run_unrecorded(command, problem, file_limit);
        } else {
            struct record_plan plan = {.command = command,
                                       .environment = job.environment,
                                       .wait_seconds = options.wait_seconds,
                                       .file_limit = file_limit};
            bool is_rank = record_ranks_several(&job.ranks);
            status = is_rank ? run_as_rank(&job, &plan, log_path) : run_recorded(&job, &plan, log_path);
            record_job_free(&job);
        }
    }
    free(log_path);
    return status;
}

const struct verb verb_record = {
    .name = "record",
    .summary = "run a command and record its I/O in a log",
    .usage = "[OPTION]... [--] COMMAND [ARG]...",
    .about = "Runs COMMAND and records what it and all its descendants do to files in LOG.\n"
             "The exit status is the command's (128 + n where signal n ended it).",
    .options = rows,
    .command_follows = true,
    .run = run,
};
