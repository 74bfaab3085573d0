// File descriptors. A handle is one open file description: descriptors made by dup share it, and with it the file
// position. An entry of the table of descriptors is (generation << 32 | handle). The generation shows that a descriptor
// was closed and used again while another thread looked at it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fmt/records.h"
#include "rec/recorder.h"

enum { HANDLES_MOST = 1 << 20, HANDLES_FEW = 1 << 14 }; // descriptors; few if the address space is limited

enum handle_flag {
    HANDLE_UNKNOWN = 1 << 0,  // not looked at yet
    HANDLE_LEFT_OUT = 1 << 1, // only its bytes are counted, not its calls
    HANDLE_APPEND = 1 << 2,   // O_APPEND: writes go to the end of the file
    HANDLE_SHARED = 1 << 3,   // another process may move its position: ask the kernel
};

// One word counts the transfers that have begun and those under way, so that both change at once. A transfer was alone
// if none was under way when it began, and none began before it ended.
enum { HANDLE_ARRIVED = 1 << 12 };

struct handle {
    uint32_t serial; // unique in the process; 0 for the special handles
    _Atomic uint32_t flags;
    struct file *file;
    _Atomic uint64_t position; // the kernel's file position, while it is not shared
    _Atomic uint32_t references;
    _Atomic uint32_t next_free;
    uint32_t left_out; // enum left_out
    // Transfers that must ask the kernel for their position: HANDLE_ARRIVED for each one so far + number under way
    _Atomic uint32_t transfers;
    FILE *_Atomic stream; // last stdio stream seen on it, and what its buffer held then
    _Atomic uint64_t stream_left;
    _Atomic uint64_t stream_pending;
};

// handles_all[0] is the unknown handle; [1 … LEFT_OUT_COUNT - 1] stand for what is left out; the real ones follow.
extern struct handle *handles_all __attribute__((visibility("hidden")));
extern _Atomic uint64_t *handles_of_fd __attribute__((visibility("hidden")));
extern _Atomic unsigned handles_limit __attribute__((visibility("hidden"))); // length of both tables; may shrink

int handles_init(void);

static inline struct handle *handles_get(int fd) {
    if (UNLIKELY((unsigned)fd >= atomic_load_explicit(&handles_limit, memory_order_relaxed)))
        return &handles_all[fd < 0 ? 0 : LEFT_OUT_OTHER];
    return &handles_all[(uint32_t)atomic_load_explicit(&handles_of_fd[(unsigned)fd], memory_order_acquire)];
}

// Finds out what an unknown descriptor is. Returns the unknown handle if it is not open.
struct handle *handles_resolve(int fd);

// A handle for a file just opened on `fd`; flags as given to open.
struct handle *handles_open(int fd, struct file *file, int open_flags);
uint32_t handles_new_serial(void);
void handles_set_left_out(int fd, enum left_out why);
void handles_dup(struct handle *handle, int new_fd); // new_fd is now a second descriptor of it
void handles_forget(int fd);                         // closed, or new and not looked at yet

// Around close: between the two, the number may already belong to a new file of another thread.
struct handle *handles_begin_close(int fd);
void handles_end_close(int fd, bool closed, struct handle *handle);

size_t handles_name(int fd, char *name); // length of its file's name, in room for FILES_NAME_MAX; 0 if it has none
void handles_share_all(void);            // before fork
void handles_give_back(void);            // unmaps the unused end of the tables
int handles_highest_fd(void);
// Calls `visit` for every handle that has a stdio stream.
void handles_each_stream(void (*visit)(struct handle *handle));

enum left_out handles_classify(int fd, unsigned mode); // LEFT_OUT_NONE for files and directories
