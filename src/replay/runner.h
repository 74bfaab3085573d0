// The runner: executes a model's operations in the processes of a world, and takes the time of each where the recorder
// would take it.
#ifndef IOSEER_REPLAY_RUNNER_H
#define IOSEER_REPLAY_RUNNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/lookup.h"
#include "model/model.h"

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
    off_t position;
    FILE *stream; // NULL: not open
    void *mpi;    // of the MPI back end; NULL: not open
    bool has_view;
    struct datatype_tiling view; // of this process
};

// How operations of one layer are done. Each returns the bytes moved or 0, or -errno.
struct replay_backend {
    unsigned layer; // enum call_layer
    int64_t (*open)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    int64_t (*close)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    int64_t (*transfer)(struct lane_run *lane, struct replay_file *file, const struct model_step *step, void *data);
    int64_t (*other)(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
    // Ends what is under way (nonblocking transfers); may be NULL.
    int64_t (*complete)(struct lane_run *lane);
    void (*end_file)(struct replay_file *file); // closes whatever is left; may be NULL
};

extern const struct replay_backend replay_posix, replay_stdio, replay_null;
#ifdef IOSEER_REPLAY_MPI
extern const struct replay_backend replay_mpiio;
#endif

struct runner_options {
    const char *directory; // made for this replay alone
    const char *result;    // file that rank 0 writes
    bool verify;
    bool prepare;      // do nothing but make the files that were there before
    bool cold;         // and drop them from the page cache
    bool think;        // wait between operations as the program did
    bool null;         // do nothing but wait
    int64_t delay_ns;  // of an operation of the null back end
    double delay_rate; // bytes per second of it, 0: no limit
    unsigned program;
    const char *phases; // numbers and ranges, or NULL for all
};

struct phase_time {
    double seconds; // in transfers
    double others;  // in other operations
};

struct runner {
    const struct runner_options *options;
    struct model model;
    uint32_t rank, np;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    struct lookup file_of; // set and member -> file
    struct replay_file **file;
    size_t files, files_room;
    struct phase_time *time; // by phase, of this process
    uint64_t wrong_bytes;    // verified and not as written
    uint64_t failed;         // operations that failed where the program's did not
    uint64_t skipped;        // operations that no back end knows
    char first_failure[256];
    bool *barriers; // by phase: all processes have the same number of them
};

// One thread of the replay.
struct lane_run {
    struct runner *runner;
    uint32_t thread;
    void *buffer;
    size_t buffer_bytes;
    unsigned char *data;  // of the transfer, in the buffer
    struct lookup pauses; // distribution of pauses -> how many were taken of it
    double free_at;       // since when the lane has been thinking
    double pending;       // start of a nonblocking transfer that is under way; 0 for none
    uint32_t pending_phase;
    void *mpi_request; // of the MPI back end; NULL: none
    int status;
};

// The model is read, scaled to the world and stays the caller's.
int runner_run(struct runner *runner);
// Makes the files that the program found there.
int runner_prepare(struct runner *runner);

double runner_now(void); // seconds

// Of the file, made known if need be. Waits for another thread to open it where `open` is asked for.
struct replay_file *runner_file(struct runner *runner, uint32_t set, uint32_t member);
void runner_opened(struct runner *runner, struct replay_file *file);

// --- data: bytes that say where in which file they belong

void data_fill(void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);
uint64_t data_wrong(const void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes);

// A transfer's data where it belongs in the file, through the view if there is one. Wrong bytes, where it is checked.
uint64_t data_of_step(void *data, const struct replay_file *file, const struct model_step *step, uint64_t bytes,
                      bool check);

#endif
