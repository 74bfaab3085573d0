// What the way through FUSE costs a request beside the time that the server makes it wait: system calls, two processes
// to wake. It is taken off every wait, so that clients see the latency they should. After a longer wait the processors
// sleep deeper, and the way costs more.
//
// It is measured when a mount begins. From then on clients that go on at once show whether they were told too early or
// too late: what a processor does to wake up changes with all that goes on in the machine, and around a virtual one.
//
// In memory that the server shares with its guard, who measures.
#ifndef IOSEER_TARGET_WAY_H
#define IOSEER_TARGET_WAY_H

#include <stdatomic.h>
#include <stdint.h>

#include "target/clients.h"

enum { WAY_POINTS = 4 };

struct way {
    atomic_llong asked_wait_ns; // for the requests that measure; 0 before and after
    struct {
        int64_t wait_ns; // ascending
        _Atomic int64_t cost_ns;
        _Atomic int64_t run_ns;     // of it, by the client itself
        _Atomic int64_t learned_ns; // more than was measured
    } point[WAY_POINTS];
};

struct way *way_make(void); // NULL without memory
void way_drop(struct way *way);

// A request whose time the server makes way->asked_wait_ns long; returns 0, or negative to end the measuring.
typedef int way_request(void *context);
void way_measure(struct way *way, way_request *request, void *context);

// From a plain round of a client.
void way_learn(struct way *way, const struct client_round *round);

// What to take off a wait.
int64_t way_cost_ns(const struct way *way, int64_t wait_ns);

#endif
