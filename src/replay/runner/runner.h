// The runner: executes a model's operations in the processes of a world, and takes the time of each where the recorder
// would take it.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/lookup.h"
#include "model/model.h"
#include "replay/contract.h"
#include "replay/runner/latency.h"
#include "replay/runner/paths.h"

struct runner;
struct lane_run;

// A file that the replay uses. What is open of it depends on the back end.
struct replay_file {
    uint32_t set;
    uint32_t member;
    char *path;
    int fd;          // -1: not open
    int flags;       // that it was opened with
    int spare;       // a duplicate for threads that go on after another one's close; -1: none
    bool duplicated; // by the program: the spare one is its
    int own;         // a duplicate that no recorder knows of, for positions that others move; -1: none
    bool uses_own;
    bool was_open; // some call opened it
    off_t position;
    DIR *directory; // NULL: not open
    void *mapping;  // the last one; NULL: none
    size_t mapped_bytes;
    FILE *stream;      // NULL: not open
    bool stream_is_on; // a descriptor of the program: no call of its own opened the stream
    FILE *older;       // one that was opened before it and is open still; NULL: none
    off_t older_position;
    void *mpi; // of the MPI back end; NULL: not open
    bool has_view;
    struct datatype_tiling view; // of this process
};

// How operations of one layer are done. Each returns the bytes moved or 0, or -errno.
struct replay_backend {
    unsigned layer;                                                               // enum call_layer
    bool (*lacks)(const struct replay_file *file, const struct model_step *step); // what the step needs open; or NULL
    // Opens it, where no step of this process did: the program had it from its parent, or under a number that the model
    // does not know. May be NULL.
    void (*make_ready)(const struct runner *runner, struct replay_file *file, const struct model_step *step);
    int64_t (*open)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    int64_t (*close)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    int64_t (*transfer)(struct lane_run *lane, struct replay_file *file, const struct model_step *step, void *data);
    int64_t (*other)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    // Waits for the end of a nonblocking transfer that `transfer` left in lane->submitted; NULL: there are none.
    int64_t (*complete)(void *request);
    void (*end_file)(struct replay_file *file); // frees what does not end with the process; may be NULL
};

extern const struct replay_backend replay_posix, replay_stdio, replay_null;
#ifdef IOSEER_REPLAY_MPI
extern const struct replay_backend replay_mpiio;
#endif

// Whether the step is one half of a copy inside the kernel: it is done by `other`, with the second half.
bool posix_copies(const struct lane_run *lane, const struct model_step *step);

#define LINK_TARGET "link-target" // where symbolic links lead

struct phase_time {
    double seconds; // in transfers
    double others;  // in other operations
};

struct runner {
    const struct replay_job *job;
    struct model model;
    uint32_t rank, np;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    struct paths paths;
    char *link_target;      // a file in the replay's folder
    bool *opened_somewhere; // by set: the program has calls that open it
    struct lookup file_of;  // set and member -> file
    struct replay_file **file;
    size_t files;
    double clock_seconds;        // that reading the clock takes
    struct phase_time *time;     // by phase, of this process
    struct latency *latency;     // so too, or NULL
    struct replay_result result; // of this process: its counts
    void **memory_types;         // by type of the model: what the MPI back end made of it
    bool sleeps;                 // there are more threads than processors
    int64_t *barriers;           // by phase: how many of each process's are done
    pthread_mutex_t wait_lock;
    struct lane_run *lane; // by thread
    bool waits;            // lanes wait for each other; never changes once they run
    uint64_t done;         // operations of all lanes, under wait_lock
};

struct buffer {
    void *memory;
    size_t bytes;
};

// A nonblocking transfer that is under way.
struct pending {
    void *request;
    const struct replay_backend *backend;
    struct replay_file *file;
    const struct op_kind *kind;
    struct op op;
    struct buffer buffer;
    unsigned char *data; // in the buffer
    double start;
    double busy_until; // work that the program did before it waited
    uint64_t ahead;    // operations that come before it is waited for
    uint32_t phase;
};

// What a lane waits for in one other.
struct lane_wait {
    const struct model_wait *wait;
    size_t next; // of its operations
};

// One thread of the replay.
struct lane_run {
    struct runner *runner;
    uint32_t thread;
    struct buffer buffer;
    unsigned char *data;  // of the transfer, in the buffer
    struct buffer *spare; // that nothing uses
    size_t spares;
    struct lookup pauses; // distribution of pauses -> how many were taken of it
    double free_at;       // since when the lane has been thinking
    int64_t barriers;     // done in this phase
    void *submitted;      // by the last transfer of a back end: its request; NULL: it has ended
    struct pending *pending;
    size_t pendings;
    uint16_t copies;            // the call whose halves the next read and write are; 0: none
    struct replay_file *source; // of the copy
    int64_t source_offset;
    uint32_t source_phase;
    struct lane_wait *wait;
    size_t waits;
    // Under runner.wait_lock where others see it:
    uint64_t done;           // operations
    uint64_t next_wanted;    // the least number of them that another waits for
    pthread_cond_t told;     // it is reached
    struct lane_run *behind; // which it waits for; NULL: none
    uint64_t wanted;         // operations of that one
    bool gave_up;            // waiting for a file that another process makes
    int status;
};

// The model is read, scaled to the world and stays the caller's.
int runner_run(struct runner *runner);
// Gathers the results of all processes; rank 0 writes them.
int runner_report(struct runner *runner);
// How many barriers of each phase all processes come to.
int runner_choose_barriers(struct runner *runner);
// Lanes that wait for each other (waits.c): before the first operation of all, around each one, behind a lane's last.
int waits_begin(struct runner *runner, struct lane_run *lane, uint32_t lanes);
void waits_before(struct lane_run *lane);
void waits_after(struct lane_run *lane, uint64_t count); // so many more are done
void waits_end(struct lane_run *lane);
// Makes the files that the program found there.
int runner_prepare(struct runner *runner);
// Which sets of files the program opens itself; others it has from the program that started it.
int runner_find_opened(const struct runner *runner, bool *opened);

// Of the file, made known if need be. Waits for another thread to open it where `open` is asked for.
struct replay_file *runner_file(struct runner *runner, uint32_t set, uint32_t member);
void runner_opened(struct runner *runner, struct replay_file *file);
// A descriptor of a file that no call opened, where the step begins; -1 where there is no such file.
int runner_open_inherited(const struct runner *runner, struct replay_file *file, const struct model_step *step);
// Of a transfer whose memory is not contiguous and can be made again; else NULL.
const struct model_type *runner_memory_type(const struct runner *runner, const struct model_step *step);
// An operation that no back end knows.
void runner_skip(struct runner *runner, const struct model_step *step);

// --- data: bytes that say where in which file they belong

void data_fill(void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);
uint64_t data_wrong(const void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);

// A transfer's data where it belongs in the file, through the view if there is one, in memory of this type (NULL: all
// of it). Wrong bytes, where it is checked.
uint64_t data_of_step(void *data, const struct model_type *memory, const struct replay_file *file,
                      const struct model_step *step, uint64_t bytes, bool check);
