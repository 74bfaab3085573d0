// The tables of a catalogue, and its version.
#pragma once

#include "catalogue/store.h"

// A step makes the next version of the tables from the one before; the first one makes them from nothing.
typedef int schema_step(struct store *store, struct problem *problem);

// For writing: makes the tables, or brings them to the version of this ioseer. For reading: checks that they have it.
// ERR_VERSION: a newer ioseer made them, or for reading an older one; nothing is changed.
int schema_open(struct store *store, enum store_access access, struct problem *problem);

// The same with other steps, for tests.
int schema_open_steps(struct store *store, enum store_access access, schema_step *const *step, int64_t steps,
                      struct problem *problem);

// Jobs that a filter by file system or finding passes are added up by cells: by the set of the job's file systems
// (sets.h), and by finding: a name, or one of these.
#define CELL_ALL_JOBS INT64_C(0)
#define CELL_ANY_FINDING INT64_C(-1)
#define CELL_NO_JOBS INT64_C(-2)

// Adds up all jobs by cell, and by cell and day, into empty tables.
int schema_fill_cells(struct store *store, struct problem *problem);

// As a text: in statements.
#define JOBS_DAY_NS "86400000000000"

// What groups of jobs are added up by: the columns of the table `sums` after its key, each the sum of an expression
// over the columns of `jobs`.
struct schema_measure {
    const char *name, *expression;
};
extern const struct schema_measure schema_measures[]; // ended by one without a name
