// The transfers of a program's phases, grouped in classes by operation, size and access mode.
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
    double pause;   // typical seconds before a request in which the process does not use the storage
    uint64_t bytes; // of all processes, in one phase
};

struct io_classes {
    struct io_class *item;
    size_t count;
};

// Free the items in any case, also after an error.
int classes_of_program(const struct model *model, uint32_t program, struct io_classes *classes);
