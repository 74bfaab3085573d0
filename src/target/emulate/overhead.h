// What the way through FUSE costs a request beside the time that the server makes it wait: system calls, two processes
// to wake. It is taken off every wait, so that clients see the latency they should. After a longer wait the processors
// sleep deeper, and the way costs more.
//
// It is measured when a mount begins. From then on clients that go on at once show whether they were told too early or
// too late: what a processor does to wake up changes with all that goes on in the machine, and around a virtual one.
//
// In memory that the server shares with its guard, who measures.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "target/emulate/clients.h"

enum { WAY_POINTS = 4 };

struct overhead {
    atomic_llong asked_wait_ns; // for the requests that measure; 0 before and after
    struct {
        int64_t wait_ns; // ascending
        _Atomic int64_t cost_ns;
        _Atomic int64_t run_ns;     // of it, by the client itself
        _Atomic int64_t learned_ns; // more than was measured
    } point[WAY_POINTS];
};

struct overhead *overhead_make(void); // NULL without memory
void overhead_drop(struct overhead *way);

// A request whose time the server makes way->asked_wait_ns long; returns 0, or negative to end the measuring.
typedef int overhead_request(void *context);
void overhead_measure(struct overhead *way, overhead_request *request, void *context);

// From a plain round of a client.
void overhead_learn(struct overhead *way, const struct client_round *round);

// What to take off a wait.
int64_t overhead_cost_ns(const struct overhead *way, int64_t wait_ns);
