// Descriptors and what they stand for. A handle is one open file description: descriptors made by dup share it, and
// with it the file position. An entry of the table is (generation << 32 | handle), so that a descriptor closed and
// reused while another thread looks at it is noticed.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fmt/records.h"
#include "rec/recorder.h"

enum { HANDLES_MOST = 1 << 20, HANDLES_FEW = 1 << 14 }; // descriptors; few where address space is limited

enum handle_flag {
    HANDLE_UNKNOWN = 1 << 0,  // nobody has looked yet
    HANDLE_LEFT_OUT = 1 << 1, // only its bytes are tallied
    HANDLE_APPEND = 1 << 2,   // O_APPEND: writes go to the end, wherever that is
    HANDLE_SHARED = 1 << 3,   // another process may move its position: ask the kernel
};

// In one word with the number under way, so that nobody can come in between: a transfer that found none under way and
// saw none arrive was alone.
enum { HANDLE_ARRIVED = 1 << 12 };

struct handle {
    uint32_t serial; // unique in the process; 0 for the special ones below
    _Atomic uint32_t flags;
    struct file *file;
    _Atomic uint64_t position; // the kernel's file position, while it is not shared
    _Atomic uint32_t references;
    _Atomic uint32_t next_free;
    uint32_t left_out; // enum left_out
    _Atomic uint32_t
        transfers;        // whose position the kernel must tell: HANDLE_ARRIVED for each so far + number under way
    FILE *_Atomic stream; // last stdio stream seen on it, and what its buffer held then
    _Atomic uint64_t stream_left;
    _Atomic uint64_t stream_pending;
};

// handles_all[0] is the unknown handle; [1 … LEFT_OUT_COUNT - 1] stand for what is left out; then come the real ones.
extern struct handle *handles_all __attribute__((visibility("hidden")));
extern _Atomic uint64_t *handles_of_fd __attribute__((visibility("hidden")));
extern _Atomic unsigned handles_limit __attribute__((visibility("hidden"))); // length of both; may shrink

int handles_init(void);

static inline struct handle *handles_get(int fd)
{
    if (UNLIKELY((unsigned)fd >= atomic_load_explicit(&handles_limit, memory_order_relaxed)))
        return &handles_all[fd < 0 ? 0 : LEFT_OUT_OTHER];
    return &handles_all[(uint32_t)atomic_load_explicit(&handles_of_fd[fd], memory_order_acquire)];
}

// Finds out what an unknown descriptor is; the unknown handle where it is no open descriptor.
struct handle *handles_resolve(int fd);

// A handle for a file just opened on `fd`; flags as given to open.
struct handle *handles_open(int fd, struct file *file, int open_flags);
uint32_t handles_new_serial(void);
void handles_set_left_out(int fd, enum left_out why);
void handles_dup(struct handle *handle, int new_fd); // new_fd now is a second name of it
void handles_forget(int fd);                         // closed, or new and not looked at yet

// Around close: in between, the number may already belong to another thread's new file.
struct handle *handles_begin_close(int fd);
void handles_end_close(int fd, bool closed, struct handle *handle);

size_t handles_name(int fd, char *name); // of its file; room FILES_NAME_MAX; 0 where it has none
void handles_share_all(void);            // before fork
void handles_give_back(void);            // unmaps the far end of the tables
int handles_highest_fd(void);
// Calls `visit` for every handle that has a stdio stream.
void handles_each_stream(void (*visit)(struct handle *handle));

enum left_out handles_classify(int fd, unsigned mode); // LEFT_OUT_NONE for files and directories
