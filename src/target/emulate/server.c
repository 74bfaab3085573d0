// Makes an emulated mount: the guard starts a keeper, which mounts and serves.
#include "target/emulate/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "target/mount_point.h"

struct target {
    const struct emulate_options *options;
    pid_t guard;
    struct overhead *overhead;
};

enum {
    SPIN_NS = 60000,         // spun at the end of a wait, because sleeping is not exact enough
    CHECK_NS = 50000000,     // how often a waiting request checks whether it was interrupted
    REQUEST_BYTES = 1 << 20, // largest FUSE request
    BACKGROUND_MOST = 128,   // asynchronous requests under way
};

// --- time

int64_t emulate_arrival_ns(fuse_req_t request) {
    return *(const int64_t *)pthread_getspecific(emulate_of(request)->arrival);
}

// Only one thread at a time spins, because the clients of the others need the processors.
static void spin_until(struct emulate *emulate, int64_t until_ns) {
    if (atomic_flag_test_and_set(&emulate->is_spinning)) {
        clock_sleep_until(until_ns);
        return;
    }
    while (clock_now_ns() < until_ns) continue;
    atomic_flag_clear(&emulate->is_spinning);
}

struct client_interval emulate_begin(fuse_req_t request) {
    struct emulate *emulate = emulate_of(request);
    pid_t client = fuse_req_ctx(request)->pid;
    struct client_interval interval = clients_request_began(&emulate->clients, client, emulate_arrival_ns(request));
    // With a page cache above, clients do not wait for the requests themselves.
    if (interval.is_clean && !emulate->kernel_cache) overhead_learn(emulate->overhead, &interval);
    return interval;
}

// Returns false if the request was interrupted.
static bool wait_until(fuse_req_t request, int64_t until_ns) {
    struct emulate *emulate = emulate_of(request);
    for (;;) {
        int64_t now_ns = clock_now_ns(), left_ns = until_ns - now_ns;
        if (left_ns <= SPIN_NS) break;
        if (fuse_req_interrupted(request) || fuse_session_exited(emulate->session)) return false;
        clock_sleep_until(left_ns - SPIN_NS > CHECK_NS ? now_ns + CHECK_NS : until_ns - SPIN_NS);
    }
    spin_until(emulate, until_ns);
    return true;
}

void emulate_wait(fuse_req_t request, int64_t due_ns, int64_t reply_ns) {
    struct emulate *emulate = emulate_of(request);
    int64_t left_ns = due_ns - reply_ns - clock_now_ns();
    bool waited = wait_until(request, due_ns - reply_ns - overhead_cost_ns(emulate->overhead, left_ns));
    clients_request_ended(&emulate->clients, fuse_req_ctx(request)->pid, waited ? due_ns : 0, left_ns);
}

void emulate_wait_meta(fuse_req_t request) {
    int64_t latency_ns = emulate_of(request)->speed.settings.meta_latency_ns;
    if (!latency_ns) return;
    emulate_begin(request);
    emulate_wait(request, emulate_arrival_ns(request) + latency_ns, 0);
}

struct emulate *emulate_of(fuse_req_t request) {
    return fuse_req_userdata(request);
}

// --- the mount

static void report(struct emulate *emulate, int code, const char *why) {
    if (emulate->outcome_pipe >= 0) guard_tell(emulate->outcome_pipe, code, why);
    emulate->outcome_pipe = -1;
}

static void on_init(void *context, struct fuse_conn_info *connection) {
    struct emulate *emulate = context;
    connection->max_write = REQUEST_BYTES;
    connection->max_readahead = REQUEST_BYTES;
    connection->max_background = BACKGROUND_MOST;
    connection->congestion_threshold = BACKGROUND_MOST;
    connection->time_gran = 1;
    // Splicing needs a pipe as large as a request, which some systems do not allow.
    connection->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_AUTO_INVAL_DATA);
    unsigned more = FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS;
    if (emulate->kernel_cache) more |= FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_CACHE_SYMLINKS;
    connection->want |= connection->capable & more;
    report(emulate, 0, "");
}

static const struct fuse_lowlevel_ops *operations(void) {
    static struct fuse_lowlevel_ops all;
    all.init = on_init;
    emulate_metadata_operations(&all);
    emulate_data_operations(&all);
    return &all;
}

// The server holds a descriptor for every file that the kernel knows.
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    if (geteuid() == 0 && limit.rlim_max < 1 << 20) limit.rlim_max = 1 << 20;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_backing(struct emulate *emulate, const char *path) {
    struct stat about;
    emulate->root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(emulate->root.fd < 0, -errno);
    if (fstat(emulate->root.fd, &about) < 0) return -errno;
    emulate->root.device = about.st_dev;
    emulate->root.inode = about.st_ino;
    emulate->root.lookups = 1;
    return 0;
}

