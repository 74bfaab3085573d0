// Compares two models: whether their structures are equal, and phase by phase what changed (doc/model.md).
#pragma once

#include "model/compare/fingerprint.h"
#include "model/model.h"

#define DIFF_NONE UINT32_MAX

enum diff_change {
    DIFF_SAME,
    DIFF_NP, // the same except for the number of processes: ranks and expressions agree
    DIFF_MOVED,
    DIFF_CHANGED,
    DIFF_ADDED,   // only in B
    DIFF_REMOVED, // only in A
};

const char *diff_change_name(enum diff_change change);

enum diff_unit { DIFF_NO_VALUES, DIFF_COUNT, DIFF_BYTES, DIFF_TEXT };

// One difference between a phase of A and the corresponding phase of B.
struct diff_note {
    const char *what; // "rep", "request", "offset" …: doc/model.md lists them
    const char *op;   // kind of operations: "read", "write", "open" …; NULL: the whole phase
    enum diff_unit unit;
    int64_t a, b;                // DIFF_COUNT, DIFF_BYTES
    const char *a_text, *b_text; // DIFF_TEXT; NULL if one side has none
};

struct diff_row {
    uint32_t a, b; // places in model.phase, or DIFF_NONE
    enum diff_change change;
    struct diff_note *note;
    size_t notes;
};

struct diff_program {
    uint32_t a, b; // places in model.program, or DIFF_NONE
};

struct diff {
    struct arena arena;
    const struct model *a, *b;
    struct fingerprint in_a, in_b;
    bool equal;                   // structures
    struct diff_program *program; // in A's order, then those that only B has
    size_t programs;
    struct diff_row *row; // program after program
    size_t rows;
};

// Both models must outlive the comparison.
int diff_make(struct diff *diff, const struct model *a, const struct model *b);
void diff_free(struct diff *diff);
// Returns the end of the rows from `first` on that can be printed as one: they follow each other within one family on
// both sides and changed in the same way.
size_t diff_block_end(const struct diff *diff, size_t first);
