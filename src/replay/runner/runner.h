// The runner: executes the operations of a model in the processes of a world, and measures the time of each at the same
// points as the recorder.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/lookup.h"
#include "model/model.h"
#include "replay/contract.h"
#include "replay/runner/found.h"
#include "replay/runner/paths.h"
#include "replay/runner/variants.h"
#include "replay/runner/world.h"

struct runner;
struct replay_thread;

// A file that the replay uses. The back end decides which members say that it is open.
struct replay_file {
    uint32_t set;
    uint32_t member;
    char *path;
    bool is_own;           // a variant gives it to each rank
    int fd;                // -1: not open
    bool fd_is_of_variant; // no call of the program opened it
    int flags;             // of the open
    int spare;             // a duplicate, for threads that use the file after another has closed it; -1: none
    bool duplicated;       // the program itself made the spare one
    int own;               // a duplicate that a recorder does not see, for files whose position others move; -1: none
    bool uses_own;
    bool was_open;              // a call opened it
    bool was_missing, was_used; // a call did not find it; a call that did not fail
    off_t position;
    pthread_mutex_t position_lock; // POSIX: threads of the program shared the position
    DIR *directory;                // NULL: not open
    struct replay_mapping {
        void *at;
        size_t bytes;
    } * mapping;
    size_t mappings;
    FILE *stdio;           // NULL: not open
    bool stdio_is_adopted; // on a descriptor of the program: no call of its own opened it
    FILE *older_stdio;     // opened before that one and still open; NULL: none
    off_t older_stdio_position;
    struct {
        void *open; // of the MPI back end; NULL: not open
        bool has_view;
        struct datatype_tiling view; // of this process
    } mpi[OP_MOST_HANDLES];          // by op_kind.handle
};

// The handle on a file of POSIX calls of which a variant makes calls of MPI.
enum { VARIANT_HANDLE = OP_MOST_HANDLES - 1 };

// The functions of one layer. Each returns the bytes moved or 0, or -errno.
struct replay_backend {
    unsigned layer; // enum call_layer
    // Makes what the step needs besides files, before its time is taken; or NULL.
    void (*prepare)(struct runner *runner, const struct model_step *step);
    // Whether something that the step needs is not open; or NULL.
    bool (*lacks)(const struct replay_file *file, const struct model_step *step);
    // Opens it if no step of this process does: the program inherited it, or used a descriptor that the model does not
    // know. May be NULL.
    void (*make_ready)(const struct runner *runner, struct replay_file *file, const struct model_step *step);
    int64_t (*open)(struct replay_thread *thread, struct replay_file *file, const struct model_step *step);
    int64_t (*close)(struct replay_thread *thread, struct replay_file *file, const struct model_step *step);
    int64_t (*transfer)(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                        void *data);
    int64_t (*other)(struct replay_thread *thread, struct replay_file *file, const struct model_step *step);
    // Waits for nonblocking transfers that `transfer` left in thread->submitted, together. Sets what each moved, or its
    // -errno. NULL: there are none.
    void (*complete)(void *const *request, size_t count, int64_t *moved);
    void (*end_file)(struct replay_file *file); // frees what does not end with the process; may be NULL
};

extern const struct replay_backend replay_posix, replay_stdio, replay_null;
#ifdef IOSEER_REPLAY_MPI
extern const struct replay_backend replay_mpiio;
#endif

// Whether the step is one half of a copy inside the kernel. `other` makes the copy when the second half comes.
bool posix_copies(const struct replay_thread *thread, const struct model_step *step);

// A histogram of latencies: logarithmic buckets 2 % apart, which processes can add up.
enum { LATENCY_STEPS = 32, LATENCY_DOUBLINGS = 36, LATENCY_BUCKETS = LATENCY_STEPS * LATENCY_DOUBLINGS };

struct latency {
    uint32_t bucket[LATENCY_BUCKETS]; // from 1 ns to 64 s
};

struct phase_time {
    double seconds; // in transfers
    double others;  // in other operations
};

