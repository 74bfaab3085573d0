// What the comparison of two models (diff.h) looks at: each phase as a few hashes, and the parts it has.
//
// Hashes know nothing of names of files, of the number of processes or of anything observed. Phases of two programs
// with different numbers of processes therefore have equal hashes where the ranks, written as "all", "the last" and
// the like, and the expressions are the same. Which of the files it is a hash does not say either: that is settled
// between the two models, file by file.
#pragma once

#include "model/model.h"

// Kinds of two models have the same place in their tables only by chance.
struct kind_fingerprint {
    uint64_t whole;  // but for files
    uint64_t memory; // layout of the memory
    uint64_t hints;  // that were asked for
};

struct part_fingerprint {
    const struct model_part *part;
    bool is_other;  // what is not a transfer
    bool uses_ph;   // some expression does
    uint64_t fixed; // hash of what is the same in all its phases
    uint32_t *file; // places in model.file, in the order in which it uses them
    size_t files;
};

// How the operations of one part features from afar, or of all transfers of a family.
struct phase_features {
    uint32_t classes;
    uint64_t sizes; // of requests, in any order
    uint64_t reps;  // operations of one process, by class
    uint64_t loops; // in their order
    uint64_t calls; // in any order
};

struct phase_fingerprint {
    uint64_t structure;
    struct phase_features features;
    uint64_t ops;                         // transfers of all processes; the most where there are more than 64 bits tell
    uint64_t others;                      // so too, of what is not a transfer
    const struct part_fingerprint **part; // that it has: transfers, then others
    size_t parts;
};

struct fingerprint {
    struct arena arena;
    const struct model *model;
    bool has_times;                  // of a run; a model may be without
    uint64_t *type;                  // hash by place in the model
    uint64_t types;                  // of all: where it is the same, so are the places
    struct kind_fingerprint *kind;   // by place in the model
    struct phase_fingerprint *phase; // so too
    uint64_t *program;               // so too: hash of its phases in their order
};

int fingerprint_make(struct fingerprint *fingerprint, const struct model *model);
void fingerprint_free(struct fingerprint *fingerprint);

// How much two phases have in common: 0 for nothing, LIKE_EQUAL for the same structure, which is worth more than many
// that are only alike.
enum { LIKE_EQUAL = 1024 };
unsigned fingerprint_likeness(const struct phase_fingerprint *a, const struct phase_fingerprint *b);

// Errors of MPI are numbered by each implementation as it likes.
static inline int fingerprint_error(const struct op_kind *kind)
{
    return kind->layer == LAYER_MPIIO ? kind->error != 0 : kind->error;
}
