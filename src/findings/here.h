// The storage that a log is from, and the MPI-IO, as the log itself shows them: a SYSTEM without a measurement.
#pragma once

#include "findings/facts.h"
#include "target/system/system.h"
#include "whatif/work.h"

struct here {
    struct system system;
    uint64_t largest[FACTS_DIRECTIONS]; // request whose time it shows, more or less; 0: of none
    bool any_order[FACTS_DIRECTIONS];   // it shows requests that are not in order, or they do not differ
    struct system_mpiio mpiio;
    bool knows[FACTS_DIRECTIONS]; // what collective calls cost
};

// The points: typical times of the requests on this storage, for a program of `np` processes. Free here->system in any
// case.
int here_points(const struct facts *facts, uint32_t storage, uint32_t np, struct here *here);

// What MPI-IO costs: what its calls take while no process moves data, over what was counted of them. Where there are
// none, as it typically is.
void here_mpiio(const struct facts *facts, const struct work *recorded, const struct library *library,
                struct here *here);

// Why the points do not tell how long this takes; NULL if they do.
struct here_gap {
    bool write, by_order;
    uint64_t size; // 0: there are no requests in this direction
};
bool here_has_gap(const struct here *here, const struct work *work, struct here_gap *gap);
