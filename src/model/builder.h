// Makes a model in memory, piece by piece. The builder from events (build/), the reader of MODEL files (file/) and
// benchmarks (measure/benchmark.c) all use it.
//
// The order is: programs, communicators, files, kinds; then each family with its parts; then the phases, program after
// program. What is checked as it is added (builder_check_*, builder_end_family, builder_check_phases) can be expanded,
// written and walked through without further checks. The functions return 0 or a negative code; if the pieces do not
// fit together, that is ERR_FORMAT or ERR_LIMIT, with the reason in `fault`.
#pragma once

#include "model/model.h"
#include "model/string_table.h"

enum { BUILDER_FAULT_BYTES = 112, BUILDER_MOST_TABLES = 1 << 26 };

struct model_builder {
    struct model *model;
    struct string_table calls; // names of calls; the texts are the model's
    uint32_t *added;           // by family: phases so far
    char fault[BUILDER_FAULT_BYTES];
    // The part that is being added, and the loops around its next item:
    const struct model_family *family;
    const struct model_part *part;
    bool others;                    // the part has operations other than transfers
    size_t tables;                  // ranks * phases of the part
    uint64_t loop[LOOPS_MAX_DEPTH]; // counts, the outermost first
    unsigned depth;
    uint64_t times;          // their product
    unsigned __int128 bytes; // that the family's transfers move
};

// `model` may already own an arena and file sets.
void builder_begin(struct model_builder *b, struct model *model);
void builder_end(struct model_builder *b); // the model stays

int builder_add_program(struct model_builder *b, bool is_mpi, uint32_t np);
// Its values are set. They must be numbers for every rank of the program.
int builder_add_communicator(struct model_builder *b, const struct model_communicator *communicator);
int builder_add_file(struct model_builder *b, const struct file_set *set); // a set in model->sets
// The name of the call is copied; call_id and sync follow from it.
int builder_add_kind(struct model_builder *b, const struct op_kind *kind);
int builder_add_family(struct model_builder *b, const struct model_family *family);
int builder_add_phase(struct model_builder *b, uint32_t family); // the next phase of its program

// --- parts

// For `transfers` or `others` of the model's last family, which has memory for the part already.
void builder_begin_part(struct model_builder *b, const struct model_part *part, bool others);
int builder_make_items(struct model_builder *b, struct model_items *items, size_t count);
int builder_begin_loop(struct model_builder *b, uint64_t count);
void builder_end_loop(struct model_builder *b);
// Adds an operation, with steps of 0 for the loops around it. The caller sets its coordinates next.
int builder_make_op(struct model_builder *b, struct model_item *item, uint32_t kind);
int builder_set_expression(struct model_builder *b, struct model_value *value, const char *text);
int builder_set_number(struct model_builder *b, struct model_value *value, int64_t number);
// `count` operations for each rank and phase; lists[] has room for all of these.
int builder_make_list(struct model_builder *b, struct model_item *item, uint64_t count);
int builder_set_pause(struct model_builder *b, struct model_item *item, const struct model_pause *pause);

// --- checks

int builder_check_kind(struct model_builder *b, uint32_t kind); // transfers and others are separate
int builder_check_op(struct model_builder *b, const struct model_item *item);
// Checks a list of operations that several ranks and phases have.
int builder_check_list(struct model_builder *b, const struct op *op, uint64_t count, uint64_t ranks_and_phases);
// Adds up the operations that all items stand for, multiplied by `times`.
int builder_count_ops(struct model_builder *b, const struct model_items *items, uint64_t times, uint64_t *ops);
// The weight of the last family must be what its operations move.
int builder_end_family(struct model_builder *b);
// A family must have as many phases as it says.
int builder_check_phases(struct model_builder *b, uint32_t family);
