// Sets of file systems that jobs use together. There are few: a filter by file systems chooses sets, not jobs.
#pragma once

#include "base/lookup.h"
#include "catalogue/store.h"

struct sets {
    struct sets_row {
        int64_t id;
        char *members; // numbers of their names, in order: " 3 17 "
    } * row;
    size_t count;
    struct lookup place;
};

// Reads those of the catalogue, in place of what `sets` had. All zero is a good start.
int sets_load(struct sets *sets, struct store *store, struct problem *problem);
void sets_free(struct sets *sets);
bool sets_has(const struct sets_row *row, int64_t name);

// Notes the file systems of a job, which it sorts.
int sets_put(struct sets *sets, struct store *store, int64_t job, int64_t *name, size_t names, struct problem *problem);
// The same for all jobs up to the last number, from what the catalogue has of their file systems.
int sets_of_all_jobs(struct store *store, int64_t last, struct problem *problem);
