// Where the machine's file systems are mounted, from the kernel's list. Nothing accesses the file systems, because one
// that hangs would block the caller.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount {
    uint64_t device; // st_dev of its files
    char *point;
    char *type;    // "ext4" …
    char *source;  // "/dev/sda1", "host:/home" …
    char *options; // of the file system: "rw,size=64k" …; NULL if the list has none
};

struct mounts {
    struct mount *item; // in the order they were mounted
    size_t count;
};

// Reads a list in the form of /proc/self/mountinfo; skips lines that make no sense.
int mounts_read(struct mounts *mounts, const char *path);
void mounts_free(struct mounts *mounts);

// The innermost mount that contains the absolute name, of this device or of any (0); NULL if there is none.
const struct mount *mounts_find(const struct mounts *mounts, uint64_t device, const char *name, size_t name_len);

// The first mount of this device; NULL if there is none.
const struct mount *mounts_of_device(const struct mounts *mounts, uint64_t device);

// Whether an absolute name is that of the mount point or below it.
bool mounts_lies_under(const char *name, size_t name_len, const char *point, size_t point_len);

// The kernel's lists write white space and backslashes as a backslash and three octal digits.
void mounts_unescape(char *text);
