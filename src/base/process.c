#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

enum { GUARD_FD = 3, TEXT_ROOM = 1024 };

// The length of the text; negative if the file cannot be read.
static ssize_t read_file(const char *folder, pid_t id, const char *name, char text[TEXT_ROOM]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s%d/%s", folder, (int)id, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t len = read(fd, text, TEXT_ROOM - 1);
    int error = errno;
    close(fd);
    errno = error;
    text[len < 0 ? 0 : len] = 0;
    return len;
}

bool process_stat(pid_t pid, struct process_stat *stat) {
    char line[TEXT_ROOM];
    if (read_file("", pid, "stat", line) < 0) return false;
    // The program's name, in parentheses, may hold any character; the rest follows the last parenthesis.
    const char *rest = strrchr(line, ')');
    return rest && sscanf(rest, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                          &stat->state, &stat->parent, &stat->start_ticks) == 3;
}

uint64_t process_start_ticks(pid_t pid) {
    struct process_stat stat;
    return process_stat(pid, &stat) ? stat.start_ticks : 0;
}

// The length of what was read, which the kernel counts, too; 0 if it cannot be read.
static uint64_t read_chars(const char *folder, pid_t id, uint64_t chars[2]) {
    char text[TEXT_ROOM];
    ssize_t len = read_file(folder, id, "io", text);
    if (len < 0) return 0;
    return sscanf(text, "rchar: %" SCNu64 " wchar: %" SCNu64, &chars[0], &chars[1]) == 2 ? (uint64_t)len : 0;
}

// The bytes of all children that were reaped: the kernel adds them to the process, and to none of its threads.
static bool reaped_chars(uint64_t chars[2]) {
    uint64_t read_since = read_chars("", getpid(), chars);
    DIR *threads = read_since ? opendir("/proc/self/task") : NULL;
    if (!threads) return false;
    for (const struct dirent *entry; (entry = readdir(threads));) {
        uint64_t own[2];
        pid_t thread = atoi(entry->d_name);
        uint64_t len = thread ? read_chars("self/task/", thread, own) : 0;
        if (!len) continue; // also "." and ".."
        own[0] -= thread == gettid() ? read_since : 0;
        if (own[0] > chars[0] || own[1] > chars[1]) { // a thread has read or written in the meantime
            closedir(threads);
            return false;
        }
        chars[0] -= own[0];
        chars[1] -= own[1];
        read_since += len;
    }
    closedir(threads);
    return true;
}

bool process_reap(pid_t pid, int *status, uint64_t chars[2], bool *chars_known) {
    uint64_t before[2];
    bool visible = read_chars("", pid, chars);
    bool counts = !visible && reaped_chars(before);
    if (waitpid(pid, status, __WALL) != pid) return false;
    *chars_known = visible || (counts && reaped_chars(chars));
    for (int i = 0; counts && i < 2; i++) chars[i] = chars[i] > before[i] ? chars[i] - before[i] : 0;
    return true;
}

bool process_is_running(pid_t pid) {
    struct process_stat stat;
    return process_stat(pid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

sigset_t process_ending_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

int process_enter_group(const char *procs) { return procs ? io_write_text(procs, "0") : 0; }

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
