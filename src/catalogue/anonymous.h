// A catalogue without names, to give away: a file of SQLite with the same tables, numbers and sums.
#pragma once

#include "anonymous/key.h"
#include "catalogue/catalogue.h"

enum { CATALOGUE_COPY_ALL = 1000 };

struct catalogue_copy {
    struct catalogue *from;
    const struct anonymous_key *key;
    // Called now and then with how much is done, of CATALOGUE_COPY_ALL; may be NULL. A negative return value ends the
    // work.
    int (*progress)(void *context, uint64_t done);
    void *context;
};

// Writes the new catalogue to `path`, where nothing is yet.
int catalogue_write_anonymous(const struct catalogue_copy *copy, const char *path, struct problem *problem);
