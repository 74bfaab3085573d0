// The phases of a program: segments of its threads that belong together, in one order that agrees with every thread's
// own.
//
// A thread's clock counts its calls of communication, I/O left out. Lanes with the same sequence of segments at the
// same clocks are one class. Classes are laid over each other, the largest first, as texts are compared: the alignment
// with the greatest likeness, where equal loops of equal sizes count most, equal loops less, then the same kinds of
// operations, and some kinds in common least. Only segments of the same clock belong together: two threads that make
// different numbers of calls in all may be that far apart anywhere. Calls that are collective need no clock. Between
// alignments of equal likeness the distance of the clocks decides. Segments that find no partner are phases of their
// own threads only. Where two sequences have equally many segments, one by one of the same kinds, they go together as
// they are. The exact comparison is for what is left, and has a limit that grows with the number of segments; past it
// each segment looks at the next columns only.
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
