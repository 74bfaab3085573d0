// How the runner makes each call again. The functions and the table are generated from the `replay` words in
// calls/*.calls (gen/gen_replay.py); the back ends (ops_posix.c, ops_stdio.c, ops_mpiio.c) find what a function needs
// and keep track of what is open.
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "calls.h"
#include "fmt/call.h"
#include "replay/runner/runner.h"

// What a call needs.
enum replay_form {
    REPLAY_SKIP, // the runner cannot make this call
    REPLAY_NAME,
    REPLAY_NAMES,      // two names
    REPLAY_EVERYTHING, // not about a single file
    // From here to REPLAY_MMAP: on a descriptor.
    REPLAY_FD,
    REPLAY_SEEK,
    REPLAY_DUP,
    REPLAY_DUP2,
    REPLAY_MMAP,
    REPLAY_MUNMAP, // an existing mapping
    REPLAY_MSYNC,
    REPLAY_DIR, // on an open directory
    REPLAY_OPEN,
    REPLAY_OPENDIR,
    REPLAY_FDOPENDIR,
    REPLAY_CLOSE,
    REPLAY_CLOSEDIR,
    REPLAY_POSITION, // transfers at the position of a descriptor
    REPLAY_AT,       // transfers at an offset
    REPLAY_COPY,     // copies inside the kernel: the call itself, before its halves
    REPLAY_SENDFILE, // the same, always at the position of the second file
    REPLAY_COPY_HALF,
    REPLAY_FOPEN,
    REPLAY_FDOPEN,
    REPLAY_STDIO,
    REPLAY_STDIO_SEEK,
    REPLAY_STDIO_TRANSFER,
    REPLAY_MPI, // on an open file of MPI-IO
    REPLAY_MPI_VIEW,
};

// Each function uses the members that its call has parameters for.
struct replay_arguments {
    const char *path;
    const char *path2; // the second name; for a symbolic link: its target
    bool is_directory; // the path is one; set for calls that remove names
    bool fails;        // the call failed; set for calls on descriptors
    int fd;
    int fd2;
    int flags; // of an open
    off_t off;
    size_t len;
    void *buf;
    off_t *in_offset, *out_offset; // of a copy; NULL: the descriptor's position
    DIR *dir;
    FILE *stream;
};

struct replay_call {
    uint8_t form; // enum replay_form
    // What the call returned: -1 with errno on failure; of stdio's transfers the bytes moved. NULL: the back end makes
    // the call itself.
    int64_t (*run)(const struct replay_arguments *a);
};

extern const struct replay_call replay_calls[]; // by id, as long as call_table

static inline const struct replay_call *replay_call_of(const struct model_step *step) {
    return &replay_calls[step->kind->call_id];
}

// For functions that take a list: vfprintf and vfscanf.
int replay_list(int (*call)(FILE *, const char *, va_list), FILE *stream, const char *format, ...);
