// The page by which the probes of a stack know whether anybody records.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/process.h"
#include "stack/private.h"

enum { LOCK_MS = 5000 };

struct control_path {
    char text[PATH_MAX];
};

static struct control_path control_path(const char *probes) {
    struct control_path path;
    snprintf(path.text, sizeof path.text, "%s/control", probes);
    return path;
}

int stack_control_create(const char *probes) {
    if (mkdir(probes, 0700) < 0) return -errno;
    int fd = open(control_path(probes).text, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    RETURN_IF(fd < 0, -errno);
    int code = posix_fallocate(fd, 0, PROBE_HEADER_BYTES); // a full disk must not show as SIGBUS in a probe
    close(fd);
    return -code;
}

// Only one process at a time changes the page; the lock goes with its holder. One that was stopped in between is not
// waited for any longer.
static int lock_within(struct stack_control *control, const char *probes, int timeout_ms) {
    int fd = open(control_path(probes).text, O_RDWR | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = io_lock(fd, timeout_ms);
    void *page = code < 0 ? MAP_FAILED : mmap(NULL, PROBE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (code == 0 && page == MAP_FAILED) code = -errno;
    if (code < 0) close(fd);
    if (code == 0) *control = (struct stack_control){page, fd};
    return code;
}

int stack_control_lock(struct stack_control *control, const char *probes) {
    return lock_within(control, probes, LOCK_MS);
}

int stack_control_try(struct stack_control *control, const char *probes) { return lock_within(control, probes, 0); }

unsigned stack_control_unlock(struct stack_control *control) {
    unsigned used = 0;
    for (unsigned i = 0; i < PROBE_RECORDERS; i++) used += control->page->recorder[i].pid != 0;
    atomic_store(&control->page->recording, used);
    munmap(control->page, PROBE_HEADER_BYTES);
    close(control->fd);
    return used;
}

unsigned stack_control_sweep(struct stack_control *control) {
    unsigned left = 0;
    for (unsigned i = 0; i < PROBE_RECORDERS; i++) {
        struct probe_recorder *recorder = &control->page->recorder[i];
        if (recorder->pid && !stack_process_runs((pid_t)recorder->pid, recorder->start_ticks))
            atomic_store(&recorder->pid, 0);
        left += recorder->pid != 0;
    }
    return left;
}

int stack_control_enter(struct stack_control *control, pid_t pid, uint64_t start_ticks) {
    stack_control_sweep(control);
    for (unsigned i = 0; i < PROBE_RECORDERS; i++) {
        struct probe_recorder *recorder = &control->page->recorder[i];
        if (recorder->pid) continue;
        recorder->start_ticks = start_ticks;
        atomic_store(&recorder->pid, (uint32_t)pid);
        return 0;
    }
    return ERR_LIMIT;
}

void stack_control_leave(struct stack_control *control, pid_t pid, uint64_t start_ticks) {
    for (unsigned i = 0; i < PROBE_RECORDERS; i++) {
        struct probe_recorder *recorder = &control->page->recorder[i];
        if ((pid_t)recorder->pid != pid || recorder->start_ticks != start_ticks) continue;
        atomic_store(&recorder->pid, 0);
        return;
    }
}

void stack_control_clear(const char *probes) {
    struct stack_control control;
    if (stack_control_lock(&control, probes) < 0) return;
    for (unsigned i = 0; i < PROBE_RECORDERS; i++) atomic_store(&control.page->recorder[i].pid, 0);
    stack_control_unlock(&control);
}
