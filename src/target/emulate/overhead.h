// The time that FUSE adds to a request besides the server's own wait: system calls, waking two processes. The server
// shortens every wait by this overhead, so that clients see the latency that was asked for. After a longer wait the
// processors are in a deeper sleep state, and the overhead is larger.
//
// It is measured when a mount begins. Later, clients that go on at once show whether their replies came too early or
// too late: how long a processor takes to wake up changes with everything that runs on the machine, and around a
// virtual one.
//
// The struct lies in memory that the server shares with its guard, because the guard measures.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "target/emulate/clients.h"

enum { OVERHEAD_POINTS = 4 };

struct overhead {
    atomic_llong asked_wait_ns; // for the requests that measure; 0 before and after
    struct {
        int64_t wait_ns; // ascending
        _Atomic int64_t cost_ns;
        _Atomic int64_t run_ns;     // the part of it that the client itself runs
        _Atomic int64_t learned_ns; // to be added to what was measured
    } point[OVERHEAD_POINTS];
};

struct overhead *overhead_new(void); // NULL without memory
void overhead_free(struct overhead *overhead);

// Makes a request that the server answers after overhead->asked_wait_ns. Returns 0, or a negative code to stop
// measuring.
typedef int overhead_request(void *context);
void overhead_measure(struct overhead *overhead, overhead_request *request, void *context);

// Corrects the overhead by what a client did; the interval must be clean.
void overhead_learn(struct overhead *overhead, const struct client_interval *interval);

// How much to shorten a wait.
int64_t overhead_cost_ns(const struct overhead *overhead, int64_t wait_ns);
