// MPI datatypes in a model: those of file views and of memory that is not contiguous. Each occurs once, in an order
// that depends only on the types themselves, so the views of neighbouring ranks get neighbouring numbers.
#pragma once

#include "base/lookup.h"
#include "fmt/datatype.h"
#include "log/log.h"

struct model_type {
    uint64_t bytes; // of one instance
    int64_t extent; // from one instance to the next
    bool cut;       // only its first pieces are known
    bool derived;   // the program made it, though a predefined one could have the same bytes
    struct datatype flat;
};

struct types {
    struct model_type *type;
    size_t count;
    struct lookup of; // the log's number -> place
};

// Returns the place of a type, and adds it if it is new.
int types_intern(struct types *types, struct log *log, const struct log_datatype *from, uint32_t *place);
// Sorts the types; place_of[old place] = new place.
int types_sort(struct types *types, uint32_t *place_of);
void types_free(struct types *types);
