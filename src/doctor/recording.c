// The checks that count: the library can be loaded, and ioseer records itself writing a file, and
// finds the bytes in the log.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/private_file.h"
#include "base/settings.h"
#include "doctor/doctor.h"
#include "log/describe.h"
#include "log/iter.h"
#include "record/job.h"

struct trial {
    char folder[PATH_MAX];
    char log[PATH_MAX + 16];
    char file[PATH_MAX + 16]; // what the recorded program writes
    char messages[PATH_MAX + 16];
};

static int trial_prepare(struct trial *trial)
{
    const char *base = getenv("TMPDIR");
    char pattern[PATH_MAX];
    int len = snprintf(pattern, sizeof pattern, "%s/ioseer-doctor-XXXXXX", base && *base ? base : "/tmp");
    RETURN_IF(len >= (int)sizeof pattern, -ENAMETOOLONG);
    RETURN_IF(!mkdtemp(pattern), -errno);
    // Files are recorded under the names that the kernel gives them.
    RETURN_IF(!realpath(pattern, trial->folder), -errno);
    snprintf(trial->log, sizeof trial->log, "%s/log", trial->folder);
    snprintf(trial->file, sizeof trial->file, "%s/file", trial->folder);
    snprintf(trial->messages, sizeof trial->messages, "%s/messages", trial->folder);
    return 0;
}

static void trial_remove(const struct trial *trial)
{
    unlink(trial->log);
    unlink(trial->file);
    unlink(trial->messages);
    rmdir(trial->folder);
}

// Runs a command with its output in the trial's file of messages; returns its wait status or -errno.
static int run_quietly(const struct trial *trial, char **arguments, char **environment)
{
    pid_t pid = fork();
    RETURN_IF(pid < 0, -errno);
    if (pid == 0) {
        int messages = open(trial->messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int nowhere = open("/dev/null", O_WRONLY);
        if (messages >= 0) dup2(messages, STDERR_FILENO);
        if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
        execve(arguments[0], arguments, environment);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) RETURN_IF(errno != EINTR, -errno);
    return status;
}

// ioseer records itself as it writes the list of calls to a file.
static int trial_record(struct trial *trial)
{
    char self[PATH_MAX];
    FORWARD(private_file_program(self));
    char *arguments[] = {self, "record", "-q",      "-o", trial->log,  "--",
                         self, "doctor", "--calls", "-o", trial->file, NULL};
    return run_quietly(trial, arguments, environ);
}

static int count_written(const struct trial *trial, uint64_t *bytes, uint64_t *events)
{
    struct log *log;
    struct log_iter *iter;
    const struct log_filter filter = {0};
    const struct log_event *event;
    FORWARD(log_open(&log, trial->log));
    int code = log_iter_open(&iter, log, &filter);
    if (code == 0) {
        while ((code = log_iter_next(iter, &event)) > 0) {
            ++*events;
            // The file is written beside its place, under a longer name.
            bool ours = event->file && !strncmp(event->file->name, trial->file, strlen(trial->file)) &&
                        event->call->class == CLASS_WRITE;
            if (ours && event->raw.has_result && event->raw.result > 0) *bytes += (uint64_t)event->raw.result;
        }
        log_iter_close(iter);
    }
    log_close(log);
    return code;
}

// The first line that the trial printed, for the detail.
static void first_message(const struct trial *trial, char *line, size_t size)
{
    FILE *in = fopen(trial->messages, "r");
    if (!in || !fgets(line, (int)size, in)) snprintf(line, size, "no message");
    if (in) fclose(in);
    line[strcspn(line, "\n")] = 0;
}

static void trial_judge(struct check *check, struct trial *trial)
{
    const char *fix = "run `ioseer record -o test.ioseer -- true` and see what it says";
    int status = trial_record(trial);
    uint64_t bytes = 0;
    uint64_t events = 0;
    struct stat st;
    if (status < 0) {
        check_fails(check, fix, "cannot start: %s", err_text(status));
    } else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        char line[256];
        first_message(trial, line, sizeof line);
        check_fails(check, fix, "recording failed: %s", line);
    } else if (stat(trial->file, &st)) {
        check_fails(check, fix, "the recorded program did not write its file");
    } else if ((status = count_written(trial, &bytes, &events)) < 0) {
        check_fails(check, fix, "the log cannot be read: %s", err_text(status));
    } else if (bytes != (uint64_t)st.st_size) {
        check_fails(check, "the library was not loaded into the program, or did not see it all",
                    "%" PRIu64 " of %lld bytes written were recorded", bytes, (long long)st.st_size);
    } else {
        check_passes(check, "a trial gave %s and all %s written", human_count(events, "event").text,
                     human_bytes(bytes).text);
    }
}

// The loader says on standard error what it cannot preload, and goes on without.
static void library_judge(struct check *check, const struct trial *trial, char **environment)
{
    char self[PATH_MAX];
    char *arguments[] = {self, "--version", NULL};
    char line[256];
    const char *library = NULL;
    for (char **variable = environment; *variable; variable++) {
        if (!strncmp(*variable, SETTING_LIBRARY "=", strlen(SETTING_LIBRARY "="))) library = strchr(*variable, '=') + 1;
    }
    int status = private_file_program(self);
    if (status == 0) status = run_quietly(trial, arguments, environment);
    first_message(trial, line, sizeof line);
    if (status == 0 && library && !strstr(line, "LD_PRELOAD")) {
        check_passes(check, "%s can be loaded", library);
    } else {
        check_fails(check, "build or install ioseer again", "cannot be loaded: %s", line);
    }
}

void doctor_library(struct check *check)
{
    struct trial trial = {0};
    struct record_job job;
    const struct record_options defaults = {.log_path = trial.log};
    char *command[] = {"ioseer", NULL};
    struct problem problem = {0};
    int code = trial_prepare(&trial);
    if (code == 0) code = record_job_prepare(&job, &defaults, command, &problem);
    if (code < 0) {
        check_fails(check, "build or install ioseer again", "%s%s%s", problem.what, *problem.what ? ": " : "",
                    *problem.why ? problem.why : err_text(code));
    } else {
        library_judge(check, &trial, job.plan.environment);
        pack_remove_directory(job.spill_dir);
        record_job_free(&job);
    }
    trial_remove(&trial);
}

void doctor_recording(struct check *check)
{
    struct trial trial = {0};
    int code = trial_prepare(&trial);
    if (code < 0) {
        check_fails(check, "set TMPDIR to a directory that can be written", "no room for a trial: %s", err_text(code));
        return;
    }
    trial_judge(check, &trial);
    trial_remove(&trial);
}
