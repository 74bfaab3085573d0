// From a job's spill files to its log.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"
#include "fmt/spill.h"

#define PACK_JOB_FILE "job"            // in the spill directory: what `record` knew at the start, in case it is killed
#define PACK_DEVICES_SUFFIX ".devices" // of a file there: RECORD_DEVICE and RECORD_MOUNT records of one host

struct log;

struct pack_setting {
    const char *name;
    const char *value; // NULL: not stored
};

// A process that `record` reaped.
struct pack_child {
    uint32_t pid;
    int status;       // as waitpid gives it
    uint64_t mono_ns; // when
    bool chars_known;
    uint64_t chars[2]; // rchar, wchar at its end, its own reaped children included
};

// What `record` knows about the job.
struct pack_job {
    const char *const *command;
    size_t command_words;
    const char *host;
    const char *cwd;
    const char *batch_id; // NULL without a batch system
    const char *only;     // what is to be recorded, in words; NULL: everything
    uint32_t uid;
    bool joins;    // the command ran already: its exit status is not known
    bool complete; // the command's end was seen: `end`, `status`, `children` and `chars` are valid
    int status;
    struct spill_moment start; // `units` is the unshifted CPU counter; 0 if there is none
    struct spill_moment end;
    bool chars_known;
    uint64_t chars[2];
    const struct pack_setting *settings;
    size_t setting_count;
    const struct pack_child *children;
    size_t child_count;
};

// What the name of a log may say about the job.
struct pack_name {
    char program[256];
    char id[96];    // of the batch system; empty without one
    char host[256]; // where it began
    uint32_t pid;   // of the process that began it; 0: not known
    uint32_t user;
    uint64_t start_ns; // since the epoch
};

struct pack_options {
    bool replace;                                                             // an existing log may be overwritten
    void (*progress)(void *context, uint64_t done_bytes, uint64_t all_bytes); // may be NULL
    void *progress_context;
    const char *mountinfo; // NULL: the kernel's list of mounts
    unsigned mode;         // permissions of the log; 0: 0600
    uint64_t most_ranks;   // more ranks that are alike have one record together (group.c); 0: each has its own
    // Without a path: chooses it, 0 or a negative code.
    int (*choose_path)(void *context, const struct pack_name *name, char path[4096]);
    void *choose_context;
};

struct pack_result {
    uint64_t events;
    uint64_t processes;      // a process that calls exec counts once
    uint64_t running;        // of these, still running
    bool joined;             // some ran already when their recording began
    uint64_t away;           // hosts whose records have not arrived in the directory
    uint64_t unrecorded;     // processes that could not make their spill file
    uint64_t unfollowed;     // programs that no recorder can be loaded into and that ran unseen
    char unfollowed_why[64]; // one of the reasons
    uint64_t bytes[2];       // read, written by the recorded calls
    uint64_t counted[2];     // of these, by system calls whose bytes the kernel counts
    uint64_t lost_events;
    uint64_t damaged_bytes;
    uint64_t log_bytes;
};

// Packs all spill files in the directory. Without a job (NULL) the facts come from the directory's job file. A failure
// leaves no log and does not change the spill files. ERR_NOTHING if it is not a spill directory. Without a path the
// options choose one.
int pack_directory(const struct pack_job *job, const char *spill_dir, const char *log_path,
                   const struct pack_options *options, struct pack_result *result);

// 1 if a process of the job still runs on this host, 0 if not, or a negative code. `counts_unseen`: also one that has
// become a program without the recorder.
int pack_is_running(const char *spill_dir, bool counts_unseen);

// Opens what a user names as LOG: a log, or a directory of spill files, which is packed into a temporary log first;
// `is_directory` says which. The caller ignores SIGXFSZ: a temporary log that may not grow large enough is an error,
// like a full disk.
int pack_open_log(struct log **log, const char *path, bool *is_directory, struct problem *problem);

// Opens a log that `make` writes in the folder for temporary files; nothing is left there.
int pack_open_temporary(struct log **log, int (*make)(void *context, const char *path), void *context,
                        struct problem *problem);

// Whether a log may get this name, for a check before the work begins. `problem` says why not.
int pack_check_name(const char *log_path, bool replace, struct problem *problem);

// Writes the job file into a spill directory.
int pack_save_job(const struct pack_job *job, const char *spill_dir);

// Removes a spill directory and all files in it.
int pack_remove_directory(const char *spill_dir);
