#include "target/system/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mounts.h"

// Copies what fits.
static void copy_text(char out[STORAGE_TEXT], const char *text) {
    size_t length = strlen(text);
    if (length > STORAGE_TEXT - 1) length = STORAGE_TEXT - 1;
    memcpy(out, text, length);
    out[length] = 0;
}

// Reads a file of a device's folder in /sys; empty if there is none.
static void read_attribute(const char *folder, const char *name, char out[STORAGE_TEXT]) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    io_first_line(path, out, STORAGE_TEXT);
    for (size_t length = strlen(out); length && out[length - 1] == ' ';) out[--length] = 0;
}

static void describe_mount(struct storage *storage, dev_t device) {
    struct mounts mounts;
    if (mounts_read(&mounts, "/proc/self/mountinfo") < 0) return;
    const struct mount *mount = mounts_find(&mounts, device, storage->directory, strlen(storage->directory));
    if (mount) {
        copy_text(storage->file_system, mount->type);
        copy_text(storage->source, mount->source);
        copy_text(storage->options, mount->options ? mount->options : "");
    }
    mounts_free(&mounts);
}

static bool device_folder(dev_t device, char folder[PATH_MAX]) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device), minor(device));
    return realpath(path, folder);
}

// Btrfs and the like have a device number of their own, but are mounted from a block device. A partition has the queue
// of its disk.
static void describe_device(struct storage *storage, dev_t device) {
    char path[PATH_MAX], folder[PATH_MAX], text[STORAGE_TEXT];
    struct stat source;
    if (!device_folder(device, folder)) {
        if (stat(storage->source, &source) < 0 || !S_ISBLK(source.st_mode)) return;
        if (!device_folder(source.st_rdev, folder)) return;
    }
    copy_text(storage->device, strrchr(folder, '/') + 1);
    snprintf(path, sizeof path, "%.4000s/partition", folder);
    if (access(path, F_OK) == 0) *strrchr(folder, '/') = 0;
    read_attribute(folder, "queue/rotational", text);
    if (*text) storage->rotational = *text == '1';
    read_attribute(folder, "queue/write_cache", storage->write_cache);
    read_attribute(folder, "device/model", storage->model);
    read_attribute(folder, "md/level", storage->raid);
    read_attribute(folder, "md/chunk_size", text);
    storage->stripe_bytes = strtoull(text, NULL, 10);
}

int storage_describe(const char *directory, struct storage *storage) {
    struct stat about;
    struct statvfs room;
    char path[PATH_MAX];
    *storage = (struct storage){.rotational = -1};
    RETURN_IF(!realpath(directory, path), -errno);
    RETURN_IF(stat(path, &about) < 0 || statvfs(path, &room) < 0, -errno);
    RETURN_IF(!S_ISDIR(about.st_mode), -ENOTDIR);
    copy_text(storage->directory, path);
    describe_mount(storage, about.st_dev);
    describe_device(storage, about.st_dev);
    storage->size_bytes = (uint64_t)room.f_blocks * room.f_frsize;
    storage->free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    storage->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    storage->processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname system;
    if (uname(&system) == 0) {
        copy_text(storage->host, system.nodename);
        copy_text(storage->kernel, system.release);
    }
    return 0;
}

bool storage_has_direct(const char *directory) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/ioseer-direct.XXXXXX", directory) >= (int)sizeof path) return false;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return false;
    close(fd);
    enum { PAGE = 4096 };
    void *data = aligned_alloc(PAGE, PAGE);
    fd = data ? open(path, O_RDWR | O_DIRECT | O_CLOEXEC) : -1;
    if (data) memset(data, 0, PAGE);
    bool works = fd >= 0 && pwrite(fd, data, PAGE, 0) == PAGE && pread(fd, data, PAGE, 0) == PAGE;
    if (fd >= 0) close(fd);
    free(data);
    unlink(path);
    return works;
}
