// The transfers of a family of phases in classes: those alike in operation, size and way.
#pragma once

#include "model/model.h"
#include "target/system/system.h"

struct io_class {
    bool write;
    uint64_t size; // where requests differ, or moved less than half of what they asked for: mean of what they moved
    enum system_mode mode;
    uint32_t np;  // processes that take part
    double users; // of the storage at the same time: threads of all processes
    bool shared;
    bool collective;
    bool mpiio;
    double pause;   // before one request, typically: seconds in which the process did not use the storage
    uint64_t rep;   // of one process, in one phase
    uint64_t bytes; // of all processes, in one phase
};

struct io_classes {
    struct io_class *item;
    size_t count;
};

int classes_of_family(const struct model *model, const struct model_family *family, struct io_classes *classes);
