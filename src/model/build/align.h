// Puts the segments of a program's threads together into phases. The order of the phases agrees with the order of every
// thread.
//
// A thread's clock counts its communication calls; I/O does not count. Threads with the same sequence of segments at
// the same clocks form a class. The classes are aligned one after the other, the largest first, in the way that diff
// compares texts: the alignment with the greatest likeness wins. Equal loops with equal sizes count most, equal loops
// less, equal kinds of operations less again, and some kinds in common least.
// Only segments at the same clock belong together. Two threads whose total numbers of calls differ may be that far
// apart anywhere. Collective calls need no clock. Between alignments of equal likeness the distance of the clocks
// decides. A segment without a partner is a phase of its own threads only.
// Two sequences with equally many segments, one by one of the same kinds, are aligned as they are. The exact comparison
// handles the rest. It has a limit that grows with the number of segments; past the limit each segment looks at the
// next few columns only.
#pragma once

#include "model/build/segment.h"

struct thread_segments { // of one thread, in struct segments
    size_t first, end;
};

struct align_part {
    uint32_t thread;
    size_t segment;
};

struct align_phase {
    uint32_t program;
    struct align_part *part; // in the order of threads
    size_t parts;
};

struct align {
    struct align_phase *phase; // program after program, each in its order
    size_t count;
};

int align_make(struct align *align, const struct recorded *recorded, const struct segments *segments,
               const struct thread_segments *of_thread);
void align_free(struct align *align);
