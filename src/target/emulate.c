#include "target/emulate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate_private.h"

enum {
    SPIN_NS = 60000,       // before the end of a wait: sleeping is not that exact
    LOOK_UP_NS = 50000000, // how often a waiting request looks whether it is still wanted
    THREADS_MOST = 256,
    REQUEST_BYTES = 1 << 20, // what FUSE hands over at once
};

static const char type_name[] = "ioseer";

// --- time

int64_t emulate_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec until = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void emulate_wait(fuse_req_t request, int64_t until_ns)
{
    for (int64_t now_ns = emulate_now_ns(); now_ns < until_ns; now_ns = emulate_now_ns()) {
        int64_t left_ns = until_ns - now_ns;
        if (left_ns <= SPIN_NS) continue;
        if (fuse_req_interrupted(request)) return;
        sleep_until(left_ns - SPIN_NS > LOOK_UP_NS ? now_ns + LOOK_UP_NS : until_ns - SPIN_NS);
    }
}

void emulate_wait_meta(fuse_req_t request)
{
    int64_t latency_ns = emulate_of(request)->device.settings.meta_latency_ns;
    if (latency_ns) emulate_wait(request, emulate_now_ns() + latency_ns);
}

struct emulate *emulate_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

// --- the mount

static void on_init(void *context, struct fuse_conn_info *connection)
{
    struct emulate *emulate = context;
    connection->max_write = REQUEST_BYTES;
    connection->max_readahead = REQUEST_BYTES;
    connection->time_gran = 1;
    if (connection->capable & FUSE_CAP_ASYNC_DIO) connection->want |= FUSE_CAP_ASYNC_DIO;
    if (connection->capable & FUSE_CAP_PARALLEL_DIROPS) connection->want |= FUSE_CAP_PARALLEL_DIROPS;
    emulate->ready(0, emulate->ready_context);
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

// auto_unmount: a helper process takes the mount away when this one is gone, however that came.
static int serve(struct emulate *emulate, const struct emulate_options *options)
{
    char source[PATH_MAX + 64];
    snprintf(source, sizeof source, "auto_unmount,default_permissions,subtype=%s,fsname=ioseer%s", type_name,
             geteuid() == 0 ? ",allow_other" : "");
    char *words[] = {"ioseer", "-o", source, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, words);
    struct fuse_session *session = fuse_session_new(&args, operations(), sizeof(struct fuse_lowlevel_ops), emulate);
    fuse_opt_free_args(&args);
    RETURN_IF(!session, -EINVAL);
    int code = 0;
    if (fuse_set_signal_handlers(session) < 0) code = -EINVAL;
    if (!code && fuse_session_mount(session, options->mount) < 0) code = -errno ? -errno : -EIO;
    if (!code) {
        struct fuse_loop_config *config = fuse_loop_cfg_create();
        fuse_loop_cfg_set_max_threads(config, THREADS_MOST);
        fuse_loop_cfg_set_idle_threads(config, THREADS_MOST);
        fuse_session_loop_mt(session, config);
        fuse_loop_cfg_destroy(config);
        fuse_session_unmount(session);
    }
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
    return code;
}

int emulate_serve(const struct emulate_options *options, emulate_ready *ready, void *context)
{
    struct emulate *emulate = calloc(1, sizeof *emulate);
    RETURN_IF(!emulate, -ENOMEM);
    emulate->kernel_cache = options->kernel_cache;
    emulate->ready = ready;
    emulate->ready_context = context;
    pthread_mutex_init(&emulate->lock, NULL);
    device_init(&emulate->device, &options->device);
    raise_descriptor_limit();
    umask(0);
    prctl(PR_SET_TIMERSLACK, 1UL);
    int code = open_backing(emulate, options->backing);
    if (!code) code = serve(emulate, options);
    if (code) ready(code, context);
    emulate_forget_all(emulate);
    if (emulate->root.fd >= 0) close(emulate->root.fd);
    free(emulate);
    return code;
}

// --- stopping

static bool is_ours(const char *mount)
{
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    if (!mounts) return false;
    bool ours = false;
    struct mntent entry;
    char text[2 * PATH_MAX];
    while (!ours && getmntent_r(mounts, &entry, text, sizeof text)) {
        ours = !strcmp(entry.mnt_dir, mount) && !strcmp(entry.mnt_type, "fuse.ioseer");
    }
    endmntent(mounts);
    return ours;
}

// Those who may not unmount by themselves ask the helper that mounted for them.
static int unmount_by_helper(const char *mount, bool lazy)
{
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        execlp("fusermount3", "fusermount3", "-u", lazy ? "-z" : "-q", "--", mount, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int emulate_stop(const char *mount, bool lazy)
{
    char path[PATH_MAX];
    // A mount whose server hangs must still be found by its name.
    if (!realpath(mount, path)) snprintf(path, sizeof path, "%s", mount);
    RETURN_IF(!is_ours(path), ERR_NOTHING);
    if (umount2(path, lazy ? MNT_DETACH : 0) == 0) return 0;
    return errno == EPERM ? unmount_by_helper(path, lazy) : -errno;
}
