// Calls that the replay needs and the program did not make: opening files that the program inherited, using a file
// under another descriptor. They bypass a recorder, so that the recorded replay has the calls of the program. A
// descriptor that a recorder knows must not be closed this way: the recorder would still take its number for the file.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"

enum { UNRECORDED_FAR = 256 }; // the smallest number of duplicates: other descriptors are below

// The C library's own name of fdopen.
FILE *_IO_fdopen(int fd, const char *mode);

// Each is like the call that it is named after: -1 on failure; but errno stays as it was.

static inline int unrecorded_open(const char *path, int flags) {
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    return fd < 0 ? -1 : (int)fd;
}

static inline int unrecorded_dup(int fd) {
    long copy = cpu_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, UNRECORDED_FAR);
    return copy < 0 ? -1 : (int)copy;
}

// `to` must be open on the same file.
static inline int unrecorded_dup2(int fd, int to) { return cpu_syscall(SYS_dup3, fd, to, O_CLOEXEC) < 0 ? -1 : to; }

// For a descriptor that nothing has used.
static inline void unrecorded_close(int fd) { cpu_syscall(SYS_close, fd); }

static inline off_t unrecorded_seek(int fd, off_t offset) {
    off_t at = cpu_syscall(SYS_lseek, fd, offset, SEEK_SET);
    return at < 0 ? -1 : at;
}

static inline void unrecorded_unmap(void *at, size_t bytes) { cpu_syscall(SYS_munmap, at, bytes); }

static inline FILE *unrecorded_fdopen(int fd, const char *mode) { return _IO_fdopen(fd, mode); }

static inline bool unrecorded_exists(const char *path) { return cpu_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }
