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
    uint32_t meeting; // of a collective call, + 1; 0: none
    uint32_t round;   // how many calls of that meeting the process made before
    bool is_mpi;
    bool is_own;    // made by the program itself
    bool is_rank;   // made by a rank
    double part_ns; // what belongs to the call; set when it ends
    double late_ns; // of that: before the last rank came that came to the same round while the call waited
};

// The collective calls on a file that was opened by one communicator. The n-th call of each of its ranks is the n-th
// round; a rank that has left a call is not late for it, and a call that ends before a rank comes did not wait for it.
enum { WALL_ROUNDS = 8 }; // ranks are seldom more than one round apart

struct wall_meeting {
    struct {
        uint32_t round;
        double came_ns; // mpi_ns when the last rank came
    } last[WALL_ROUNDS];
};

#define WALL_NO_GRAIN UINT32_MAX

struct wall {
    int64_t now_ns;
    uint64_t requests, mpi, of_ranks; // in progress
    // Sums until now: the part of one request, of one call of MPI-IO, and the time with any call, and with any of
    // ranks.
    double request_ns, mpi_ns, any_ns, any_rank_ns;
    struct wall_meeting *meeting;
    size_t meetings;
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
