#include "target/emulate/emulate.h"

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
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/mounted.h"
#include "target/emulate/private.h"

enum {
    SPIN_NS = 60000,         // before the end of a wait: sleeping is not that exact
    LOOK_UP_NS = 50000000,   // how often a waiting request looks whether it is still wanted
    REQUEST_BYTES = 1 << 20, // what FUSE hands over at once
    BACKGROUND_MOST = 128,   // asynchronous requests under way
};

// --- time

int64_t emulate_arrival_ns(fuse_req_t request)
{
    return *(const int64_t *)pthread_getspecific(emulate_of(request)->arrival);
}

// One thread at a time may spin: the others' clients need the processors.
static void spin_until(struct emulate *emulate, int64_t until_ns)
{
    if (atomic_flag_test_and_set(&emulate->is_spinning)) {
        clock_sleep_until(until_ns);
        return;
    }
    while (clock_now_ns() < until_ns) continue;
    atomic_flag_clear(&emulate->is_spinning);
}

struct client_round emulate_come(fuse_req_t request)
{
    struct emulate *emulate = emulate_of(request);
    pid_t client = fuse_req_ctx(request)->pid;
    struct client_round round = clients_come(&emulate->clients, client, emulate_arrival_ns(request));
    // With a page cache above, requests are not what clients wait for.
    if (round.is_plain && !emulate->kernel_cache) overhead_learn(emulate->way, &round);
    return round;
}

// False where the request is not wanted any more.
static bool wait_until(fuse_req_t request, int64_t until_ns)
{
    struct emulate *emulate = emulate_of(request);
    for (;;) {
        int64_t now_ns = clock_now_ns(), left_ns = until_ns - now_ns;
        if (left_ns <= SPIN_NS) break;
        if (fuse_req_interrupted(request) || fuse_session_exited(emulate->session)) return false;
        clock_sleep_until(left_ns - SPIN_NS > LOOK_UP_NS ? now_ns + LOOK_UP_NS : until_ns - SPIN_NS);
    }
    spin_until(emulate, until_ns);
    return true;
}

void emulate_wait(fuse_req_t request, int64_t due_ns, int64_t reply_ns)
{
    struct emulate *emulate = emulate_of(request);
    int64_t left_ns = due_ns - reply_ns - clock_now_ns();
    bool waited = wait_until(request, due_ns - reply_ns - overhead_cost_ns(emulate->way, left_ns));
    clients_answer(&emulate->clients, fuse_req_ctx(request)->pid, waited ? due_ns : 0, left_ns);
}

void emulate_wait_meta(fuse_req_t request)
{
    int64_t latency_ns = emulate_of(request)->device.settings.meta_latency_ns;
    if (!latency_ns) return;
    emulate_come(request);
    emulate_wait(request, emulate_arrival_ns(request) + latency_ns, 0);
}

struct emulate *emulate_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

// --- the mount

static void tell_outcome(struct emulate *emulate, int code, const char *why)
{
    if (emulate->outcome >= 0) guard_tell(emulate->outcome, code, why);
    emulate->outcome = -1;
}

static void on_init(void *context, struct fuse_conn_info *connection)
{
    struct emulate *emulate = context;
    connection->max_write = REQUEST_BYTES;
    connection->max_readahead = REQUEST_BYTES;
    connection->max_background = BACKGROUND_MOST;
    connection->congestion_threshold = BACKGROUND_MOST;
    connection->time_gran = 1;
    // A pipe for requests of this size is not to be had everywhere.
    connection->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_AUTO_INVAL_DATA);
    unsigned more = FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS;
    if (emulate->kernel_cache) more |= FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_CACHE_SYMLINKS;
    connection->want |= connection->capable & more;
    tell_outcome(emulate, 0, "");
}

static const struct fuse_lowlevel_ops *operations(void)
{
    static struct fuse_lowlevel_ops all;
    all.init = on_init;
    emulate_name_operations(&all);
    emulate_data_operations(&all);
    return &all;
}

// Every file that the kernel knows holds a descriptor.
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    if (geteuid() == 0 && limit.rlim_max < 1 << 20) limit.rlim_max = 1 << 20;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_backing(struct emulate *emulate, const char *path)
{
    struct stat about;
    emulate->root.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(emulate->root.fd < 0, -errno);
    if (fstat(emulate->root.fd, &about) < 0) return -errno;
    emulate->root.device = about.st_dev;
    emulate->root.inode = about.st_ino;
    emulate->root.lookups = 1;
    return 0;
}

// What libfuse and its helper say goes to standard error and nowhere else. Gives it as one line.
struct hush {
    int saved;
    int memory;
};

static void hush_begin(struct hush *hush)
{
    hush->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    hush->memory = memfd_create("said", MFD_CLOEXEC);
    if (hush->memory >= 0) dup2(hush->memory, STDERR_FILENO);
}

static void hush_end(struct hush *hush, char *said, size_t size)
{
    ssize_t length = hush->memory < 0 ? 0 : pread(hush->memory, said, size - 1, 0);
    said[length < 0 ? 0 : length] = 0;
    said[strcspn(said, "\n")] = 0;
    dup2(hush->saved, STDERR_FILENO);
    close(hush->saved);
    close(hush->memory);
}

static int mount_session(struct emulate *emulate, const char *mount, pid_t guard)
{
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

// The end of a wait should not depend on what else the machine has to do. Only root may ask for this.
static void be_punctual(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
}

static int serve(struct emulate *emulate, const struct emulate_options *options, pid_t guard, const sigset_t *signals)
{
    struct hush hush;
    char said[sizeof((struct target_outcome *)0)->why];
    int code = open_backing(emulate, options->backing);
    RETURN_IF(code < 0, code);
    hush_begin(&hush);
    code = mount_session(emulate, options->mount, guard);
    hush_end(&hush, said, sizeof said);
    if (code < 0) {
        tell_outcome(emulate, code, said);
    } else {
        be_punctual();
        code = emulate_loop(emulate, signals);
        fuse_session_unmount(emulate->session);
    }
    if (emulate->session) fuse_session_destroy(emulate->session);
    return code;
}

int emulate_server(const struct emulate_options *options, pid_t guard, struct overhead *way, const sigset_t *signals,
                   int outcome)
{
    struct emulate *emulate = calloc(1, sizeof *emulate);
    RETURN_IF(!emulate, -ENOMEM);
    emulate->kernel_cache = options->kernel_cache;
    emulate->way = way;
    emulate->outcome = outcome;
    emulate->root.fd = -1;
    pthread_mutex_init(&emulate->lock, NULL);
    device_init(&emulate->device, &options->device);
    clients_init(&emulate->clients);
    raise_descriptor_limit();
    umask(0);
    int code = serve(emulate, options, guard, signals);
    tell_outcome(emulate, code, "");
    emulate_forget_all(emulate);
    clients_free(&emulate->clients);
    if (emulate->root.fd >= 0) close(emulate->root.fd);
    free(emulate);
    return code;
}
