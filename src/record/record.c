#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "pack/log_writer.h"
#include "stack/recording.h"
#include "target/monitor/monitor.h"
#include "target/monitor/mount_watch.h"

void record_default_name(const char *command, char name[256]) {
    const char *slash = strrchr(command, '/');
    const char *program = slash && slash[1] ? slash + 1 : command;
    char moment[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(moment, sizeof moment, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    snprintf(name, 256, "%.128s-%s-%d.ioseer", program, moment, (int)getpid());
}

// The recorder gets the patterns one per line.
static int check_patterns(const struct option_list *patterns, const char *option, struct problem *problem) {
    for (size_t i = 0; i < patterns->count; i++) {
        if (strchr(patterns->item[i], '\n'))
            return problem_set(problem, ERR_USAGE, option, "a pattern with a line break");
    }
    return 0;
}

// What is recorded at the stack's file system must be recorded above it, even if that is in a system's folder.
static int check_stack(struct record_options *options, struct problem *problem) {
    if (!options->stack) return 0;
    char mount[PATH_MAX], *pattern = NULL;
    FORWARD(stack_recording_check(options->stack, mount, problem));
    RETURN_IF(asprintf(&pattern, "%s/*", mount) < 0, -ENOMEM);
    return array_push(options->include.item, options->include.count, pattern);
}

int record_check(struct record_options *options, struct problem *problem) {
    const char *path = options->log_path;
    FORWARD(check_patterns(&options->include, "--include", problem));
    FORWARD(check_patterns(&options->exclude, "--exclude", problem));
    FORWARD(check_patterns(&options->triggers.files, "--trace-file", problem));
    FORWARD(check_patterns(&options->triggers.programs, "--trace-program", problem));
    const char *ranks = options->triggers.ranks;
    if (ranks && !options_are_ranks(ranks))
        return problem_set(problem, ERR_USAGE, "--trace-rank", "%s is not a list of ranks, such as 0,4-7", ranks);
    if (options->ptrace && options->no_ptrace)
        return problem_set(problem, ERR_USAGE, "--ptrace", "not together with --no-ptrace");
    FORWARD(check_stack(options, problem));
    if (!*path) return problem_set(problem, ERR_USAGE, "-o", "the name is empty");
    if (path[strlen(path) - 1] == '/') return problem_set(problem, ERR_USAGE, path, "a directory, not a file");
    return pack_check_name(path, options->pack.replace, problem);
}

// The kernel's totals are complete only if every process was reaped and its counts could be read.
static void sum_chars(struct record_job *job, const struct record_run *run) {
    struct pack_job *about = &job->about;
    // Other ranks reaped their own, and processes that were joined are not ours.
    about->chars_known = run->all_reaped && !record_ranks_several(&job->ranks) && !about->joins;
    for (size_t i = 0; i < run->child_count; i++) {
        const struct pack_child *child = &run->children[i];
        if (!child->chars_known) about->chars_known = false;
        about->chars[0] += child->chars[0];
        about->chars[1] += child->chars[1];
    }
}

// Ranks that have a `record` each share the spill directory, and so one recording: they begin one after the other.
int record_begin_stack(const struct record_job *job, struct problem *problem) {
    enum { OTHERS_MS = 10000 };
    if (!job->options->stack || !job->spill_dir) return 0;
    int dir = open(job->spill_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) io_lock(dir, OTHERS_MS);
    int code = stack_recording_begin(job->options->stack, job->spill_dir, problem);
    if (dir >= 0) close(dir);
    return code;
}

static void collect_stack(const struct record_job *job, struct record_result *result) {
    if (job->options->stack) result->stack_failed = stack_recording_collect(job->spill_dir, &result->stack) < 0;
}

static void make_log(struct record_job *job, const struct record_run *run, struct record_result *result) {
    const struct record_options *options = job->options;
    job->about.start = run->start;
    job->about.children = run->children;
    job->about.child_count = run->child_count;
    collect_stack(job, result);
    result->packed = true;
    result->pack_code = pack_directory(&job->about, job->spill_dir, options->log_path, &options->pack, &result->log);
    if (result->pack_code == 0 && !options->keep_spill) result->remove_code = pack_remove_directory(job->spill_dir);
}

// Watches the machine's storage while the command runs: block devices and mounts. If each rank of a job has its own
// `record`, the first one on each host does so.
struct watch {
    int fd;                  // of the file in the spill directory that the packer will read; -1: nothing is watched
    struct monitor *monitor; // NULL: no block devices
    struct mount_watch mounts;
};

// -1 if another `record` on this host has made the file.
static int claim_file(const char *spill_dir, const char *host) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s" PACK_DEVICES_SUFFIX, spill_dir, host) < 0) return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    return fd;
}

// A kernel without statistics is no error.
static void start_watch(struct watch *watch, const struct record_job *job) {
    *watch = (struct watch){.fd = claim_file(job->spill_dir, job->host)};
    if (watch->fd < 0) return;
    if (!job->options->no_devices) monitor_start(&watch->monitor, NULL);
    mount_watch_start(&watch->mounts, "/proc/self/mountinfo", "/proc/self/mountstats");
}

static void stop_watch(struct watch *watch, const char *host) {
    if (watch->fd < 0) return;
    struct bytes records = {0};
    if (watch->monitor) monitor_stop(watch->monitor, host, &records);
    mount_watch_stop(&watch->mounts, host, &records);
    io_write_all(watch->fd, records.data, records.len); // the packer skips incomplete records
    bytes_free(&records);
    close(watch->fd);
}

static int run_recorded(struct record_job *job, struct record_result *result) {
    struct record_run run;
    struct watch watch;
    bool shared = record_ranks_several(&job->ranks);
    start_watch(&watch, job);
    int code = record_run_command(&run, &job->plan);
    stop_watch(&watch, job->host);
    bool joined = WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
    if (job->about.joins && code == 0 && !run.exec_error && !joined)
        run.exec_error = WIFEXITED(run.status) ? WEXITSTATUS(run.status) : EINTR;
    result->exec_error = run.exec_error;
    result->status = run.status;
    bool packs = !shared || record_ranks_finish(&job->ranks, job->spill_dir, &run, job->options->wait_seconds);
    if (packs && job->plan.guard) record_guard_tell(job->plan.guard, GUARD_PACKING, 0);
    if (packs && (code < 0 || run.exec_error)) {
        collect_stack(job, result);
        pack_remove_directory(job->spill_dir);
    } else if (packs) {
        if (shared) record_ranks_gather(&job->ranks, job->spill_dir, &run);
        job->about.complete = true;
        job->about.status = run.status;
        job->about.end = run.end;
        sum_chars(job, &run);
        make_log(job, &run, result);
    }
    record_run_free(&run);
    return code;
}

// Whether a killed `record` completed its log.
static bool log_is_there(const struct record_options *options, const struct record_guard *guard) {
    log_writer_remove_unfinished(options->log_path, guard->record);
    return !options->pack.replace && access(options->log_path, F_OK) == 0;
}

// In the guard: completes the work of the killed `record`.
static void take_over(struct record_job *job, const struct record_guard *guard, struct record_result *result) {
    struct record_run run = {0};
    double wait_seconds = job->options->wait_seconds;
    record_guard_await_command(guard, wait_seconds);
    if (guard->packing && log_is_there(job->options, guard)) {
        if (!job->options->keep_spill) pack_remove_directory(job->spill_dir);
    } else if (guard->packing || record_ranks_finish(&job->ranks, job->spill_dir, &run, wait_seconds)) {
        record_ranks_gather(&job->ranks, job->spill_dir, &run);
        make_log(job, &run, result);
    }
    record_run_free(&run);
}

int record_command(struct record_job *job, struct record_result *result) {
    *result = (struct record_result){0};
    struct record_guard guard = {.fd = -1};
    if (!job->spill_dir) {
        struct record_run run;
        int code = record_run_command(&run, &job->plan);
        result->exec_error = run.exec_error;
        result->status = run.status;
        record_run_free(&run);
        return code;
    }
    if (record_ranks_several(&job->ranks)) {
        result->is_guard = record_guard_start(&guard);
        if (result->is_guard) {
            take_over(job, &guard, result);
            return 0;
        }
        job->plan.guard = &guard;
    }
    int code = run_recorded(job, result);
    record_guard_tell(&guard, GUARD_DONE, 0);
    return code;
}
