// What the steps from aligned phases to a model share (build.c calls them in order).
#pragma once

#include "base/hash.h"
#include "model/build/align.h"
#include "model/builder.h"

// One thread in one phase of a family.
struct piece {
    uint32_t ph;
    uint32_t rank;
    uint32_t thread;
    uint32_t place; // in recorded.thread
    size_t segment;
    uint64_t shape; // of what its part is about
};

struct pieces {
    struct piece *piece;
    size_t count;
};

struct building {
    struct model *model;
    struct model_builder builder;
    struct recorded recorded;
    struct segments segments;
    struct thread_segments *of_thread;
    struct align align;
    struct pieces *family; // by family: in the order of phases and threads
};

// Which uses and closes of files wait for opens and uses by other threads (file_waits.c).
int build_file_waits(struct building *b);
// Gives each aligned phase its family and what was observed of it (build_families.c).
int build_families(struct building *b);
// Turns a family's pieces into parts with expressions (build_parts.c): transfers, or what is not one.
int build_parts(struct building *b, uint32_t family, bool others);
// Pauses before the operations of a part with these pieces, and of all families how regularly they come
// (build_observed.c).
int build_think(struct building *b, struct model_part *part, const struct piece *pieces, size_t count, bool others);
int build_periods(struct building *b);
// Numbers kinds and files as the phases use them, so that equal programs have equal numbers (build_numbers.c).
int build_numbers(struct building *b, struct log *log);
