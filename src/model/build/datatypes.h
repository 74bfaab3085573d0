// MPI's datatypes in a model: those of file views and of memory that is not contiguous, each kind once, in an order
// that depends on nothing but what they are. Views of ranks side by side so get numbers side by side.
#pragma once

#include "base/lookup.h"
#include "fmt/datatype.h"
#include "log/log.h"

struct model_type {
    uint64_t bytes; // of one instance
    int64_t extent; // from one instance to the next
    bool cut;       // only its first pieces are known
    struct datatype flat;
};

struct types {
    struct model_type *type;
    size_t count;
    struct lookup of; // the log's number -> place
};

// The place of a type, made known if need be.
int types_intern(struct types *types, struct log *log, const struct log_datatype *from, uint32_t *place);
// Puts them in order; place_of[old place] = new place.
int types_sort(struct types *types, uint32_t *place_of);
void types_free(struct types *types);
