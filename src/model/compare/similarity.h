// How similar two runs are, operation by operation: a program and its replay.
#pragma once

#include "model/model.h"

// Finds the file of A that a name of B stands for; false if there is none.
typedef bool similarity_file(const char *name, uint32_t *set, uint32_t *member, void *context);

// Pauses agree if the means before operations of this kind at this place differ by no more than the larger of these.
#define SIMILARITY_PAUSE_SHARE 0.2
#define SIMILARITY_PAUSE_NS INT64_C(100000)

enum { SIMILARITY_TEXT = 1024 };

struct similarity {
    uint64_t ops;                // of the longer of the two
    uint64_t alike;              // agree in order, call, size, offset and file
    uint64_t extra;              // in B only
    uint64_t missing;            // in A only
    uint64_t paused;             // of those that agree: the pause before it is as long, within the tolerance above
    char first[SIMILARITY_TEXT]; // the first difference in words, empty if there is none; names may be cut
};

struct similarity_input {
    const struct model *a, *b; // A is scaled to B's processes
    uint32_t a_program, b_program;
    const char *phases;    // of A that count; NULL: all
    bool scaled;           // then the views differ, and offsets in the file behind them are not compared
    similarity_file *file; // with its context
    void *context;
};
int similarity_compare(const struct similarity_input *input, struct similarity *out);
