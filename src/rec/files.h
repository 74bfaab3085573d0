// The files that this process touched, by name. Entries are made once and stay; looking one up takes no lock.
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fmt/call.h"
#include "fmt/counters.h"

enum { FILES_NAME_MAX = PATH_MAX }; // longer names are no names; buffers of this size lie on the program's stack

struct file {
    struct file *next;
    uint64_t hash;
    uint32_t id;                  // in this process, from 1
    _Atomic uint32_t block_bytes; // with the next three: as the last open saw it
    _Atomic uint64_t device;
    _Atomic uint64_t inode;
    _Atomic uint32_t type;      // S_IFMT bits, 0 before anyone asked
    _Atomic uint32_t announced; // 2 * generation of the spill file that has its record, + 1 with what fstat said
    _Atomic uint32_t counters_lock;
    uint32_t counters_generation;
    struct counters *counters[LAYER_COUNT]; // past the trace cap, in the spill file
    uint32_t name_len;
    char name[];
};

// The absolute name of `path` as the process sees it, relative to `dirfd` as in openat; its length, or 0 where it
// cannot be told. Dots and double slashes are folded; symbolic links stay.
size_t files_absolute(char name[FILES_NAME_MAX], int dirfd, const char *path);
bool files_has_dotdot(const char *path);
void files_forget_cwd(void);

// The thread's buffer for names, FILES_NAME_MAX bytes; NULL where a signal handler finds it taken: no name then.
char *files_borrow_buffer(void);
void files_return_buffer(void);

// System files and what --exclude names, but for what --include names.
bool files_is_left_out(const char *name);

// The entry for a name; past the file cap one common entry. NULL without memory.
struct file *files_entry(const char *name, size_t len);
// One common entry for files whose name cannot be told: too long, or no memory for it. NULL only without any memory.
struct file *files_unnamed(void);
void files_note_stat(struct file *file, const struct stat *data);

// Sees to it that the spill file has the entry's record.
void files_announce(struct file *file);

enum { FILES_SHM_DIRFD = -1000 }; // stands for /dev/shm, where shm_open looks
