#include "catalogue/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "catalogue/job.h"

enum {
    MOST_WORKERS = 64,
    AHEAD = 4, // logs that a worker has at a time, so that it need not wait for us
    TICK_MS = 200,
    LOGS_PER_WORKER = 8, // fewer are not worth another one
    MOST_REASON = 1024,
};

struct frame {
    uint32_t len;
    int32_t code; // negative: the bytes are the reason
};

struct worker {
    pid_t pid; // 0: none
    int to, from;
    size_t log[AHEAD]; // that it has, the first one first
    unsigned logs;
};

struct workers {
    const struct workers_order *order;
    struct worker worker[MOST_WORKERS];
    size_t count;
    size_t next;   // log that nobody has
    size_t *again; // logs that a worker could not begin because of another log
    size_t agains;
    struct bytes data;
};

// --- in a worker

static int read_exactly(int fd, void *data, size_t len) {
    for (uint8_t *at = data; len > 0;) {
        ssize_t got = read(fd, at, len);
        if (got < 0 && errno == EINTR) continue;
        RETURN_IF(got <= 0, got < 0 ? -errno : ERR_TRUNCATED);
        at += got;
        len -= (size_t)got;
    }
    return 0;
}

static int answer(int fd, const char *path) {
    struct problem problem = {0};
    struct job job = {0};
    struct bytes data = {0};
    int code = job_read(&job, path, &problem);
    if (code == 0) code = job_put(&data, &job);
    const char *reason = *problem.why ? problem.why : err_text(code);
    struct frame frame = {(uint32_t)(code < 0 ? strlen(reason) : data.len), code};
    int written = io_write_all(fd, &frame, sizeof frame);
    if (written == 0) written = io_write_all(fd, code < 0 ? (const void *)reason : data.data, frame.len);
    bytes_free(&data);
    job_free(&job);
    return written;
}

static void work(int in, int out) {
    char path[PATH_MAX];
    uint32_t len;
    signal(SIGXFSZ, SIG_IGN); // of temporary files: an error, like a full disk
    while (read_exactly(in, &len, sizeof len) == 0 && len < sizeof path && read_exactly(in, path, len) == 0) {
        path[len] = 0;
        if (answer(out, path) < 0) break;
    }
}

// --- around them

static void close_worker(struct worker *worker) {
    if (!worker->pid) return;
    close(worker->to);
    close(worker->from);
    waitpid(worker->pid, NULL, 0);
    *worker = (struct worker){0};
}

static void become_worker(struct workers *workers, pid_t parent, int in, int out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    if (getppid() != parent) _exit(1);
    for (size_t i = 0; i < workers->count; i++) {
        if (!workers->worker[i].pid) continue;
        close(workers->worker[i].to);
        close(workers->worker[i].from);
    }
    work(in, out);
    _exit(0);
}

static int start(struct workers *workers, struct worker *worker) {
    int to[2], from[2];
    pid_t parent = getpid();
    RETURN_IF(pipe2(to, O_CLOEXEC) < 0, -errno);
    if (pipe2(from, O_CLOEXEC) < 0) {
        int code = -errno;
        close(to[0]), close(to[1]);
        return code;
    }
    pid_t pid = fork();
    int code = pid < 0 ? -errno : 0;
    if (pid == 0) {
        close(to[1]), close(from[0]);
        become_worker(workers, parent, to[0], from[1]);
    }
    close(to[0]), close(from[1]);
    *worker = (struct worker){.pid = pid, .to = to[1], .from = from[0]};
    if (pid < 0) close(to[1]), close(from[0]), *worker = (struct worker){0};
    return code;
}

static bool has_more(const struct workers *workers) { return workers->agains || workers->next < workers->order->count; }

static int give(struct workers *workers, struct worker *worker) {
    char path[PATH_MAX];
    size_t log = workers->agains ? workers->again[--workers->agains] : workers->next++;
    FORWARD(workers->order->path_of(workers->order->context, log, path));
    uint32_t len = (uint32_t)strlen(path);
    worker->log[worker->logs++] = log;
    if (io_write_all(worker->to, &len, sizeof len) == 0) io_write_all(worker->to, path, len); // its end is seen below
    return 0;
}

