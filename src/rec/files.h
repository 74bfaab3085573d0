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
#include "rec/recorder.h"

enum { FILES_NAME_MAX = PATH_MAX }; // files with longer names are recorded without a name

// What an entry stands for.
enum file_kind {
    FILE_ITSELF,
    FILE_PATTERN, // files whose names differ in numbers only, which have no entry of their own: there are too many
    FILE_OTHERS,  // further files of a directory
    FILE_OTHER_OBJECTS, // the same of objects in files
    FILE_COMMON,        // files of all directories
    FILE_UNNAMED,       // files whose name is not known
};

struct file {
    struct file *next;
    uint64_t hash;
    uint32_t id; // in this process, from 1
    enum file_kind kind;
    _Atomic uint32_t block_bytes; // this and the next three are as at the last open; not 0: all are known
    _Atomic uint32_t type;        // S_IFMT bits; 0 of entries for several files
    _Atomic uint64_t device;
    _Atomic uint64_t inode; // the same
    _Atomic uint32_t
        announced; // 2 * generation of the spill file that has its record, + 1 if the record has the facts of fstat
    _Atomic uint32_t counters_lock;
    uint32_t counters_generation;
    struct counters *counters[LAYER_COUNT]; // after the end of the trace; in the spill file
    struct file *_Atomic stand_in;          // the entry whose counters it uses, because there is no room for its own
    uint64_t members;                       // of an entry for several files: how many, as far as they are known
    uint8_t *members_place;                 // the same number in the spill file of that generation; not aligned
    uint32_t members_generation;
    uint64_t *mapped; // in the spill file of one generation: bytes moved through mappings, by enum mapped_kind
    uint32_t mapped_generation; // need not be aligned
    _Atomic uint32_t extents;   // of a dataset: how often a call has changed its extent
    _Atomic uint32_t choice;    // whether the trigger trace_file chooses it (triggers.c)
    uint32_t name_len;
    char name[]; // of an object in a file: the file's name, a zero byte, the object's path
};

int files_init(void);

// Writes the absolute name of `path` relative to `dirfd`, as in openat. Returns its length, or 0 if it is not known.
// Folds dots and double slashes; does not follow symbolic links.
size_t files_absolute(char name[FILES_NAME_MAX], int dirfd, const char *path);
bool files_has_dotdot(const char *path);
void files_forget_cwd(void);
extern _Atomic uint32_t files_cwd_number __attribute__((visibility("hidden"))); // of changes of the working directory
void files_start_in(const char *folder, size_t len); // the working directory at the start, for patterns of names

// The thread's buffer for names, FILES_NAME_MAX bytes; NULL in a signal handler that finds it in use.
char *files_borrow_buffer(void);
void files_return_buffer(void);

uint64_t files_hash(const char *name, size_t len);

// Whether a file is left out: system files and --exclude, unless --include names them (file_filter.c).
bool files_is_left_out(const char *name);

// The entry for a name, made if it is new; after the file cap that of its pattern or directory. NULL without memory.
struct file *files_entry(const char *name, size_t len);
// The same, unless the file is left out.
struct file *files_wanted(const char *name, size_t len, bool *left_out);
// There is no room for counters of further files: from here on their patterns and directories have entries.
void files_are_full(void);
// The entry that has counters in place of this one: of its pattern, its directory, one above, or of all. NULL: there is
// none.
struct file *files_stand_in(struct file *file);
// One common entry for files whose name is not known: too long, or no memory for it. NULL without any memory.
struct file *files_unnamed(void);
// Whether the entry stands for files past the cap.
static inline bool files_is_group(const struct file *file) {
    return file->kind != FILE_ITSELF && file->kind != FILE_UNNAMED;
}
void files_note_stat(struct file *file, const struct stat *data);

// All entries, in no order. A negative result of the function ends it and is returned.
int files_each(int (*visit)(void *context, struct file *file), void *context);

// Writes the entry's record unless the spill file has it.
void files_announce_new(struct file *file, uint32_t state);
static inline void files_announce(struct file *file) {
    bool has_facts = atomic_load_explicit(&file->block_bytes, memory_order_acquire);
    uint32_t state = (recorder.generation + 1) * 2 + has_facts;
    if (UNLIKELY(atomic_load_explicit(&file->announced, memory_order_relaxed) < state)) files_announce_new(file, state);
}

enum { FILES_SHM_DIRFD = -1000 }; // stands for /dev/shm, where shm_open looks
