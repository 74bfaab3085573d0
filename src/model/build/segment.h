// Cuts a thread's operations into its own phases.
//
// The operations between two cuts (stretch.h) are folded (loops.h). Each item of the fold is a phase, except these,
// which belong to the item before them:
//   - a single operation that continues where the last one of its kind ended but is smaller, and an operation there
//     that moves nothing: the rest of a file and its end;
//   - a loose item (loops.h) after a loose item of the same class and file: operations that follow no rule;
//   - a loop after a loop like it on the same file: the same rule from different places;
//   - of gathered small accesses, a loose item after a loose item.
// Metadata that does the same to other names belongs to the item before it, and so do few of such operations. What
// comes three times or more, with something else in between, is one phase from the first time to the last. Small
// requests among large ones of the same file (16 times smaller, and at most a sixteenth of the bytes between the cuts)
// belong to the item after them, or else to the one before: headers and indexes. If more than 16 phases are left
// between two cuts, those with less than a sixteenth of the bytes and of the names join their neighbours: that I/O
// follows no simple rule.
#pragma once

#include "model/build/recorded.h"
#include "model/loops.h"

enum { SEGMENT_NAMES = 16 }; // that metadata operations must touch to be a phase of their own

struct segment {
    enum model_cut cut; // before it
    size_t first, end;  // of the thread's transfers
    size_t other_first, other_end;
    struct loops_seq ops;
    struct loops_seq others; // AT_POSITION counts from the segment's first transfer
    uint64_t bytes;
    uint64_t clock;     // calls of communication that the thread made before it
    uint64_t kinds;     // of its kinds of transfers, however many and wherever
    uint64_t shape;     // of its loops as well
    uint64_t sizes;     // and of the request sizes
    bool is_collective; // some transfer is; then it is collective for all processes that take part
};

struct segments {
    struct segment *segment;
    size_t count;
};

int segments_make(struct segments *segments, const struct recorded *recorded, const struct thread_ops *thread,
                  int64_t gap_ns, struct arena *arena);
