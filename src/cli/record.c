// `ioseer record`: runs a command and makes a log of what it and its descendants did to files.
#include "record/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/settings.h"
#include "base/text_list.h"
#include "cli/option_rows.h"
#include "cli/pack_report.h"
#include "cli/verb.h"
#include "live/jobs.h"
#include "record/join.h"

static bool quiet;
static struct record_options options = {
    .wait_seconds = 2,
    .trace_cap_bytes = SETTING_DEFAULT_TRACE_CAP,
    .file_cap = SETTING_DEFAULT_FILE_CAP,
};

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.log_path, "LOG",
     "name of the log (default: PROGRAM-DATE-TIME-PID.ioseer in the current directory)"},
    ROW_FORCE(&options.pack.replace),
    ROW_QUIET(&quiet, "suppress ioseer's own messages"),
    {"wait", 0, OPTION_DURATION, &options.wait_seconds, "DURATION",
     "how long to wait for processes that outlive COMMAND (default: 2s)"},
    {"include", 0, OPTION_LIST, &options.include, "GLOB",
     "record these files even if they are left out by default (repeatable)"},
    {"exclude", 0, OPTION_LIST, &options.exclude, "GLOB", "do not record these files (repeatable)"},
    {"trace-cap", 0, OPTION_SIZE, &options.trace_cap_bytes, "SIZE",
     "limit the trace of each process to SIZE; beyond it, keep only counters (default: 256M)"},
    {"no-trace", 0, OPTION_FLAG, &options.no_trace, NULL, "keep only counters, no trace"},
    {"file-cap", 0, OPTION_NUMBER, &options.file_cap, "N",
     "limit the number of files per process that are recorded by name; others by directory (default: 16384)"},
    {"trace-file", 0, OPTION_LIST, &options.triggers.files, "GLOB", "trace calls on these files only (repeatable)"},
    {"trace-program", 0, OPTION_LIST, &options.triggers.programs, "GLOB",
     "trace programs with these paths only (repeatable)"},
    {"trace-rank", 0, OPTION_TEXT, &options.triggers.ranks, "RANKS",
     "trace these ranks of MPI only, from MPI_Init on: 0,4-7"},
    {"trace-smaller", 0, OPTION_SIZE, &options.triggers.smaller_bytes, "SIZE",
     "trace reads and writes of fewer bytes, and calls around them"},
    {"trace-slower", 0, OPTION_DURATION, &options.triggers.slower_seconds, "DURATION",
     "trace calls that take at least this long, and calls around them"},
    {"trace-from", 0, OPTION_DURATION, &options.triggers.from_seconds, "DURATION",
     "trace only from this time after the start"},
    {"trace-for", 0, OPTION_DURATION, &options.triggers.for_seconds, "DURATION", "trace only for this long"},
    {"layers", 0, OPTION_CHOICES, &options.layers, "hdf5|netcdf|pnetcdf|mpiio|stdio|posix",
     "record only the calls of these layers, and calls around them (default: all)"},
    {"classes", 0, OPTION_CHOICES, &options.classes, "read|write|open|close|sync|seek|meta",
     "record only calls of these classes, and calls around them (default: all)"},
    {"callsites", 0, OPTION_FLAG, &options.callsites, NULL, "record the source line of each call"},
    {"no-devices", 0, OPTION_FLAG, &options.no_devices, NULL,
     "do not record statistics of the block devices under the files"},
    {"no-ptrace", 0, OPTION_FLAG, &options.no_ptrace, NULL,
     "do not follow programs that the recorder cannot be loaded into (static ones)"},
    {"ptrace", 0, OPTION_FLAG, &options.ptrace, NULL,
     "follow every program with ptrace instead of loading the recorder: for system calls that bypass the C library"},
    {"pid", 0, OPTION_LIST, &options.pids, "PID",
     "join this running process instead of running a command (repeatable)"},
    {"for", 0, OPTION_DURATION, &options.for_seconds, "DURATION", "with --pid: leave the process after this time"},
    {"keep-spill", 0, OPTION_FLAG, &options.keep_spill, NULL, "keep the spill files after LOG is written"},
    {"stack", 0, OPTION_TEXT, &options.stack, "NAME",
     "also record what this stack's file system does for each call (see ioseer stack)"},
    {"env", 0, OPTION_LIST, &options.env, "NAME", "store the value of this environment variable (repeatable)"},
    {0},
};

static void print_delay(const char *command, pid_t pid, int signal) {
    cli_warn("record", "%s: still runs after SIG%s; 'kill -KILL %d' ends it, and the log is made all the same", command,
             sigabbrev_np(signal), (int)pid);
}

static void print_stack_problem(const struct problem *problem, const char *therefore) {
    cli_warn("record", "--stack: %s%s%s; %s", problem->what, *problem->what ? ": " : "", problem->why, therefore);
}

