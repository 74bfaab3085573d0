// The files that this process has used, by name. Entries stay forever; a look-up takes no lock.
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fmt/call.h"
#include "fmt/counters.h"

enum { FILES_NAME_MAX = PATH_MAX }; // files with longer names are recorded without a name

struct file {
    struct file *next;
    uint64_t hash;
    uint32_t id;                  // in this process, from 1
    _Atomic uint32_t block_bytes; // this and the next three are as at the last open
    _Atomic uint64_t device;
    _Atomic uint64_t inode;
    _Atomic uint32_t type; // S_IFMT bits, 0 if not known
    _Atomic uint32_t
        announced; // 2 * generation of the spill file that has its record, + 1 if the record has the facts of fstat
    _Atomic uint32_t counters_lock;
    uint32_t counters_generation;
    struct counters *counters[LAYER_COUNT]; // after the end of the trace; in the spill file
    uint64_t *mapped; // in the spill file of one generation: bytes moved through mappings, by enum mapped_kind
    uint32_t mapped_generation; // need not be aligned
    _Atomic uint32_t extents;   // of a dataset: how often a call has changed its extent
    uint32_t name_len;
    char name[]; // of an object in a file: the file's name, a zero byte, the object's path
};

int files_init(void);

// Writes the absolute name of `path` relative to `dirfd`, as in openat. Returns its length, or 0 if it is not known.
// Folds dots and double slashes; does not follow symbolic links.
size_t files_absolute(char name[FILES_NAME_MAX], int dirfd, const char *path);
bool files_has_dotdot(const char *path);
void files_forget_cwd(void);

// The thread's buffer for names, FILES_NAME_MAX bytes; NULL in a signal handler that finds it in use.
char *files_borrow_buffer(void);
void files_return_buffer(void);

// Whether a file is left out: system files and --exclude, unless --include names them (file_filter.c).
bool files_is_left_out(const char *name);

// The entry for a name, made if it is new; after the file cap one common entry. NULL without memory.
struct file *files_entry(const char *name, size_t len);
// One common entry for files whose name is not known: too long, or no memory for it. NULL without any memory.
struct file *files_unnamed(void);
void files_note_stat(struct file *file, const struct stat *data);

// All entries, in no order. A negative result of the function ends it and is returned.
int files_each(int (*visit)(void *context, struct file *file), void *context);

// Writes the entry's record unless the spill file has it.
void files_announce(struct file *file);

enum { FILES_SHM_DIRFD = -1000 }; // stands for /dev/shm, where shm_open looks
