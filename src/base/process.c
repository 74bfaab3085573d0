#include "base/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GUARD_FD = 3 };

static FILE *open_file(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

bool process_stat(pid_t pid, struct process_stat *stat) {
    char line[1024] = "";
    FILE *file = open_file(pid, "stat");
    if (!file) return false;
    size_t len = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[len] = 0;
    // The program's name, in parentheses, may hold any character; the rest follows the last parenthesis.
    const char *rest = strrchr(line, ')');
    return rest && sscanf(rest, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                          &stat->state, &stat->parent, &stat->start_ticks) == 3;
}

bool process_chars(pid_t pid, uint64_t chars[2]) {
    FILE *file = open_file(pid, "io");
    if (!file) return false;
    bool known = fscanf(file, "rchar: %" SCNu64 " wchar: %" SCNu64, &chars[0], &chars[1]) == 2;
    fclose(file);
    return known;
}

bool process_is_running(pid_t pid) {
    struct process_stat stat;
    return process_stat(pid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

bool process_start_guard(int *guard_fd) {
    int ends[2];
    *guard_fd = -1;
    // Not a pipe: a write to one without a reader can kill the process.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
    pid_t between = fork();
    if (between == 0) {
        pid_t guard = fork();
        if (guard != 0) _exit(guard < 0); // so that the guard is not our child
        setsid();
        signal(SIGPIPE, SIG_IGN); // nothing may read any more what the guard prints
        close(ends[1]);
        // A launcher considers a rank ended when some of its descriptors are closed: the guard must not hold them.
        if (ends[0] != GUARD_FD) dup2(ends[0], GUARD_FD);
        close_range(GUARD_FD + 1, ~0u, 0);
        *guard_fd = GUARD_FD;
        return true;
    }
    close(ends[0]);
    int status = between < 0; // and 0 where the caller ignores SIGCHLD: the guard may be there
    while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
    if (status == 0)
        *guard_fd = ends[1];
    else
        close(ends[1]);
    return false;
}

void process_tell_guard(int guard_fd, const void *message, size_t len) {
    if (guard_fd >= 0) send(guard_fd, message, len, MSG_NOSIGNAL); // an error means that there is no guard any more
}
