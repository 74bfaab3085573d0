// The processes behind a mount, from its start to its end.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate_private.h"

enum {
    END_MS = 30000,       // for a server without a mount to end
    BUSY_NS = 1000000000, // how long a use must last to count: files are let go a moment after they were closed
    BUSY_LOOK_NS = 10000000,
};

// --- mounts

// The guard's process id is part of the mount's source, see emulate_source().
static const char source_start[] = "ioseer:";

struct emulate_source emulate_source(pid_t guard)
{
    struct emulate_source source;
    snprintf(source.text, sizeof source.text, "%s%d", source_start, (int)guard);
    return source;
}

// The guard of the mount at this place, 0 where the uppermost one there is not ours.
static pid_t guard_of(const char *mount)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    if (!mounts) return 0;
    pid_t guard = 0;
    struct mntent entry;
    char text[3 * PATH_MAX];
    size_t start = sizeof source_start - 1;
    while (getmntent_r(mounts, &entry, text, sizeof text)) {
        if (strcmp(entry.mnt_dir, mount)) continue;
        bool ours = !strcmp(entry.mnt_type, "fuse.ioseer") && !strncmp(entry.mnt_fsname, source_start, start);
        guard = ours ? (pid_t)atoi(entry.mnt_fsname + start) : 0;
    }
    endmntent(mounts);
    return guard;
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

static int unmount(const char *mount, bool lazy)
{
    if (umount2(mount, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) return 0;
    if (errno == EINVAL || errno == ENOENT) return 0; // somebody else was faster
    return errno == EPERM ? unmount_by_helper(mount, lazy) : -errno;
}

// --- the guard

static sigset_t ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

// In the server's process.
static int be_server(const struct emulate_mission *mission)
{
    sigset_t signals = ending_signals();
    setsid(); // what hits the guard's terminal or process group does not hit both
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != mission->guard) return 1;
    return emulate_server(mission, &signals) < 0;
}

static int ask_for_space(void *context)
{
    struct statfs about;
    return fstatfs(*(const int *)context, &about);
}

static void measure_way(struct way *way, const char *mount)
{
    int fd = open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    way_measure(way, ask_for_space, &fd);
    close(fd);
}

// Waits for the server, and for a helper that it had started. A signal unmounts; those who use the mount do not stop
// it.
static void await_end(const char *mount, pid_t server, const sigset_t *signals)
{
    for (;;) {
        int number = sigwaitinfo(signals, NULL);
        bool ask = number > 0 && number != SIGCHLD;
        if (ask && (guard_of(mount) != getpid() || unmount(mount, false) < 0)) kill(server, SIGTERM);
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (ended < 0 && errno == ECHILD) return;
    }
}

// Starts the server and waits for its word.
static pid_t start_server(const struct emulate_options *options, const struct way *way, struct emulate_outcome *outcome)
{
    int ends[2];
    RETURN_IF(pipe2(ends, O_CLOEXEC) < 0, -errno);
    struct emulate_mission mission = {options, getpid(), way, ends[1]};
    pid_t server = fork();
    int code = -errno;
    if (!server) _exit(be_server(&mission));
    close(ends[1]);
    if (server > 0 && read(ends[0], outcome, sizeof *outcome) != sizeof *outcome) outcome->code = -EIO;
    close(ends[0]);
    outcome->why[sizeof outcome->why - 1] = 0;
    return server < 0 ? code : server;
}

int emulate_serve(const struct emulate_options *options, emulate_ready *ready, void *context)
{
    struct emulate_outcome outcome = {0};
    sigset_t signals = ending_signals();
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    if (emulate_state_of(options->mount) == EMULATE_DEAD) unmount(options->mount, true);
    struct way *way = way_make();
    RETURN_IF(!way, -ENOMEM);
    pid_t server = start_server(options, way, &outcome);
    if (server < 0) outcome.code = server;
    if (!outcome.code) measure_way(way, options->mount);
    if (ready(&outcome, context) < 0) kill(getpid(), SIGTERM); // waits to be seen in await_end()
    if (server > 0) await_end(options->mount, server, &signals);
    if (guard_of(options->mount) == getpid()) unmount(options->mount, true);
    way_drop(way);
    return outcome.code;
}

// --- stopping

static bool ends_within(int process, int timeout_ms)
{
    return poll(&(struct pollfd){.fd = process, .events = POLLIN}, 1, timeout_ms) > 0;
}

// A descriptor of the guard's process, or a negative code where it is gone. Its number may be another's by now.
static int open_guard(pid_t guard)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)guard);
    int process = (int)syscall(SYS_pidfd_open, guard, 0);
    RETURN_IF(process < 0, -errno);
    FILE *file = fopen(path, "re");
    bool ours = file && fgets(name, sizeof name, file) && !strcmp(name, "ioseer\n");
    if (file) fclose(file);
    if (ours && !ends_within(process, 0)) return process;
    close(process);
    return -ESRCH;
}

static int unmount_patiently(const char *mount)
{
    int64_t until_ns = clock_now_ns() + BUSY_NS;
    for (;;) {
        int code = unmount(mount, false);
        if (code != -EBUSY || clock_now_ns() > until_ns) return code;
        clock_sleep_until(clock_now_ns() + BUSY_LOOK_NS);
    }
}

enum emulate_state emulate_state_of(const char *mount)
{
    pid_t guard = guard_of(mount);
    if (!guard) return EMULATE_NONE;
    int process = open_guard(guard);
    if (process < 0) return EMULATE_DEAD;
    close(process);
    return EMULATE_SERVED;
}

int emulate_stop(const char *mount, bool force)
{
    pid_t guard = guard_of(mount);
    RETURN_IF(!guard, ERR_NOTHING);
    int process = open_guard(guard);
    if (process < 0) return unmount(mount, true);
    int code = unmount_patiently(mount);
    if (code == -EBUSY && force) {
        code = unmount(mount, true);
        kill(guard, SIGTERM);
    }
    if (code == 0 && !ends_within(process, END_MS)) code = -ETIMEDOUT;
    close(process);
    return code;
}
