#include "target/monitor/underlying.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/io.h"

bool underlying_has(const struct underlying *underlying, uint64_t device) {
    for (size_t i = 0; i < underlying->count; i++) {
        if (underlying->device[i] == device) return true;
    }
    return false;
}

static void add(struct underlying *underlying, uint64_t device) {
    if (underlying->count < UNDERLYING_MOST && !underlying_has(underlying, device))
        underlying->device[underlying->count++] = device;
}

// The file `dev` in a device's directory has its number, as "8:1".
static void add_from_file(struct underlying *underlying, const char *path) {
    unsigned major_number, minor_number;
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (fscanf(file, "%u:%u", &major_number, &minor_number) == 2) add(underlying, makedev(major_number, minor_number));
    fclose(file);
}

// The directory of a partition lies in that of its disk.
static void add_disk(struct underlying *underlying, const char *folder) {
    char path[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/partition", folder);
    if (stat(path, &about)) return;
    snprintf(path, sizeof path, "%s/../dev", folder);
    add_from_file(underlying, path);
}

static void add_parts(struct underlying *underlying, const char *folder) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/slaves", folder);
    DIR *parts = opendir(path);
    const struct dirent *entry;
    while (parts && (entry = readdir(parts))) {
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/slaves/%s/dev", folder, entry->d_name) < (int)sizeof path)
            add_from_file(underlying, path);
    }
    if (parts) closedir(parts);
}

static void add_backing_file(struct underlying *underlying, const char *folder, const struct mounts *mounts) {
    char path[PATH_MAX], name[PATH_MAX];
    snprintf(path, sizeof path, "%s/loop/backing_file", folder);
    if (!io_first_line(path, name, sizeof name)) return;
    const struct mount *mount = mounts_find(mounts, 0, name, strlen(name));
    if (mount) add(underlying, mount->device);
}

// Some file systems (btrfs) have device numbers of their own; the list of mounts names their block devices.
static void add_sources(struct underlying *underlying, uint64_t device, const struct mounts *mounts) {
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->item[i];
        struct stat about;
        if (mount->device != device || strncmp(mount->source, "/dev/", 5) != 0) continue;
        if (stat(mount->source, &about) == 0 && S_ISBLK(about.st_mode)) add(underlying, about.st_rdev);
    }
}

void underlying_list(struct underlying *underlying, uint64_t device, const struct mounts *mounts, const char *sys) {
    *underlying = (struct underlying){0};
    add(underlying, device);
    for (size_t i = 0; i < underlying->count; i++) {
        char folder[PATH_MAX / 2];
        uint64_t above = underlying->device[i];
        snprintf(folder, sizeof folder, "%s/%u:%u", sys, major(above), minor(above));
        add_disk(underlying, folder);
        add_parts(underlying, folder);
        add_backing_file(underlying, folder, mounts);
        if (major(above) == 0) add_sources(underlying, above, mounts);
    }
}
