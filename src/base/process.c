#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

bool process_start_guard(int *pipe_fd) {
    int ends[2];
    *pipe_fd = -1;
    if (pipe2(ends, O_CLOEXEC)) return false;
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0) _exit(0); // so that the guard is not our child
        setsid();
        signal(SIGPIPE, SIG_IGN); // nothing may read any more what the guard prints
        close(ends[1]);
        // A launcher considers a rank ended when some of its descriptors are closed: the guard must not hold them.
        if (ends[0] != GUARD_FD) dup2(ends[0], GUARD_FD);
        close_range(GUARD_FD + 1, ~0u, 0);
        *pipe_fd = GUARD_FD;
        return true;
    }
    close(ends[0]);
    if (between > 0) waitpid(between, NULL, 0);
    if (between > 0)
        *pipe_fd = ends[1];
    else
        close(ends[1]);
    return false;
}
