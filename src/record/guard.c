#include "record/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

enum { GUARD_FD = 3 };

struct message {
    enum record_guard_message kind;
    pid_t command;
};

void record_guard_tell(struct record_guard *guard, enum record_guard_message kind, pid_t command)
{
    struct message message = {kind, command};
    if (guard->pipe_fd < 0) return;
    // A pipe takes a few bytes as a whole. An error means that there is no guard any more.
    ssize_t ignored = write(guard->pipe_fd, &message, sizeof message);
    (void)ignored;
    if (kind != GUARD_DONE) return;
    close(guard->pipe_fd);
    guard->pipe_fd = -1;
}

// Reads until the other end is closed, by `record` or by its death.
static void read_messages(struct record_guard *guard)
{
    struct message message;
    for (;;) {
        ssize_t got = read(GUARD_FD, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof message) return;
        if (message.kind == GUARD_COMMAND) guard->command = message.command;
        if (message.kind == GUARD_PACKING) guard->packing = true;
        if (message.kind == GUARD_DONE) _exit(0);
    }
}

// The launcher takes a rank for ended when some of its descriptors are closed: the guard must not hold them.
static void keep_only(int fd)
{
    if (fd != GUARD_FD) dup2(fd, GUARD_FD);
    close_range(GUARD_FD + 1, ~0u, 0);
}

bool record_guard_start(struct record_guard *guard)
{
    int ends[2];
    *guard = (struct record_guard){.pipe_fd = -1, .record = getpid()};
    if (pipe2(ends, O_CLOEXEC)) return false;
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0) _exit(0); // the guard is not our child: `record` waits for all its children
        setsid();
        signal(SIGPIPE, SIG_IGN); // the launcher may have ended when the guard prints something
        keep_only(ends[0]);
        read_messages(guard);
        close(GUARD_FD);
        return true;
    }
    close(ends[0]);
    if (between < 0) {
        close(ends[1]);
        return false;
    }
    waitpid(between, NULL, 0);
    guard->pipe_fd = ends[1];
    return false;
}

void record_guard_await_command(const struct record_guard *guard, double wait_seconds)
{
    const double pause_seconds = 0.005;
    const struct timespec pause = {.tv_nsec = (long)(pause_seconds * 1e9)};
    for (double waited = 0; guard->command > 0 && process_is_running(guard->command) && waited < wait_seconds;) {
        nanosleep(&pause, NULL);
        waited += pause_seconds;
    }
}