static int fill(struct workers *workers) {
    for (unsigned ahead = 1; ahead <= AHEAD; ahead++) {
        for (size_t i = 0; i < workers->count && has_more(workers); i++) {
            struct worker *worker = &workers->worker[i];
            if (!worker->pid) FORWARD(start(workers, worker));
            if (worker->logs < ahead) FORWARD(give(workers, worker));
        }
    }
    return 0;
}

// The first of its logs ended the worker; the others have not been read.
static int bury(struct workers *workers, struct worker *worker) {
    char reason[MOST_REASON] = "reading it failed";
    int status = 0;
    close(worker->to);
    close(worker->from);
    waitpid(worker->pid, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "reading it ended with signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    struct worker dead = *worker;
    *worker = (struct worker){0};
    for (unsigned i = 1; i < dead.logs; i++) FORWARD(array_push(workers->again, workers->agains, dead.log[i]));
    return dead.logs ? workers->order->done(workers->order->context, dead.log[0], NULL, reason) : 0;
}

static int take(struct workers *workers, struct worker *worker) {
    struct frame frame;
    workers->data.len = 0;
    if (read_exactly(worker->from, &frame, sizeof frame) < 0) return bury(workers, worker);
    uint8_t *room = bytes_reserve(&workers->data, (size_t)frame.len + 1);
    RETURN_IF(!room, -ENOMEM);
    if (read_exactly(worker->from, room, frame.len) < 0) return bury(workers, worker);
    workers->data.len = frame.len;
    room[frame.len] = 0;
    size_t log = worker->log[0];
    memmove(worker->log, worker->log + 1, --worker->logs * sizeof *worker->log);
    return frame.code < 0 ? workers->order->done(workers->order->context, log, NULL, (const char *)room)
                          : workers->order->done(workers->order->context, log, &workers->data, NULL);
}

static bool is_busy(const struct workers *workers) {
    for (size_t i = 0; i < workers->count; i++) {
        if (workers->worker[i].logs) return true;
    }
    return false;
}

static int attend(struct workers *workers) {
    while (has_more(workers) || is_busy(workers)) {
        struct pollfd fd[MOST_WORKERS];
        FORWARD(fill(workers));
        for (size_t i = 0; i < workers->count; i++)
            fd[i] = (struct pollfd){workers->worker[i].logs ? workers->worker[i].from : -1, POLLIN, 0};
        int ready = poll(fd, workers->count, TICK_MS);
        RETURN_IF(ready < 0 && errno != EINTR, -errno);
        for (size_t i = 0; ready > 0 && i < workers->count; i++) {
            if (fd[i].fd >= 0 && fd[i].revents) FORWARD(take(workers, &workers->worker[i]));
        }
        FORWARD(workers->order->tick(workers->order->context));
    }
    return 0;
}

static size_t cores(void) {
    cpu_set_t set;
    const char *limit = getenv("IOSEER_THREADS");
    size_t count = sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
    size_t most = limit ? strtoul(limit, NULL, 10) : 0;
    return most && most < count ? most : count < MOST_WORKERS ? count : MOST_WORKERS;
}

int workers_run(const struct workers_order *order, struct problem *problem) {
    struct workers *workers = calloc(1, sizeof *workers);
    RETURN_IF(!workers, -ENOMEM);
    size_t wanted = order->count / LOGS_PER_WORKER + 1, most = cores();
    workers->order = order;
    workers->count = wanted < most ? wanted : most;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); // a worker that has ended
    int code = attend(workers);
    signal(SIGPIPE, before);
    for (size_t i = 0; i < workers->count; i++) {
        if (code < 0 && workers->worker[i].pid) kill(workers->worker[i].pid, SIGKILL);
        close_worker(&workers->worker[i]);
    }
    free(workers->again);
    bytes_free(&workers->data);
    free(workers);
    return code < 0 ? problem_code(problem, code, "reading logs") : 0;
}
