// The two files by which ioseer and the runner communicate: the job, which ioseer writes and all processes of the
// runner read, and the result, which rank 0 writes. Both sides use this one reader and writer. A missing or unknown key
// is an error: it means that the two programs have different versions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json_in.h"

enum replay_task {
    TASK_RUN,        // the model's operations
    TASK_PREPARE,    // make the files that the program found; in one process
    TASK_MICROBENCH, // no model: times metadata calls and messages
    TASK_COUNT
};

// State of the page cache for files that exist before the run.
enum replay_cache { CACHE_AS_RECORDED, CACHE_COLD, CACHE_WARM, CACHE_COUNT };

struct replay_job {
    const char *model;     // file
    const char *directory; // made for this replay alone
    const char *result;    // file
    const char *progress;  // file for the number of the phase that rank 0 is in; NULL: none
    const char *slots;     // file in which each process tells what it does: struct replay_slot by rank; NULL: none
    const char *phases;    // numbers and ranges, "1,3-5"; NULL: all
    const char *variant;   // as text (model/variant.h): other calls in place of the recorded ones; NULL: none
    uint32_t task;         // enum replay_task
    uint32_t cache;        // enum replay_cache
    uint32_t program;      // of the model
    uint32_t np;           // processes
    bool verify;           // check what is read
    bool think;            // wait between operations as the program did
    bool drop;             // drop files from the page cache before they are opened
    bool durable;          // the time of syncs belongs to the transfers before them
    bool latency;          // report the latency of single transfers
    bool null;             // do no I/O, only wait:
    uint64_t delay_ns;     // for each operation
    double delay_rate;     // bytes per second; 0: no limit
};

// What a process does. All zero: it has not started.
struct replay_slot {
    uint64_t started; // 1
    uint64_t ended;   // operations
    uint64_t bytes;   // that the operations under way may have to move
    uint64_t pauses;  // 1: a thread pauses as the program did, so the process goes on by itself
    char call[64];    // where it waits
    char file[160];   // the name of the program's file, without its folder; empty: none
    char group[32];   // the model's name of the communicator; empty: none
    char behind[32];  // the rank or thread that it waits for; empty: none is known
};

// Seconds of the slowest process.
struct replay_phase {
    double time;                     // in transfers
    double others;                   // in other operations
    double latency_p50, latency_p99; // of single transfers, if the job asks for them
};

struct replay_result {
    struct replay_phase *phase; // by phase of the model
    size_t phases;
    double total;         // of their times
    uint64_t wrong_bytes; // read that differ from what was written
    uint64_t failed;      // operations that failed, but not in the recorded run
    uint64_t skipped;     // operations that no back end can do
    char first_failure[256];
    char first_skipped[64];            // name of the call
    double create, stat, open, unlink; // calls per second, of TASK_MICROBENCH
    double message_latency;            // seconds; 0 without MPI
    double message_bandwidth;          // bytes per second
};

int contract_write_job(const struct replay_job *job, const char *path);
// The texts of the job live in `memory`, which the caller frees unless this fails.
int contract_read_job(struct replay_job *job, struct json_in *memory, const char *path, struct json_in_error *error);

int contract_write_result(const struct replay_result *result, const char *path);
// Free the phases in any case, also after an error.
int contract_read_result(struct replay_result *result, const char *path, struct json_in_error *error);
