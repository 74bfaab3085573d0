// The memory that the programs of a sweep may use, page cache included: a cgroup (version 1 or 2) that each limited run
// gets anew, and a limit of dirty pages on the devices of the targets. Without that one, the kernel ends a program that
// writes faster than its device: its memory is full of pages that are not written yet.
//
// A guard process removes group, limits and processes if this process is killed.
#pragma once

#include <limits.h>

#include "sweep/sweep.h"

struct memory_device; // of a target

struct memory_limits {
    char group[PATH_MAX]; // of the runs; empty: there is none
    char procs[PATH_MAX]; // its list of processes, for process_enter_group
    bool is_unified;      // version 2
    struct memory_device *device;
    size_t devices;
    int guard; // -1: none
};

// Looks for a place where this user may make groups, by making one, and starts the guard. Fails if there is none. Call
// memory_end in any case.
int memory_begin(struct memory_limits *limits, const struct sweep_grid *grid, struct problem *problem);
void memory_end(struct memory_limits *limits);
// Before a process is forked that does not need them: the guard waits until nobody has the other end of its pipe.
void memory_forget(struct memory_limits *limits);

// Around each run with a limit. `killed`: the kernel ended processes of the run because their memory was full.
int memory_limit(struct memory_limits *limits, uint64_t bytes);
uint64_t memory_kills(const struct memory_limits *limits); // of this run, so far; 0 without a group
void memory_release(struct memory_limits *limits, bool *killed);
