// The files and descriptors that generated cases give to the calls under test, by the role of the parameter.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/uio.h>

#include "case.h"

enum {
    POSITION = 16, // of f.fd, of f.stream, and of f.out
    OFFSET = 4096,
    LENGTH = 32,
    IN_OFFSET = 64,
    OUT_OFFSET = 128,
    DATA_BYTES = 12288,
    PAGE_BYTES = 4096,
    BAD_FD = 700,  // never open
    HIGH_FD = 600, // above all others; free
};

struct fixture {
    char path[PATH_ROOM];    // a file of DATA_BYTES: lines of 16 bytes, "abcdefg 1234567\n"
    char other[PATH_ROOM];   // another
    char link[PATH_ROOM];    // a symbolic link
    char folder[PATH_ROOM];  // an empty directory
    char fresh[PATH_ROOM];   // does not exist, can be created
    char missing[PATH_ROOM]; // cannot be created: its directory does not exist
    char template[PATH_ROOM];
    int fd;  // on path
    int out; // on other
    int dirfd;
    int pair[2];
    char buf[64];
    struct iovec iov[2]; // two halves of LENGTH bytes
    off_t in_offset, out_offset;
    FILE *stream;
    fpos_t position_of_stream;
    DIR *dir;
    void *map; // DATA_BYTES, shared, of path
    char *line;
    size_t line_room;
    struct dirent entry, *found_entry, **entries;
    sigset_t signals;
    _Alignas(8) char room[1024]; // for whatever a call fills in
};

extern struct fixture f;

void fixture_begin(void); // everything but what the next few make
void fixture_stream(const char *mode);
void fixture_pipe_stream(void);
void fixture_dir(void);
void fixture_map(void);
void fixture_pipe(void);
void fixture_high(void);          // moves f.fd to HIGH_FD
void fixture_listener(void);      // f.fd becomes a socket with a connection waiting
void fixture_lose(int fd);        // closes it unseen by the recorder
void fixture_break(FILE *stream); // puts standard input or output on f.path, open the wrong way round
void fixture_mend(FILE *stream);  // and back
void fixture_write_nowhere(void); // bytes wait in f.stream, whose descriptor is gone
void fixture_end(void);

// A name relative to f.dirfd.
const char *fixture_relative(const char *path);
// The file behind a name given to shm_open.
const char *fixture_shared_name(const char *name);
// What the kernel calls a descriptor's file, for files without a name of their own.
const char *fixture_name_of(int fd);
// The descriptor of a stream or directory, -1 without one.
int fixture_stream_fd(FILE *stream);
int fixture_dir_fd(DIR *dir);
// For symbols that may be missing: whether `*slot` was found.
bool fixture_find(void *slot, const char *name);
