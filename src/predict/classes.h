// The operations of a program's phases, grouped in classes: transfers by operation, size and access mode, metadata by
// what it does to names.
#pragma once

#include "model/model.h"
#include "target/system/system.h"

struct io_class {
    uint32_t family; // of phases
    bool write;
    uint64_t size; // if requests differ, or moved less than half of what they asked for: the mean of what they moved
    enum system_mode mode;
    uint32_t np;        // processes that take part
    double concurrency; // threads of all processes that use the storage at the same time
    bool shared;
    bool collective;
    bool mpiio;
    bool warm;      // the page cache has the data, or takes it
    double pause;   // typical seconds before a request in which the process does not use the storage
    uint64_t bytes; // of all processes, in one phase
};

enum name_rate { RATE_CREATE, RATE_OPEN, RATE_STAT, RATE_REMOVE };

struct name_class {
    uint32_t family;
    enum name_rate rate; // of a profile, that is most like it
    uint32_t np;
    uint64_t count; // of all processes, in one phase
};

struct io_classes {
    struct io_class *item;
    size_t count;
    struct name_class *name;
    size_t names;
};

double classes_name_rate(const struct system *system, enum name_rate rate); // 0: it was not measured

// Free items and names in any case, also after an error.
int classes_of_program(const struct model *model, uint32_t program, struct io_classes *classes);
