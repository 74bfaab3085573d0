#include "doctor/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/locate.h"

static int make_folder(struct trial *trial) {
    const char *base = getenv("TMPDIR");
    char pattern[PATH_MAX];
    int len = snprintf(pattern, sizeof pattern, "%s/ioseer-doctor-XXXXXX", base && *base ? base : "/tmp");
    RETURN_IF(len >= (int)sizeof pattern, -ENAMETOOLONG);
    FORWARD(locate_ioseer(trial->ioseer));
    RETURN_IF(!mkdtemp(pattern), -errno);
    // Files are recorded under the names that the kernel gives them.
    RETURN_IF(!realpath(pattern, trial->folder), -errno);
    snprintf(trial->log, sizeof trial->log, "%s/log", trial->folder);
    snprintf(trial->file, sizeof trial->file, "%s/file", trial->folder);
    snprintf(trial->messages, sizeof trial->messages, "%s/messages", trial->folder);
    return 0;
}

bool trial_prepare(struct trial *trial, struct doctor_check *check) {
    int code = make_folder(trial);
    if (code == 0) return true;
    doctor_fail(check, "set TMPDIR to a directory that can be written", "no room for a trial: %s", err_text(code));
    return false;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *where) {
    (void)about, (void)type, (void)where;
    remove(path);
    return 0;
}

void trial_remove(const struct trial *trial) {
    nftw(trial->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

// Returns the wait status of a command, or -errno.
static int wait_for(pid_t pid) {
    const double grace_seconds = 2;
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    double start = clock_seconds();
    int status, sent = 0;
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid) return sent ? -ETIMEDOUT : status;
        RETURN_IF(ended < 0 && errno != EINTR, -errno);
        double waited = clock_seconds() - start;
        int signal_number = waited > TRIAL_SECONDS + grace_seconds ? SIGKILL : waited > TRIAL_SECONDS ? SIGTERM : 0;
        if (signal_number != sent) kill(-pid, sent = signal_number);
        nanosleep(&pause, NULL);
    }
}

int trial_run(const struct trial *trial, char **arguments, char **environment) {
    pid_t pid = fork();
    RETURN_IF(pid < 0, -errno);
    if (pid == 0) {
        setpgid(0, 0);
        int messages = open(trial->messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int nowhere = open("/dev/null", O_RDWR);
        if (nowhere >= 0) dup2(nowhere, STDIN_FILENO), dup2(nowhere, STDOUT_FILENO);
        if (messages >= 0) dup2(messages, STDERR_FILENO);
        execve(arguments[0], arguments, environment);
        _exit(127);
    }
    return wait_for(pid);
}

void trial_message(const struct trial *trial, char line[256]) {
    if (!io_first_line(trial->messages, line, 256)) strcpy(line, "no message");
}
