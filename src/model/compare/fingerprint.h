// What the comparison of two models (diff.h) uses: a few hashes for each phase, and the parts of the phase.
//
// Hashes do not include file names, the number of processes or anything observed. So phases of two programs with
// different numbers of processes have equal hashes if the ranks, written as "all", "the last" and so on, and the
// expressions are the same. A hash does not say which file it is about: diff.c compares files one by one.
#pragma once

#include "model/model.h"

// The same kind has different places in the tables of two models.
struct kind_fingerprint {
    uint64_t whole;  // without files
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

// A coarse description of the operations of one part, or of all transfers of a family.
struct phase_features {
    uint32_t classes; // bits of enum call_class, and of what metadata does to names
    uint64_t sizes;   // of requests, in any order
    uint64_t reps;    // operations of one process, by class
    uint64_t loops;   // in their order
    uint64_t calls;   // in any order
};

struct phase_fingerprint {
    uint64_t structure;
    struct phase_features features;
    uint64_t ops;                         // transfers of all processes; UINT64_MAX if there are more
    uint64_t others;                      // the same, for others
    const struct part_fingerprint **part; // that it has: transfers, then others
    size_t parts;
};

struct fingerprint {
    struct arena arena;
    const struct model *model;
    bool has_times;                  // of a run; some models have none
    uint64_t *type;                  // hash by place in the model
    uint64_t types;                  // of all types: if it is the same in two models, so are the places of the types
    struct kind_fingerprint *kind;   // by place in the model
    struct phase_fingerprint *phase; // by place in the model
    uint64_t *program;               // by place: hash of its phases in order
};

int fingerprint_make(struct fingerprint *fingerprint, const struct model *model);
void fingerprint_free(struct fingerprint *fingerprint);

// How much two phases have in common: 0 for nothing, LIKE_EQUAL for the same structure, which counts more than many
// similar ones.
enum { LIKE_EQUAL = 1024 };
unsigned fingerprint_likeness(const struct phase_fingerprint *a, const struct phase_fingerprint *b);

// Each MPI implementation has its own error numbers.
static inline int fingerprint_error(const struct op_kind *kind) {
    return kind->layer == LAYER_MPIIO ? kind->error != 0 : kind->error;
}
