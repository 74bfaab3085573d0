// Times messages, and MPI-IO's calls on a file in memory (TASK_EXCHANGE).
#pragma once

#include <mpi.h>

#include "replay/contract.h"

enum {
    EXCHANGE_MOST = 64,    // timings
    EXCHANGE_REPEATS = 15, // of each
};

struct exchange {
    const struct replay_job *job;
    struct replay_timing timing[EXCHANGE_MOST];
    double seconds[EXCHANGE_MOST][EXCHANGE_REPEATS], memory[EXCHANGE_MOST][EXCHANGE_REPEATS];
    unsigned repeats[EXCHANGE_MOST];
    unsigned timings;
    uint64_t steps; // for those who watch for a stall
    int leader;     // the first rank of this one's node
    int nodes;
    char library[16];
};

// Adds a timing, once; all ranks add the same ones. Returns its place.
unsigned exchange_add(struct exchange *x, struct replay_timing timing);
// Rank 0's times count.
void exchange_note(struct exchange *x, unsigned place, double seconds, double memory);
void exchange_step(struct exchange *x, const char *what);
// All ranks meet; those that wait sleep, so that processors are free for those that work.
void exchange_wait(void);
// Whether there is time, as rank 0 knows.
bool exchange_goes_on(double until);

// Adds timings of calls until then (exchange_calls.c).
int exchange_calls(struct exchange *x, double until);
