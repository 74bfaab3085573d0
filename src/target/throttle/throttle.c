#include "target/throttle/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "target/mount_point.h"
#include "target/throttle/kernel_limits.h"
#include "target/throttle/state_file.h"

enum { LOOP_TRIES = 16, NOT_RUN = 127, END_MS = 30000 }; // END_MS: for guard and keeper to clean up

struct device_path {
    char text[32]; // "/dev/loop3"
};

struct setup {
    const struct throttle_options *options;
    struct throttle_state *state;
    struct target_outcome *outcome;
    struct device_path device;
    int device_fd; // the device releases the image when no process has it open
};

static int failed(struct setup *setup, const char *what, int code) {
    char *why = setup->outcome->why;
    if (!why[0]) snprintf(why, sizeof setup->outcome->why, "%s: %s", what, err_text(code));
    return code;
}

// --- image and device

// The image has no name: it is gone when the device releases it. All its space is allocated now, because a full disk
// would later show as I/O errors.
static int make_image(struct setup *setup) {
    const struct throttle_options *options = setup->options;
    int fd = open(options->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return failed(setup, options->folder, -errno);
    if (fallocate(fd, 0, 0, (off_t)options->size_bytes) == 0) return fd;
    int code = failed(setup, options->folder, -errno);
    close(fd);
    return code;
}

static struct device_path device_path(int loop) {
    struct device_path path;
    snprintf(path.text, sizeof path.text, "/dev/loop%d", loop);
    return path;
}

static int attach_to(struct setup *setup, int image, int number) {
    struct loop_config config = {.fd = (uint32_t)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    snprintf((char *)config.info.lo_file_name, sizeof config.info.lo_file_name, "%s", setup->state->name);
    setup->device = device_path(number);
    int writing = open(setup->device.text, O_RDWR | O_CLOEXEC);
    RETURN_IF(writing < 0, -errno);
    // Some kernels do not mount a device that is open for writing.
    int fd = ioctl(writing, LOOP_CONFIGURE, &config) < 0 ? -1 : open(setup->device.text, O_RDONLY | O_CLOEXEC);
    int code = -errno;
    close(writing);
    return fd < 0 ? code : fd;
}

// Another process may get the device that was free a moment ago.
static int attach(struct setup *setup, int image) {
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -EBUSY;
    if (control < 0) return failed(setup, "/dev/loop-control", -errno);
    int number = -1;
    for (unsigned i = 0; i < LOOP_TRIES && fd == -EBUSY; i++) {
        number = ioctl(control, LOOP_CTL_GET_FREE);
        fd = number < 0 ? -errno : attach_to(setup, image, number);
    }
    close(control);
    if (fd < 0) return failed(setup, number < 0 ? "/dev/loop-control" : setup->device.text, fd);
    setup->device_fd = fd;
    int code = throttle_state_set_loop(setup->state, number);
    return code < 0 ? failed(setup, "note in /run/ioseer", code) : 0;
}

static int make_device(struct setup *setup) {
    int image = make_image(setup);
    RETURN_IF(image < 0, image);
    int code = attach(setup, image);
    close(image);
    return code;
}

// --- file system

// mkfs is in /usr/sbin, which is not on the PATH of every shell.
static void be_program(int said, char *const words[]) {
    char path[4096];
    const char *given = getenv("PATH");
    snprintf(path, sizeof path, "%s:/usr/sbin:/sbin", given ? given : "/usr/bin:/bin");
    setenv("PATH", path, 1);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    execvp(words[0], words);
    _exit(NOT_RUN);
}

// Runs a program without output. If it fails, its first line is the reason.
static int run(struct setup *setup, char *const words[], const char *package) {
    int said = memfd_create("said", MFD_CLOEXEC), status;
    pid_t child = fork();
    if (child < 0) return failed(setup, words[0], -errno);
    if (!child) be_program(said, words);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    char text[160] = "";
    ssize_t length = pread(said, text, sizeof text - 1, 0);
    close(said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    text[length < 0 ? 0 : strcspn(text, "\n")] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_RUN) {
        snprintf(setup->outcome->why, sizeof setup->outcome->why, "no %s here (package %s)", words[0], package);
    } else {
        snprintf(setup->outcome->why, sizeof setup->outcome->why, "%s: %s", words[0], text[0] ? text : "failed");
    }
    return -EIO;
}

static int make_file_system(struct setup *setup) {
    bool is_xfs = !strcmp(setup->options->type, "xfs");
    char *device = setup->device.text;
    // Discarding would free the allocated space again; lazy initialisation would run during measurements.
    char *xfs[] = {"mkfs.xfs", "-q", "-f", "-K", device, NULL};
    char *ext4[] = {"mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device, NULL};
    return is_xfs ? run(setup, xfs, "xfsprogs") : run(setup, ext4, "e2fsprogs");
}

static int mount_device(struct setup *setup) {
    const struct throttle_options *options = setup->options;
    struct stat place;
    if (stat(options->mount, &place) < 0) return failed(setup, options->mount, -errno);
    if (mount(setup->device.text, options->mount, options->type, MS_NOSUID | MS_NODEV, NULL) < 0)
        return failed(setup, "mount", -errno);
    // The new root directory gets the owner and mode of the mount point.
    if (chown(options->mount, place.st_uid, place.st_gid) < 0 || chmod(options->mount, place.st_mode & 07777) < 0)
        return failed(setup, options->mount, -errno);
    return 0;
}

// --- limits

// 0 if the device is gone. The numbers of two loop devices are not always consecutive: partitions may lie in between.
static dev_t device_number(int loop) {
    struct stat about;
    return loop < 0 || stat(device_path(loop).text, &about) < 0 ? 0 : about.st_rdev;
}

static int limited(struct setup *setup, int code, const char *what, const char *unsupported) {
    if (code == ERR_NOTHING) snprintf(setup->outcome->why, sizeof setup->outcome->why, "%s", unsupported);
    return code < 0 ? failed(setup, what, code) : 0;
}

static int set_limits(struct setup *setup) {
    const struct throttle_options *options = setup->options;
    const char *group = setup->state->name;
    dev_t device = device_number(setup->state->loop);
    struct limits limits;
    limits_find(&limits, "/proc/self/mounts", "/sys");
    FORWARD(limited(setup, limits_make_group(&limits, group, options->memory_bytes), "memory group",
                    "the kernel has no memory groups (cgroups)"));
    if (options->read_bandwidth || options->write_bandwidth) {
        int code = limits_bandwidth(&limits, group, device, options->read_bandwidth, options->write_bandwidth);
        FORWARD(limited(setup, code, "throttle", "the kernel cannot throttle (no blkio cgroup, no io.max)"));
    }
    if (!options->dirty_bytes) return 0;
    return limited(setup, limits_dirty(&limits, device, options->dirty_bytes), "limit of dirty pages",
                   "the kernel cannot limit dirty pages (before Linux 6.2)");
}

// --- the whole target

// Makes all parts and keeps the existing state file up to date. On failure `outcome` has the code and the reason.
// Returns a descriptor that holds the loop device until it is closed, -1: none. Without it another process could get
// the device while it still has this target's limits.
static int set_up(const struct throttle_options *options, struct throttle_state *state,
                  struct target_outcome *outcome) {
    struct setup setup = {options, state, outcome, .device_fd = -1};
    int code = make_device(&setup);
    if (code == 0) code = make_file_system(&setup);
    if (code == 0) code = set_limits(&setup);
    if (code == 0) code = mount_device(&setup);
    outcome->code = code;
    return setup.device_fd;
}

// Whether the target's loop device is mounted at its place.
static bool is_mounted(const struct throttle_state *state) {
    struct mount_point_top top;
    return state->loop >= 0 && mount_point_top(state->mount, &top) &&
           !strcmp(top.source, device_path(state->loop).text);
}

// Removes the parts that exist; may be called twice. The mount is detached, so the rest goes with its last user.
static void tear_down(const struct throttle_state *state) {
    struct limits limits;
    limits_find(&limits, "/proc/self/mounts", "/sys");
    dev_t device = device_number(state->loop);
    if (device) {
        limits_bandwidth(&limits, state->name, device, 0, 0);
        limits_dirty(&limits, device, 0);
        if (is_mounted(state)) unmount(state->mount, true);
    }
    limits_drop_group(&limits, state->name);
    throttle_state_remove(state);
}

// --- the keeper

struct target {
    const struct throttle_options *options;
    struct throttle_state state;
};

// Returns when the target is unmounted or a signal comes. The kernel reports changes of the mount list as POLLPRI.
static void await_end(const struct throttle_state *state, const sigset_t *signals) {
    int list = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), ending = signalfd(-1, signals, SFD_CLOEXEC);
    struct pollfd events[] = {{.fd = ending, .events = POLLIN}, {.fd = list, .events = POLLPRI}};
    while (!events[0].revents && is_mounted(state)) {
        if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    }
    close(list);
    close(ending);
}

static int keep(void *context, const sigset_t *signals, int outcome_pipe) {
    struct target *target = context;
    struct target_outcome outcome = {0};
    target->state.keeper = getpid();
    outcome.code = throttle_state_create(&target->state);
    if (outcome.code < 0) {
        snprintf(outcome.why, sizeof outcome.why, "note in /run/ioseer: %s", err_text(outcome.code));
    } else {
        int device = set_up(target->options, &target->state, &outcome);
        if (outcome.code == 0) {
            guard_tell(outcome_pipe, 0, "");
            await_end(&target->state, signals);
        }
        tear_down(&target->state);
        if (device >= 0) close(device);
    }
    if (outcome.code < 0) guard_tell(outcome_pipe, outcome.code, outcome.why);
    return outcome.code;
}

// --- the guard

// The guard does not share the keeper's memory; the state file tells it what the keeper has made.
static bool read_own_state(const struct target *target, struct throttle_state *state) {
    return throttle_state_read(state, target->options->mount) == 0 && state->guard == getpid();
}

static int stop(void *context) {
    struct throttle_state state;
    bool mounted = read_own_state(context, &state) && is_mounted(&state);
    return mounted ? unmount(state.mount, false) : ERR_NOTHING;
}

static void clean_up(void *context) {
    struct throttle_state state;
    if (read_own_state(context, &state)) tear_down(&state);
}

static void remove_dead(const struct throttle_state *state) {
    int guard = guard_open(state->guard, 0);
    if (guard >= 0) {
        close(guard);
        return;
    }
    guard_await_keeper(state->keeper, 0, END_MS);
    int claim = throttle_state_claim(state, END_MS);
    if (claim < 0) return;
    struct throttle_state now;
    if (throttle_state_read(&now, state->mount) == 0 && now.guard == state->guard) tear_down(&now);
    close(claim);
}

void throttle_remove_dead(void) { throttle_state_each(remove_dead); }

int throttle_serve(const struct throttle_options *options, target_ready *ready, void *context) {
    struct target target = {options, throttle_state_for(options->mount)};
    struct guard_work work = {.keep = keep, .stop = stop, .clean_up = clean_up, .context = &target};
    return guard_run(&work, ready, context);
}

// --- other processes

bool throttle_is_at(const char *mount) {
    struct throttle_state state;
    return throttle_state_read(&state, mount) == 0;
}

int throttle_stop(const char *mount, bool force) {
    struct throttle_state state;
    FORWARD(throttle_state_read(&state, mount));
    bool mounted = is_mounted(&state);
    int code = mounted ? unmount_patiently(mount) : 0;
    if (code == -EBUSY && force) code = unmount(mount, true);
    RETURN_IF(code < 0, code);
    int process = guard_open(state.guard, 0);
    if (process < 0) {
        remove_dead(&state);
        return 0;
    }
    if (!mounted) kill(state.guard, SIGTERM); // it is still being set up
    bool ended = guard_ends_within(process, END_MS);
    close(process);
    return ended ? 0 : -ETIMEDOUT;
}

bool throttle_limits_runs_only(void) {
    struct limits limits;
    limits_find(&limits, "/proc/self/mounts", "/sys");
    return limits_are_of_group(&limits);
}

int throttle_enter(const char *mount) {
    struct throttle_state state;
    struct limits limits;
    FORWARD(throttle_state_read(&state, mount));
    limits_find(&limits, "/proc/self/mounts", "/sys");
    return limits_enter_group(&limits, state.name);
}