// What a thread does, for the one that tells it (watch.c). It reads this at any time: it may see the end of one
// operation and the beginning of the next.
struct watch_place {
    const struct op_kind *kind; // of the operation; NULL: between two
    uint32_t member;            // of its files
    bool pauses;
    uint64_t bytes;   // that it may have to move
    uint64_t written; // so far
    uint64_t ended;   // operations
};

struct watch {
    pthread_t id;
    bool runs;
    const struct replay_thread *thread;
    uint32_t threads;
    pthread_mutex_t lock; // of the following
    pthread_cond_t wake;
    bool ends;
};

// A process of the replay.
struct runner {
    const struct replay_job *job;
    struct model model;
    uint32_t rank, np;
    pthread_mutex_t lock; // protects what threads change, up to `result`
    pthread_cond_t opened;
    struct paths paths;
    struct found found;
    bool *opened_somewhere; // by set: the program has calls that open it
    bool *made_somewhere;   // by set: the program has calls that make its members
    struct lookup file_of;  // set and member -> file
    struct replay_file **file;
    size_t files;
    struct phase_time *time;     // by phase
    struct latency *latency;     // by phase; or NULL
    struct replay_result result; // counts and texts only
    double clock_seconds;        // one reading of the clock
    void **mpi_types;            // by datatype of the model: those of the MPI back end
    struct variants variants;
    bool sleeps;         // there are more threads than processors
    int64_t *syncs_left; // by communicator: how many all its ranks have and this one has not done
    bool scaled;         // to another number of processes than the program had
    uint32_t threads;    // of each process
    bool waits;          // threads or processes wait for each other; constant while they run
    struct watch watch;
};

struct buffer {
    void *memory;
    size_t bytes;
};

// A nonblocking transfer that has not ended.
struct pending {
    void *request;
    const struct replay_backend *backend;
    struct replay_file *file;
    const struct op_kind *kind;
    struct op op;
    struct buffer buffer;
    unsigned char *data; // in the buffer
    double start, submitted;
    bool hides;        // the program did not know it: a variant made it of one that it waited for
    double busy_until; // the program worked before it waited
    uint64_t ahead;    // operations to do before it is waited for
    uint32_t phase;
};

// Before operation `op` of a thread, another must have done so many.
struct thread_wait {
    int64_t op;
    uint64_t done;
    struct progress *behind; // of the other
};

struct replay_thread {
    struct runner *runner;
    uint32_t number; // in the process
    pthread_t id;    // not set for the first one
    struct buffer buffer;
    unsigned char *data;  // of the transfer, in the buffer
    struct buffer *spare; // unused ones
    size_t spares;
    struct lookup used; // distribution of pauses, or turns of transfers -> how many values were used
    double free_at;     // when the last operation ended
    void *submitted;    // request of a nonblocking transfer that a back end has begun; NULL: none
    struct pending *pending;
    size_t pendings;
    bool hides; // the next ones are of a variant
    struct variant_making making;
    uint16_t copies;            // the call whose halves the next read and write are; 0: none
    struct replay_file *source; // of the copy
    int64_t source_offset;
    uint32_t source_phase;
    struct thread_wait *wait; // by operation
    size_t waits, next_wait;
    struct watch_place place;
    bool gave_up; // waiting for files that another process makes
    int status;
    struct progress *progress; // of this thread
};

// Runs the model, which is read and scaled to the world.
int runner_run(struct runner *runner);
// Prints why, and ends all processes without waiting for threads that hang (main.c).
void runner_give_up(const char *why);
// Measures how fast calls create and find names in the directory of the job, and how fast messages are (microbench.c).
int microbench_run(const struct replay_job *job);
// Gathers the results of all processes; rank 0 writes them (result.c).
int runner_report(struct runner *runner);
// Limits the synchronisations on each communicator to those that all its ranks have (syncs.c).
int syncs_limit(struct runner *runner);
// Does a synchronisation of the model (syncs.c).
void syncs_run(struct replay_thread *thread, const struct model_step *step);
// Makes the files that the program found (prepare.c).
int runner_prepare(struct runner *runner);
// Sets which sets of files the program opens itself (others it inherits), and which it makes.
int runner_find_uses(struct runner *runner);

