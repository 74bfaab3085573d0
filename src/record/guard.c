#include "record/guard.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

struct message {
    enum record_guard_message kind;
    pid_t command;
};

void record_guard_tell(struct record_guard *guard, enum record_guard_message kind, pid_t command) {
    struct message message = {kind, command};
    process_tell_guard(guard->fd, &message, sizeof message);
    if (kind != GUARD_DONE || guard->fd < 0) return;
    close(guard->fd);
    guard->fd = -1;
}

// Reads until the other end is closed, by `record` itself or because it died.
static void read_messages(struct record_guard *guard) {
    struct message message;
    for (;;) {
        ssize_t got = read(guard->fd, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof message) return;
        if (message.kind == GUARD_COMMAND) guard->command = message.command;
        if (message.kind == GUARD_PACKING) guard->packing = true;
        if (message.kind == GUARD_DONE) _exit(0);
    }
}

bool record_guard_start(struct record_guard *guard) {
    *guard = (struct record_guard){.record = getpid()};
    if (!process_start_guard(&guard->fd)) return false;
    read_messages(guard);
    close(guard->fd);
    guard->fd = -1;
    return true;
}

void record_guard_await_command(const struct record_guard *guard, double wait_seconds) {
    const double pause_seconds = 0.005;
    const struct timespec pause = {.tv_nsec = (long)(pause_seconds * 1e9)};
    for (double waited = 0; guard->command > 0 && process_is_running(guard->command) && waited < wait_seconds;) {
        nanosleep(&pause, NULL);
        waited += pause_seconds;
    }
}
