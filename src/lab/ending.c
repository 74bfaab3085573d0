#include "lab/ending.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

enum { MOST_DEPTH = 1000 };

static bool descends_from(pid_t pid, pid_t ancestor) {
    struct process_stat stat;
    for (unsigned depth = 0; pid > 1 && depth < MOST_DEPTH && process_stat(pid, &stat); depth++) {
        if (stat.parent == ancestor) return true;
        pid = stat.parent;
    }
    return false;
}

static void signal_descendants(pid_t ancestor, int number) {
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && descends_from(pid, ancestor)) kill(pid, number);
    }
    if (dir) closedir(dir);
}

void lab_ending_step(struct lab_ending *ending) {
    const int64_t patience_ns = 2000000000;
    int64_t now_ns = clock_now_ns();
    if (!ending->begun_ns) {
        ending->begun_ns = now_ns;
        signal_descendants(ending->record, SIGTERM);
    } else if (now_ns - ending->begun_ns > patience_ns) {
        signal_descendants(ending->record, SIGKILL);
    }
}

// --- the guard

static void pause_shortly(void) {
    const struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
}

// The last process that it is told of before the other side is closed.
static struct lab_ending await_end(int fd) {
    struct lab_ending ending = {0}, message;
    for (;;) {
        ssize_t got = read(fd, &message, sizeof message);
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof message) return ending;
        ending = message;
    }
}

bool lab_guard_start(struct lab_guard *guard) {
    enum { UNMOUNTS = 200 };
    snprintf(guard->work, sizeof guard->work, "/tmp/ioseer-lab-XXXXXX");
    if (!mkdtemp(guard->work)) guard->work[0] = 0;
    if (!process_start_guard(&guard->fd)) return false;
    struct lab_ending ending = await_end(guard->fd);
    while (ending.record && process_start_ticks(ending.record) == ending.start_ticks &&
           process_is_running(ending.record)) {
        lab_ending_step(&ending);
        pause_shortly();
    }
    for (unsigned i = 0; i < UNMOUNTS && rmdir(guard->work) && errno == EBUSY; i++) pause_shortly();
    return true;
}

void lab_guard_tell(const struct lab_guard *guard, pid_t record) {
    struct lab_ending message = {.record = record, .start_ticks = record ? process_start_ticks(record) : 0};
    process_tell_guard(guard->fd, &message, sizeof message);
}