static void print_result(const struct record_job *job, const struct record_result *result) {
    pack_report_clear();
    if (result->stack_failed && !quiet) print_stack_problem(&result->stack, "the log does not have its layers");
    if (!result->packed || quiet) return;
    if (result->pack_code < 0) {
        cli_warn("record", "%s: %s; 'ioseer pack %s -o LOG' makes the log elsewhere", options.log_path,
                 err_text(result->pack_code), job->spill_dir);
        return;
    }
    pack_report_result(options.log_path, job->about.command[0], &result->log);
    if (result->remove_code < 0) cli_fail("record", job->spill_dir, result->remove_code);
}

static enum status exit_status(const char *command, const struct record_result *result, int code) {
    if (code < 0) return cli_fail("record", command, code);
    if (result->is_guard) return STATUS_OK;
    if (result->exec_error && options.pids.count) {
        struct problem problem = {0};
        code = record_join_why(&options.pids, result->exec_error, &problem);
        return cli_problem("record", command, &problem, code);
    }
    if (result->exec_error) {
        cli_fail("record", command, -result->exec_error);
        return result->exec_error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    }
    int status = result->status;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum status record(char **command) {
    char name[256];
    struct record_job job;
    struct record_result result;
    struct problem problem = {0};
    record_default_name(command[0], name);
    if (!options.log_path) options.log_path = name;
    int code = record_check(&options, &problem);
    if (code < 0) return cli_problem("record", options.log_path, &problem, code);
    pack_report_progress(&options.pack, quiet);
    if (!quiet) options.still_runs = print_delay;
    // The command runs even if it cannot be recorded.
    code = record_job_prepare(&job, &options, command, &problem);
    if (code < 0 && options.pids.count) return cli_problem("record", command[0], &problem, code);
    if (code < 0 && !quiet) {
        cli_warn("record", "%s%s%s; the command runs unrecorded", problem.what, *problem.what ? ": " : "", problem.why);
    }
    if (job.is_outdated && !quiet)
        cli_warn("record", "%s: linked with another version of ioseer; link it again", command[0]);
    // The same holds for the stack.
    if (record_begin_stack(&job, &problem) < 0 && !quiet)
        print_stack_problem(&problem, "the log will not have its layers");
    code = record_command(&job, &result);
    print_result(&job, &result);
    record_job_free(&job);
    return exit_status(command[0], &result, code);
}

// --- processes that run already

static enum status look_at_processes(struct text_list *command) {
    struct problem problem = {0};
    struct live_jobs jobs;
    int code = live_jobs_find(&jobs);
    for (size_t i = 0; i < options.pids.count && code >= 0; i++) {
        const char *pid = options.pids.item[i];
        if (live_jobs_of_process(&jobs, (uint32_t)strtoul(pid, NULL, 10)))
            code = problem_set(&problem, ERR_EXISTS, pid, "is recorded already; 'ioseer top %s' shows it", pid);
    }
    live_jobs_free(&jobs);
    if (code >= 0) code = record_join_look(&options.pids, command, &problem);
    return code < 0 ? cli_problem("record", options.pids.item[0], &problem, code) : STATUS_OK;
}

static enum status join_processes(struct text_list *command) {
    enum status status = look_at_processes(command);
    if (status != STATUS_OK) return status;
    if (options.no_ptrace || options.stack || options.callsites)
        return cli_usage("record", "--pid", "not together with --no-ptrace, --stack or --callsites");
    options.ptrace = true;
    if (!quiet) fprintf(stderr, "ioseer record: joining %s; Ctrl-C leaves it\n", options.pids.item[0]);
    return record(command->text);
}

static enum status run(int argc, char **argv) {
    struct text_list command = {0};
    if (options.pids.count && argc > 1) return cli_usage("record", argv[1], "no COMMAND is run with --pid");
    if (options.for_seconds && !options.pids.count) return cli_usage("record", "--for", "only with --pid");
    if (!options.pids.count && argc < 2) return cli_usage("record", "COMMAND", "is missing");
    enum status status = options.pids.count ? join_processes(&command) : record(argv + 1);
    text_list_free(&command);
    return status;
}

const struct verb verb_record = {
    .name = "record",
    .summary = "run a command and record its I/O in a log",
    .usage = "[OPTION]... [--] COMMAND [ARG]...\n"
             "[OPTION]... --pid PID",
    .about =
        "Runs COMMAND and records in LOG what it and all its descendants do to files.\n"
        "The exit status is the command's (128 + n if signal n ended it). With --pid, records a process that runs\n"
        "already, with all its threads and what it starts, until it ends or Ctrl-C leaves it.",
    .options = rows,
    .command_follows = true,
    .run = run,
};
