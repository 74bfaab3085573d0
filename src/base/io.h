// Complete reads and writes: interrupted and short ones are continued. Files that appear whole. Locks with a limit.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

// Appends the rest of a file or pipe. ERR_LIMIT if it has more than `limit` bytes.
int io_read_all(int fd, struct bytes *out, size_t limit);
// Reads the first line of a file, without its end, up to `size` - 1 bytes. False, with an empty line, if that fails.
bool io_first_line(const char *path, char *line, size_t size);
int io_write_all(int fd, const void *data, size_t len);
// Writes a text, in one call, into a file that exists: those of the kernel take a setting in this way.
int io_write_text(const char *path, const char *text);
// At an offset. The number of bytes, which is smaller only at the end of the file, or a negative code.
int64_t io_read_at(int fd, void *out, size_t len, uint64_t offset);
int io_write_at(int fd, const void *data, size_t len, uint64_t offset);

// A file that is written beside its place and replaces what is there when it is whole. Others may be able to make files
// in the directory: one that is there already may be a link to elsewhere.
struct io_beside {
    char path[PATH_MAX];
    int fd;
};
int io_beside_open(struct io_beside *beside, const char *path, mode_t mode);
// `code`: of the work on it so far; if negative, the file is removed and the code returned.
int io_beside_close(struct io_beside *beside, const char *path, int code);

// Makes a file or a folder beside its place, and puts it there when it is whole. Returns the code of `make`, or why it
// could not be put there.
int io_make_beside(const char *path, int (*make)(void *context, const char *beside), void *context);

// Locks a file for this process alone; -ETIMEDOUT if others hold it for longer. The lock goes when the file is closed.
int io_lock(int fd, int timeout_ms);
