// The communicators of a program: each process has its own list of those that it made, which are put together here.
//
// A call that makes communicators is one for all processes of the parent, so the n-th one on a parent is the same in
// all of them; where only the members take part, it is the n-th one with these members. What one call made is one
// entry; processes with the same members are in the same communicator of it.
#pragma once

#include "model/build/recorded.h"

struct joined_communicator {
    uint32_t program;
    unsigned origin; // enum comm_origin
    int64_t *color;  // by rank; -1: the rank is in none
    int64_t *key;    // by rank: its rank in the communicator; NULL: ranks are in their order
    uint32_t *size;  // by color: its ranks, as far as they are in the log
    bool *whole;     // by color: all its ranks are in the log
    uint32_t colors;
};

#define NO_COMMUNICATOR UINT32_MAX

struct process_communicator {
    uint32_t joined; // or NO_COMMUNICATOR
    int64_t *rank;   // in the program, by rank in the communicator; NULL: not known
    uint32_t ranks;
};

struct communicators {
    struct arena arena;
    struct joined_communicator *joined;
    size_t count;
    struct process_communicator **of_process; // [process in the log][number]
    uint32_t *numbers;                        // by process: numbers are below this
};

int communicators_join(struct communicators *communicators, const struct recorded *recorded, const struct log *log);
// Kinds have had the numbers of processes; now they get those of the joined communicators, plus 1.
int communicators_set(const struct communicators *communicators, struct recorded *recorded);
void communicators_free(struct communicators *communicators);

// One that a process knows by its number; NULL: none.
const struct process_communicator *communicators_find(const struct communicators *communicators, size_t process,
                                                      uint32_t number);
