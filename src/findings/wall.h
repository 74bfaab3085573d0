// Wall-clock time, divided among the calls in progress. While requests are in progress (calls of the system or of
// stdio, in any process), the time belongs to them, in equal parts. While there are none, it belongs to the calls of
// MPI-IO in progress. So the parts of all calls add up to the time in which any process was in a call, however many
// processes there are: what findings claim from these parts cannot exceed it.
#pragma once

#include "log/heap.h"

struct wall_call {
    int64_t end_ns;
    uint32_t grain;   // of the facts, or WALL_NO_GRAIN
    uint32_t process; // index in the log's table
    bool is_mpi;
    bool is_collective;
    bool is_own;    // made by the program itself
    double part_ns; // what belongs to the call; set when it ends
    double late_ns; // of that: not all ranks were in a collective call, so the others waited
};

#define WALL_NO_GRAIN UINT32_MAX

struct wall {
    uint64_t ranks;
    int64_t now_ns;
    uint64_t requests, mpi, collective; // in progress
    // Sums until now: the part of one request, of one call of MPI-IO, and the time with any call.
    double request_ns, mpi_ns, late_ns, any_ns;
    struct log_heap ends;
    struct wall_call *call; // pool of the calls in progress
    size_t calls;
    uint32_t *unused; // places in the pool
    size_t unused_count;
};

// A call begins now. Returns 0 or -ENOMEM.
int wall_begin(struct wall *wall, const struct wall_call *call);
// Goes on until `to_ns`, or until the next call ends: then returns true and the call.
bool wall_next_end(struct wall *wall, int64_t to_ns, struct wall_call *ended);
void wall_free(struct wall *wall);
