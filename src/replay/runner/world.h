// The processes that replay together: those of MPI, or forked ones for a program without MPI.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"

extern struct world {
    int rank, size; // world_start sets them
} world;

// How far a thread has come, for those that wait for it (waits.c). Others read and change it at any time.
struct progress {
    uint64_t done;           // operations
    uint64_t next_wanted;    // the smallest number of them that another thread waits for
    uint32_t told;           // changes when that is reached: a futex
    uint32_t rank, thread;   // whose it is
    struct progress *behind; // what this thread waits for; NULL: nothing
    uint64_t wanted;         // number of operations of that one
    double paused_until;     // its next operation begins no sooner
} __attribute__((aligned(64)));

// Of all threads of a process; NULL: its memory is not shared with this one. All zero in the beginning.
struct progress *world_progress(uint32_t rank);

// Only the world without MPI uses `np`. Returns 0 in every process, or a negative code.
int world_start(int *argc, char ***argv, int np, int threads);
void world_barrier(void);
// Makes the communicators of a program; all processes call it. Nothing without MPI.
int world_make_communicators(const struct model *model, uint32_t program);
// Waits as the synchronisation says, or lets others go on. Without MPI there are barriers of all processes only.
void world_synchronise(const struct op_kind *kind, int rank);
void world_gather(const void *mine, size_t bytes, void *all); // to rank 0; others may pass NULL for `all`
// Sends from rank 0 to rank 1 and back; false if there are no messages: without MPI, or in a single process.
bool world_exchange(void *data, size_t bytes);
// Does TASK_EXCHANGE (exchange.h); ERR_LIMIT without MPI.
struct replay_job;
int exchange_run(const struct replay_job *job);
// Ends the world; returns the exit status. A process with a status other than 0 ends the others, because they may wait
// for it.
int world_end(int status);
