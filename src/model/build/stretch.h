// Finds where a thread's transfers are cut, and gathers small accesses.
//
// A stretch is the transfers between two cuts. An MPI process has a cut between two transfers where it moved data by
// communication. A process without MPI has a cut where it did nothing for `gap_ns`; or for ten times its usual pause,
// if that is between a tenth of `gap_ns` and `gap_ns`.
//
// In an MPI process a stretch is small if it moves at most 4 KiB and a sixteenth of what the largest one moves, has no
// collective calls and no metadata operations, is not all loops (loops.h: some item is loose), and is not one of three
// in a row that do the same. Small are metadata of HDF5 and NetCDF, and lines of a script that one rank reads and sends
// to the others. If the process has more than 16 different ones, the largest stretch does not matter: nothing repeats
// there. Small stretches on the file of the larger stretch after them, or else of the one before, belong to its phases,
// if all stretches that move the same data have the same small ones: otherwise the phases would be no family any more.
// Other small stretches in a row are one stretch.
#pragma once

#include "model/build/recorded.h"

enum stretch_role {
    STRETCH_OWN,     // has phases of its own
    STRETCH_LEADS,   // belongs to the first phase of the next stretch with STRETCH_OWN
    STRETCH_FOLLOWS, // belongs to the last phase of the one before
};

struct stretch {
    enum model_cut cut; // before it
    enum stretch_role role;
    size_t first, end;  // of the thread's transfers
    size_t main;        // the transfer that says at which clock it is
    uint64_t bytes;     // at `main`: of the largest of the gathered ones
    uint64_t content;   // hash of kinds and sizes
    uint32_t set;       // of files, OP_NO_SET if there are several
    unsigned class;     // of all transfers, CLASS_NONE if they differ
    bool is_collective; // some transfer is
    bool has_metadata;  // operations that move no data
    bool is_small;
    bool is_gathered; // from several
};

struct stretches {
    struct stretch *stretch;
    size_t count;
};

int stretches_find(struct stretches *stretches, const struct recorded *recorded, const struct thread_ops *thread,
                   int64_t gap_ns);