// libfuse and its helper report errors on standard error only. Collects that output.
struct capture {
    int saved;
    int memory;
};

static void capture_begin(struct capture *capture) {
    capture->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    capture->memory = memfd_create("stderr", MFD_CLOEXEC);
    if (capture->memory >= 0) dup2(capture->memory, STDERR_FILENO);
}

static void capture_end(struct capture *capture, char *text, size_t size) {
    ssize_t length = capture->memory < 0 ? 0 : pread(capture->memory, text, size - 1, 0);
    text[length < 0 ? 0 : length] = 0;
    text[strcspn(text, "\n")] = 0;
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
    close(capture->memory);
}

static int mount_session(struct emulate *emulate, const char *mount, pid_t guard) {
    char options[256];
    snprintf(options, sizeof options, "default_permissions,nosuid,nodev,subtype=ioseer,fsname=%s%s",
             emulate_source(guard).text, geteuid() == 0 ? ",allow_other" : "");
    char *words[] = {"ioseer", "-o", options, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, words);
    emulate->session = fuse_session_new(&args, operations(), sizeof(struct fuse_lowlevel_ops), emulate);
    fuse_opt_free_args(&args);
    RETURN_IF(!emulate->session, -EINVAL);
    errno = 0;
    RETURN_IF(fuse_session_mount(emulate->session, mount) < 0, errno ? -errno : -EIO);
    return 0;
}

// Waits should end on time whatever else the machine does. Only root gets this priority.
static void raise_priority(void) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
}

static int serve(struct emulate *emulate, const struct target *target, const sigset_t *signals) {
    struct capture capture;
    char text[sizeof((struct target_outcome *)0)->why];
    FORWARD(open_backing(emulate, target->options->backing));
    capture_begin(&capture);
    int code = mount_session(emulate, target->options->mount, target->guard);
    capture_end(&capture, text, sizeof text);
    if (code < 0) {
        report(emulate, code, text);
    } else {
        raise_priority();
        code = emulate_request_threads(emulate, signals);
        fuse_session_unmount(emulate->session);
    }
    if (emulate->session) fuse_session_destroy(emulate->session);
    return code;
}

// The keeper: mounts, reports the outcome, serves requests. The mount is gone afterwards.
static int keep(void *context, const sigset_t *signals, int outcome_pipe) {
    const struct target *target = context;
    struct emulate *emulate = calloc(1, sizeof *emulate);
    RETURN_IF(!emulate, -ENOMEM);
    emulate->kernel_cache = target->options->kernel_cache;
    emulate->overhead = target->overhead;
    emulate->outcome_pipe = outcome_pipe;
    emulate->root.fd = -1;
    pthread_mutex_init(&emulate->lock, NULL);
    speed_init(&emulate->speed, &target->options->speed);
    clients_init(&emulate->clients);
    raise_descriptor_limit();
    umask(0);
    int code = serve(emulate, target, signals);
    report(emulate, code, "");
    emulate_forget_all(emulate);
    clients_free(&emulate->clients);
    if (emulate->root.fd >= 0) close(emulate->root.fd);
    free(emulate);
    return code;
}

// --- the guard

static int call_statfs(void *context) {
    struct statfs about;
    return fstatfs(*(const int *)context, &about);
}

static void ready(void *context) {
    const struct target *target = context;
    int fd = open(target->options->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    overhead_measure(target->overhead, call_statfs, &fd);
    close(fd);
}

static int unmount_ours(const struct target *target, bool lazily) {
    bool is_ours = emulate_guard_of(target->options->mount) == target->guard;
    return is_ours ? unmount(target->options->mount, lazily) : ERR_NOTHING;
}

// Unmounts while the server still runs, so that the kernel can write its cached data. Fails while the mount is in use;
// the keeper then ends all the same.
static int stop(void *context) { return unmount_ours(context, false); }

static void clean_up(void *context) { unmount_ours(context, true); }

int emulate_serve(const struct emulate_options *options, target_ready *on_ready, void *context) {
    struct target target = {options, getpid(), overhead_new()};
    struct guard_work work = {keep, ready, stop, clean_up, &target};
    RETURN_IF(!target.overhead, -ENOMEM);
    if (emulate_state_of(options->mount) == EMULATE_DEAD) unmount(options->mount, true);
    int code = guard_run(&work, on_ready, context);
    overhead_free(target.overhead);
    return code;
}