// Threads and processes that wait for each other (waits.c). Call these before the first operation, before and after
// each operation, and after the last.
int waits_begin(struct runner *runner, struct replay_thread *thread, uint32_t threads);
void waits_before(struct replay_thread *thread);
void waits_after(struct replay_thread *thread, uint64_t count); // `count` more are done
void waits_end(struct replay_thread *thread);
// Call it before a long pause, or a barrier (INFINITY, and 0 after it): threads that wait for this one then wait
// longer.
void waits_pause(struct replay_thread *thread, double until);

// Tells what the process does (watch.c): at once, while the threads run, and for each operation. What counts as `ended`
// grows; `bytes` may have to be moved before the next one ends.
void watch_tell(const struct replay_job *job, const char *call, uint64_t ended, uint64_t bytes);
int watch_begin(struct runner *runner, const struct replay_thread *thread, uint32_t threads);
void watch_end(struct runner *runner);
void watch_operation(struct replay_thread *thread, const struct model_step *step);
void watch_done(struct replay_thread *thread);

// Spins or sleeps until the pause before the step is over (pauses.c).
void pauses_wait(struct replay_thread *thread, const struct model_step *step);
// What the program did between the start of the step, a nonblocking transfer, and its end.
struct model_overlap pauses_overlap(struct replay_thread *thread, const struct model_step *step);

// --- files (files.c)

struct replay_file *files_get(struct runner *runner, uint32_t set, uint32_t member); // NULL: no memory
void files_opened(struct runner *runner, struct replay_file *file);
// Opens what the step needs if no step opens it; waits if another thread or process opens it.
void files_make_ready(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                      const struct model_step *step);
// Opens a file that no call opens, at the offset of the step; -1 if there is no such file.
int files_open_inherited(const struct runner *runner, struct replay_file *file, const struct model_step *step);
void files_free(struct runner *runner);

// --- operations (operations.c): those of a thread, as model_expand_phase gives them; the context is the thread

int operations_run(const struct model_step *step, void *context);
// For a phase that is not chosen: counts the operation for threads that wait for it.
int operations_leave_out(const struct model_step *step, void *context);
// Counts an operation that no back end can do.
void operations_skip(struct runner *runner, const struct model_step *step);
// Counts an operation that failed; `error` is -errno.
void operations_failed(struct replay_thread *thread, const struct model_step *step, const struct replay_file *file,
                       int64_t error);
// Adds to a sum of the process, which its threads share.
void operations_add(struct runner *runner, double *sum, double seconds);
// Adds to the time of the step's phase.
void operations_add_time(struct runner *runner, const struct model_step *step, double seconds);

// --- transfers (transfers.c)

int transfers_run(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                  const struct model_step *step);
// Before each operation: waits for the nonblocking transfers that the program had waited for by now, for all of the
// file `closed` (or NULL), or for `all`.
void transfers_complete(struct replay_thread *thread, const struct replay_file *closed, bool all);
// Waits for those that a variant made nonblocking.
void transfers_end_hidden(struct replay_thread *thread);
void transfers_free(struct replay_thread *thread);
// The datatype of a transfer whose memory is not contiguous; NULL if it is, or cannot be made again.
const struct model_type *transfers_memory_type(const struct runner *runner, const struct model_step *step);

// --- data (data.c): bytes that identify their file and offset

void data_fill(void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);
uint64_t data_wrong(const void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);

// Fills or checks the data of a transfer, through the file view if there is one. `memory` is its datatype (NULL:
// contiguous). Returns the wrong bytes.
uint64_t data_of_step(void *data, const struct model_type *memory, const struct replay_file *file,
                      const struct model_step *step, uint64_t bytes, bool check);
