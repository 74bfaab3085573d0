// What the way through FUSE costs a request beside the time that the server makes it wait: system calls, two processes
// to wake. It is measured when a mount begins and taken off every wait, so that clients see the latency they should.
// After a longer wait the processors sleep deeper, and the way costs more.
//
// In memory that the server shares with its guard, who measures.
#ifndef IOSEER_TARGET_WAY_H
#define IOSEER_TARGET_WAY_H

#include <stdatomic.h>
#include <stdint.h>

enum { WAY_POINTS = 3 };

struct way {
    atomic_llong asked_wait_ns; // for the requests that measure; 0 before and after
    struct {
        int64_t wait_ns; // ascending
        _Atomic int64_t cost_ns;
    } point[WAY_POINTS];
};

struct way *way_make(void); // NULL without memory
void way_drop(struct way *way);

// A request whose time the server makes way->asked_wait_ns long; returns 0, or negative to end the measuring.
typedef int way_request(void *context);
void way_measure(struct way *way, way_request *request, void *context);

// What to take off a wait.
int64_t way_cost_ns(const struct way *way, int64_t wait_ns);

#endif
