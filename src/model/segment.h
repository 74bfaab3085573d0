// A lane's operations cut into its own phases.
//
// Between two transfers of an MPI process lies a cut where it moved data by communication; of a process without MPI,
// where it did nothing for `gap_ns` and for ten times its usual pause. What lies between two cuts is folded (nest.h);
// each item of the fold is a phase. Two exceptions keep phases whole:
//   - an item of small requests among large ones of the same file (16 times smaller, and less than a sixteenth of the
//     bytes between the cuts) belongs to the item after it, or else before it: headers and indexes;
//   - where there are more than 16 items, those with less than a sixteenth of the bytes join their neighbours: there
//     the I/O follows no simple rule.
#ifndef IOSEER_MODEL_SEGMENT_H
#define IOSEER_MODEL_SEGMENT_H

#include "model/lanes.h"
#include "model/nest.h"

enum segment_cut { CUT_START, CUT_PATTERN, CUT_COMMUNICATION, CUT_PAUSE };

struct segment {
    enum segment_cut cut; // before it
    size_t first, end;    // of the lane's transfers
    size_t other_first, other_end;
    struct nest_seq ops;
    struct nest_seq others; // AT_POSITION counts from the segment's first transfer
    uint64_t bytes;
    uint64_t look;  // of its kinds of transfers, however many and wherever
    uint64_t shape; // of its loops as well
    uint64_t sizes; // and of the request sizes
};

struct segments {
    struct segment *segment;
    size_t count, room;
};

int segments_make(struct segments *segments, const struct lanes *lanes, const struct lane *lane, int64_t gap_ns,
                  struct arena *arena);

#endif
