#include "target/monitor/underlying.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

bool underlying_has(const struct underlying *beneath, uint64_t device)
{
    for (size_t i = 0; i < beneath->count; i++) {
        if (beneath->device[i] == device) return true;
    }
    return false;
}

static void add(struct underlying *beneath, uint64_t device)
{
    if (beneath->count < BENEATH_MOST && !underlying_has(beneath, device)) beneath->device[beneath->count++] = device;
}

// "8:1" from the file `dev` of a device's folder.
static void add_from_file(struct underlying *beneath, const char *path)
{
    unsigned major_number, minor_number;
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (fscanf(file, "%u:%u", &major_number, &minor_number) == 2) add(beneath, makedev(major_number, minor_number));
    fclose(file);
}

// A partition's folder lies in its disk's.
static void add_disk(struct underlying *beneath, const char *folder)
{
    char path[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/partition", folder);
    if (stat(path, &about)) return;
    snprintf(path, sizeof path, "%s/../dev", folder);
    add_from_file(beneath, path);
}

static void add_parts(struct underlying *beneath, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/slaves", folder);
    DIR *parts = opendir(path);
    const struct dirent *entry;
    while (parts && (entry = readdir(parts))) {
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/slaves/%s/dev", folder, entry->d_name) < (int)sizeof path)
            add_from_file(beneath, path);
    }
    if (parts) closedir(parts);
}

static void add_backing_file(struct underlying *beneath, const char *folder, const struct mounts *mounts)
{
    char path[PATH_MAX], name[PATH_MAX];
    snprintf(path, sizeof path, "%s/loop/backing_file", folder);
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t len = fgets(name, sizeof name, file) ? strcspn(name, "\n") : 0;
    fclose(file);
    const struct mount *mount = mounts_find_name(mounts, name, len);
    if (mount) add(beneath, mount->device);
}

// Some file systems (btrfs) have numbers of their own; the list of mounts says where they lie.
static void add_sources(struct underlying *beneath, uint64_t device, const struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->item[i];
        struct stat about;
        if (mount->device != device || strncmp(mount->source, "/dev/", 5) != 0) continue;
        if (stat(mount->source, &about) == 0 && S_ISBLK(about.st_mode)) add(beneath, about.st_rdev);
    }
}

void underlying_find(struct underlying *beneath, uint64_t device, const struct mounts *mounts, const char *sys)
{
    *beneath = (struct underlying){0};
    add(beneath, device);
    for (size_t i = 0; i < beneath->count; i++) {
        char folder[PATH_MAX / 2];
        uint64_t above = beneath->device[i];
        snprintf(folder, sizeof folder, "%s/%u:%u", sys, major(above), minor(above));
        add_disk(beneath, folder);
        add_parts(beneath, folder);
        add_backing_file(beneath, folder, mounts);
        if (major(above) == 0) add_sources(beneath, above, mounts);
    }
}
