#include "sweep/memory.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/process.h"

enum { REMOVE_TRIES = 1000, REMOVE_PAUSE_NS = 10000000, MOST_DIRTY = 64 << 20, DIRTY_SHARE = 4 };

static const char group_prefix[] = "ioseer-sweep-";

struct memory_device {
    char folder[PATH_MAX]; // of its settings
    char share[32];        // of the machine's dirty pages, before
};

struct path {
    char text[PATH_MAX];
};

static struct path path_in(const char *folder, const char *name) {
    struct path path;
    if (snprintf(path.text, sizeof path.text, "%s/%s", folder, name) >= PATH_MAX) path.text[0] = 0;
    return path;
}

static int put(const char *folder, const char *name, const char *text) {
    return io_write_text(path_in(folder, name).text, text);
}

static int put_number(const char *folder, const char *name, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return put(folder, name, text);
}

// --- dirty pages of a device

// A partition has the settings of its disk. False if there are none, or others set them already.
static bool find_device(dev_t number, struct memory_device *device) {
    static const char *const places[] = {"/sys/dev/block/%u:%u/bdi", "/sys/dev/block/%u:%u/../bdi",
                                         "/sys/class/bdi/%u:%u"};
    char strict[16] = "", text[64];
    for (size_t i = 0; i < sizeof places / sizeof *places && !*strict; i++) {
        snprintf(text, sizeof text, places[i], major(number), minor(number));
        if (!realpath(text, device->folder)) continue;
        io_first_line(path_in(device->folder, "strict_limit").text, strict, sizeof strict);
    }
    if (strcmp(strict, "0") != 0) return false;
    return io_first_line(path_in(device->folder, "max_ratio_fine").text, device->share, sizeof device->share);
}

static int find_devices(struct memory_limits *limits, const struct sweep_grid *grid) {
    for (size_t i = 0; i < grid->targets; i++) {
        struct memory_device device;
        struct stat about;
        bool known = stat(grid->target[i].name, &about) < 0 || !find_device(about.st_dev, &device);
        for (size_t k = 0; k < limits->devices && !known; k++) known = !strcmp(limits->device[k].folder, device.folder);
        if (!known) FORWARD(array_push(limits->device, limits->devices, device));
    }
    return 0;
}

// Less than the runs' memory, so that there is always a page that can be dropped.
static void limit_dirty(const struct memory_limits *limits, uint64_t memory) {
    uint64_t bytes = memory / DIRTY_SHARE < MOST_DIRTY ? memory / DIRTY_SHARE : MOST_DIRTY;
    for (size_t i = 0; i < limits->devices; i++) {
        const char *folder = limits->device[i].folder;
        if (put_number(folder, "max_bytes", bytes) == 0) put(folder, "strict_limit", "1");
    }
}

static void release_dirty(const struct memory_limits *limits) {
    for (size_t i = 0; i < limits->devices; i++) {
        put(limits->device[i].folder, "strict_limit", "0");
        put(limits->device[i].folder, "max_ratio_fine", limits->device[i].share);
    }
}

// --- the group

// Ends its processes and removes it, if it is there.
static int remove_group(const char *group, bool with_processes) {
    struct path procs = path_in(group, "cgroup.procs");
    for (unsigned i = 0; i < REMOVE_TRIES && rmdir(group) < 0; i++) {
        if (errno == ENOENT) return 0;
        if (errno != EBUSY || !with_processes) return -errno;
        FILE *list = fopen(procs.text, "re");
        int process;
        while (list && fscanf(list, "%d", &process) == 1) kill(process, SIGKILL);
        if (list) fclose(list);
        clock_sleep_until(clock_now_ns() + REMOVE_PAUSE_NS);
    }
    return access(group, F_OK) < 0 ? 0 : -EBUSY;
}

static int make_group(const struct memory_limits *limits, uint64_t bytes) {
    RETURN_IF(mkdir(limits->group, 0755) < 0 && errno != EEXIST, -errno);
    return put_number(limits->group, limits->is_unified ? "memory.max" : "memory.limit_in_bytes", bytes);
}

uint64_t memory_kills(const struct memory_limits *limits) {
    uint64_t kills = 0, value;
    char name[64];
    FILE *in = fopen(path_in(limits->group, limits->is_unified ? "memory.events" : "memory.oom_control").text, "re");
    while (in && fscanf(in, "%63s %" SCNu64, name, &value) == 2) {
        if (!strcmp(name, "oom_kill")) kills = value;
    }
    if (in) fclose(in);
    return kills;
}

int memory_limit(struct memory_limits *limits, uint64_t bytes) {
    FORWARD(remove_group(limits->group, true));
    limit_dirty(limits, bytes);
    return make_group(limits, bytes);
}

void memory_release(struct memory_limits *limits, bool *killed) {
    *killed = memory_kills(limits) > 0;
    remove_group(limits->group, true);
    release_dirty(limits);
}

// --- where a group can be made

