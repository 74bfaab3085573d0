// Compares two corresponding phases in detail.
#pragma once

#include "model/compare/diff.h"

enum diff_aspect {
    ASPECT_RANKS = 1 << 0,
    ASPECT_THREAD = 1 << 1,
    ASPECT_LOOPS = 1 << 2, // number and order of operations
    ASPECT_STEPS = 1 << 3, // from one operation of a loop to the next
    ASPECT_CALL = 1 << 4,
    ASPECT_FLAGS = 1 << 5, // of opens; whence of seeks
    ASPECT_ERROR = 1 << 6,
    ASPECT_VIEW = 1 << 7,
    ASPECT_OFFSET = 1 << 8,
    ASPECT_SIZE = 1 << 9,
    ASPECT_SHORT = 1 << 10, // transfers that moved less than they asked for
    ASPECT_MEMBER = 1 << 11,
    ASPECT_POSITION = 1 << 12,
    ASPECT_MEMORY = 1 << 13, // layout of a transfer's memory
    ASPECT_HINTS = 1 << 14,
};

// Aspects in which they differ. If the numbers of processes differ, values agree if the expression of one side gives
// the values of the other.
struct diff_aspects {
    unsigned transfers;
    unsigned others;
};

// True if two numbers are equal, or equal per process if the numbers of processes differ.
static inline bool diff_in_proportion(uint64_t a, uint32_t a_np, uint64_t b, uint32_t b_np) {
    return a == b || (a_np != b_np && a * b_np == b * a_np);
}

// The number of processes of the program that a phase belongs to.
static inline uint32_t diff_np(const struct model *model, uint32_t phase) {
    return model->program[model->family[model->phase[phase].family].program].np;
}

struct diff_aspects diff_pair_compare(const struct diff *diff, uint32_t a, uint32_t b);

// Aspects in which two kinds of operations differ, apart from their files.
unsigned diff_kinds_compare(const struct diff *diff, uint32_t a, uint32_t b);

// Facts about a family for the notes; computed when first needed.
struct family_view {
    bool ready;
    bool has_rows; // false if there are too many operations
    struct op_summary *row;
    size_t rows;
    struct model_file_use use;
    size_t ranks;
    const char *rank_text; // "0-3,8"
};

struct diff_noting {
    struct diff *diff;
    struct family_view *a, *b; // by family
    // Of the pair under way.
    struct diff_note *note;
    size_t notes;
    int error; // the first
};

int diff_noting_begin(struct diff_noting *noting, struct diff *diff);
void diff_noting_end(struct diff_noting *noting);

void diff_note_add(struct diff_noting *noting, struct diff_note note); // unless it is there already
void diff_note_count(struct diff_noting *noting, const char *what, const char *op, uint64_t a, uint64_t b);
void diff_note_text(struct diff_noting *noting, const char *what, const char *op, const char *a, const char *b);
// Adds notes about the differences between two phases.
void diff_note_pair(struct diff_noting *noting, uint32_t a, uint32_t b, const struct diff_aspects *aspects);
// Moves the pair's notes to its row.
int diff_note_keep(struct diff_noting *noting, struct diff_row *row);
bool diff_notes_same(const struct diff_row *x, const struct diff_row *y);

// to[i] is the place in `b` of the phase that corresponds to a[i], or DIFF_NONE; ascending (match.c).
int diff_align(const struct phase_fingerprint *a, size_t a_count, const struct phase_fingerprint *b, size_t b_count,
               uint32_t *to);
