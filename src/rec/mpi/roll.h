// Which ranks of a program are recorded, and whether they live. Ranks of a job without `record` that want to meet in
// MPI_Finalize sign the roll of their host before MPI_Init: a file in the job's directory. A rank that is not on it, or
// is gone without having met the others, would be waited for in vain.
#pragma once

#include <stdbool.h>

#include "rec/mpi/clock_line.h"

// Before MPI_Init. Ranks whose counters stay with them do not sign.
void roll_sign(void);
// After MPI_Init, by the first rank of each of several hosts: whether the first ranks of all hosts are recorded.
void roll_note_hosts(bool are_all_here);

// All that follows is for ranks that have signed, in MPI_Finalize.
bool roll_is_signed(void);

enum roll_state {
    ROLL_PENDING, // the first rank of this host has still to tell
    ROLL_COMPLETE,
    ROLL_INCOMPLETE,
    ROLL_UNKNOWN, // the launcher does not tell what is needed
};

// Whether all ranks take part, as far as this host can know.
enum roll_state roll_state(void);
bool roll_is_of_one_host(void);
// Whether the next rank on this host's roll has ended before it met the others.
bool roll_has_gap(void);
void roll_note_met(void);

// By the first rank of each of several hosts, before it meets the others: what the host's clock lacks to rank 0's.
void roll_note_line(const struct clock_line *line);
// After the ranks have met. It is unknown if nobody has noted it.
struct clock_line roll_line(void);

// A mark in the job's directory, which ranks of all hosts see: somebody has not waited for the others.
void roll_give_up(void);
bool roll_is_given_up(void);