static int try_entering(const char *procs) {
    pid_t child = fork();
    int status = 0; // stays so if the kernel keeps none, because SIGCHLD is ignored
    RETURN_IF(child < 0, -errno);
    if (!child) _exit(-process_enter_group(procs));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

// Groups of sweeps that were killed together with their guards. They have no processes.
static void remove_dead(const char *folder) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, group_prefix, sizeof group_prefix - 1) != 0) continue;
        pid_t owner = (pid_t)atoi(entry->d_name + sizeof group_prefix - 1);
        if (!process_is_running(owner)) remove_group(path_in(folder, entry->d_name).text, false);
    }
    if (directory) closedir(directory);
}

static int try_place(struct memory_limits *limits, const char *folder) {
    char name[64];
    snprintf(name, sizeof name, "%s%d", group_prefix, (int)getpid());
    struct path group = path_in(folder, name), procs = path_in(group.text, "cgroup.procs");
    memcpy(limits->group, group.text, sizeof group.text);
    memcpy(limits->procs, procs.text, sizeof procs.text);
    remove_dead(folder);
    if (limits->is_unified) put(folder, "cgroup.subtree_control", "+memory"); // fails where it is not needed, too
    int code = make_group(limits, UINT64_C(1) << 40);
    if (code == 0) code = try_entering(limits->procs);
    remove_group(limits->group, true);
    return code;
}

// The group of this process in the hierarchy of version 1 that limits memory, or in that of version 2: what follows
// "N:memory:" or "0::" in /proc/self/cgroup.
static bool own_group(bool unified, char path[PATH_MAX]) {
    char line[PATH_MAX + 256];
    bool found = false;
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && !found && fgets(line, sizeof line, in)) {
        char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;
        if (!at) continue;
        *at++ = 0;
        at[strcspn(at, "\n")] = 0;
        found = unified ? !strcmp(line, "0:") : strstr(names, "memory") != NULL;
        if (found) snprintf(path, PATH_MAX, "%s", strcmp(at, "/") ? at : "");
    }
    if (in) fclose(in);
    return found;
}

// From this process's own group upwards: a group of version 2 that has processes cannot have limited groups in it.
static int find_place(struct memory_limits *limits, const struct mount *mount) {
    char own[PATH_MAX];
    struct path folder;
    limits->is_unified = !strcmp(mount->type, "cgroup2");
    RETURN_IF(!own_group(limits->is_unified, own), ERR_NOTHING);
    int first = 0;
    for (char *end;;) {
        RETURN_IF(snprintf(folder.text, sizeof folder.text, "%s%s", mount->point, own) >= PATH_MAX, -ENAMETOOLONG);
        int code = try_place(limits, folder.text);
        if (code == 0) return 0;
        if (!first) first = code;
        if (!(end = strrchr(own, '/'))) return first;
        *end = 0;
    }
}

static bool limits_memory(const struct mount *mount) {
    if (!strcmp(mount->type, "cgroup2")) {
        char line[256] = "";
        io_first_line(path_in(mount->point, "cgroup.controllers").text, line, sizeof line);
        return strstr(line, "memory") != NULL;
    }
    return !strcmp(mount->type, "cgroup") && mount->options && strstr(mount->options, "memory");
}

static int find_group(struct memory_limits *limits) {
    struct mounts mounts;
    FORWARD(mounts_read(&mounts, "/proc/self/mountinfo"));
    int code = ERR_NOTHING;
    for (size_t i = 0; i < mounts.count && code < 0; i++) {
        if (limits_memory(&mounts.item[i])) code = find_place(limits, &mounts.item[i]);
    }
    mounts_free(&mounts);
    return code;
}

// --- the guard

static void start_guard(struct memory_limits *limits) {
    char word;
    int fd;
    ssize_t got;
    if (!process_start_guard(&fd)) {
        limits->guard = fd;
        return;
    }
    signal(SIGINT, SIG_IGN);
    while ((got = read(fd, &word, 1)) < 0 && errno == EINTR) continue;
    if (got != 1) {
        remove_group(limits->group, true);
        release_dirty(limits);
    }
    _exit(0);
}

int memory_begin(struct memory_limits *limits, const struct sweep_grid *grid, struct problem *problem) {
    *limits = (struct memory_limits){.guard = -1};
    bool wanted = false;
    for (size_t i = 0; i < grid->caches; i++) wanted |= grid->cache[i] > 0;
    if (!wanted) return 0;
    int code = find_group(limits);
    if (code == ERR_NOTHING)
        return problem_set(problem, code, "--page-cache", "this system has no cgroups that limit memory");
    if (code < 0)
        return problem_set(problem, code, "--page-cache",
                           "no cgroup can be made (%s): that needs root, or a cgroup of the user, as "
                           "'systemd-run --user --scope' gives one",
                           err_text(code));
    FORWARD(find_devices(limits, grid));
    start_guard(limits);
    return limits->guard < 0 ? problem_set(problem, -EAGAIN, "--page-cache", "its guard cannot be started") : 0;
}

void memory_forget(struct memory_limits *limits) {
    if (limits->guard >= 0) close(limits->guard);
    limits->guard = -1;
}

void memory_end(struct memory_limits *limits) {
    process_tell_guard(limits->guard, "", 1);
    memory_forget(limits);
    free(limits->device);
    *limits = (struct memory_limits){.guard = -1};
}
