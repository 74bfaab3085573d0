// Two-phase I/O that measures itself. The library stands in for MPI's MPI_File_write_at_all and MPI_File_read_at_all:
// the recorder calls the first function of that name behind its own.
#pragma once

#include <mpi.h>

struct two_phase_setup {
    int fd;          // of the same file
    int aggregators; // they are the ranks 0, ranks / aggregators, …
    int rounds;
    int bytes; // of a rank in a round
};

enum { TWO_PHASE_ROUNDS = 8 }; // at most

// Seconds of the last call. What comes before the first round belongs to it.
struct two_phase_times {
    struct two_phase_round {
        double wait, exchange, io;
    } round[TWO_PHASE_ROUNDS];
    double rest, all;
};

extern struct two_phase_times two_phase_times;

// All ranks call these before and after the calls.
void two_phase_begin(const struct two_phase_setup *setup);
void two_phase_end(void);
