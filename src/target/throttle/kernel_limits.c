#include "target/throttle/kernel_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

enum { NO_LIMIT_RATIO = 100, DROP_TRIES = 100, DROP_PAUSE_NS = 10000000 };

struct path {
    char text[PATH_MAX];
};

__attribute__((format(printf, 1, 2))) static struct path path_of(const char *format, ...) {
    struct path path;
    va_list words;
    va_start(words, format);
    int length = vsnprintf(path.text, sizeof path.text, format, words);
    va_end(words);
    if (length >= PATH_MAX) path.text[0] = 0;
    return path;
}

__attribute__((format(printf, 2, 3))) static int put(struct path path, const char *format, ...) {
    char text[128];
    va_list words;
    va_start(words, format);
    int length = vsnprintf(text, sizeof text, format, words);
    va_end(words);
    int fd = open(path.text, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? ERR_NOTHING : -errno;
    int code = write(fd, text, (size_t)length) < 0 ? -errno : 0;
    close(fd);
    return code;
}

// --- controllers

static bool has_word(const char *path, const char *word) {
    char text[256] = " ", *at = text + 1;
    if (!io_first_line(path, at, sizeof text - 1)) return false;
    char *found = strstr(at, word), after = found ? found[strlen(word)] : 0;
    return found && found[-1] == ' ' && (after == ' ' || !after);
}

void limits_find(struct limits *limits, const char *mounts, const char *system) {
    *limits = (struct limits){.system = system};
    FILE *list = setmntent(mounts, "re");
    if (!list) return;
    struct mntent entry;
    char text[3 * PATH_MAX];
    while (getmntent_r(list, &entry, text, sizeof text)) {
        bool first = !strcmp(entry.mnt_type, "cgroup"), second = !strcmp(entry.mnt_type, "cgroup2");
        if (first && hasmntopt(&entry, "blkio")) snprintf(limits->blkio, PATH_MAX, "%s", entry.mnt_dir);
        if (first && hasmntopt(&entry, "memory")) snprintf(limits->memory, PATH_MAX, "%s", entry.mnt_dir);
        if (second && has_word(path_of("%s/cgroup.controllers", entry.mnt_dir).text, "io"))
            snprintf(limits->unified, PATH_MAX, "%s", entry.mnt_dir);
    }
    endmntent(list);
}

bool limits_are_of_group(const struct limits *limits) { return !limits->blkio[0] && limits->unified[0]; }

// --- limits of a device

static int limit_of_unified(const struct limits *limits, const char *group, dev_t device, uint64_t read,
                            uint64_t write) {
    char reading[32] = "max", writing[32] = "max";
    if (read) snprintf(reading, sizeof reading, "%" PRIu64, read);
    if (write) snprintf(writing, sizeof writing, "%" PRIu64, write);
    return put(path_of("%s/%s/io.max", limits->unified, group), "%u:%u rbps=%s wbps=%s", major(device), minor(device),
               reading, writing);
}

int limits_bandwidth(const struct limits *limits, const char *group, dev_t device, uint64_t read, uint64_t write) {
    if (limits_are_of_group(limits)) return limit_of_unified(limits, group, device, read, write);
    RETURN_IF(!limits->blkio[0], ERR_NOTHING);
    FORWARD(put(path_of("%s/blkio.throttle.read_bps_device", limits->blkio), "%u:%u %" PRIu64, major(device),
                minor(device), read));
    return put(path_of("%s/blkio.throttle.write_bps_device", limits->blkio), "%u:%u %" PRIu64, major(device),
               minor(device), write);
}

int limits_dirty(const struct limits *limits, dev_t device, uint64_t bytes) {
    struct path folder = path_of("%s/class/bdi/%u:%u", limits->system, major(device), minor(device));
    FORWARD(put(path_of("%.4000s/strict_limit", folder.text), "%d", bytes != 0));
    if (!bytes) return put(path_of("%.4000s/max_ratio", folder.text), "%d", NO_LIMIT_RATIO);
    return put(path_of("%.4000s/max_bytes", folder.text), "%" PRIu64, bytes);
}

// --- groups

static int make_folder(struct path path) { return mkdir(path.text, 0755) < 0 && errno != EEXIST ? -errno : 0; }

static int make_unified_group(const struct limits *limits, const char *group, uint64_t memory) {
    FORWARD(put(path_of("%s/cgroup.subtree_control", limits->unified), "+io +memory"));
    FORWARD(make_folder(path_of("%s/%s", limits->unified, group)));
    return memory ? put(path_of("%s/%s/memory.max", limits->unified, group), "%" PRIu64, memory) : 0;
}

int limits_make_group(const struct limits *limits, const char *group, uint64_t memory) {
    if (limits_are_of_group(limits)) return make_unified_group(limits, group, memory);
    if (!memory) return 0;
    RETURN_IF(!limits->memory[0], ERR_NOTHING);
    FORWARD(make_folder(path_of("%s/%s", limits->memory, group)));
    return put(path_of("%s/%s/memory.limit_in_bytes", limits->memory, group), "%" PRIu64, memory);
}

int limits_enter_group(const struct limits *limits, const char *group) {
    int code = ERR_NOTHING;
    if (limits->unified[0]) code = put(path_of("%s/%s/cgroup.procs", limits->unified, group), "0");
    if (code == ERR_NOTHING && limits->memory[0]) code = put(path_of("%s/%s/cgroup.procs", limits->memory, group), "0");
    return code;
}

// Misses processes that start meanwhile, so the caller tries again.
static void empty_group(const char *controller, const char *group) {
    FILE *list = fopen(path_of("%s/%s/cgroup.procs", controller, group).text, "re");
    int process;
    if (!list) return;
    while (fscanf(list, "%d", &process) == 1) put(path_of("%s/cgroup.procs", controller), "%d", process);
    fclose(list);
}

static int drop_from(const char *controller, const char *group) {
    struct path path = path_of("%s/%s", controller, group);
    for (unsigned i = 0; controller[0] && rmdir(path.text) < 0; i++) {
        if (errno == ENOENT) return 0;
        if (errno != EBUSY || i == DROP_TRIES) return -errno;
        empty_group(controller, group);
        clock_sleep_until(clock_now_ns() + DROP_PAUSE_NS);
    }
    return 0;
}

int limits_drop_group(const struct limits *limits, const char *group) {
    int code = drop_from(limits->unified, group), other = drop_from(limits->memory, group);
    return code < 0 ? code : other;
}
