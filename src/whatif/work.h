// All that a program asks of MPI-IO and of the storage if its I/O is done in one way: counted once, estimated for any
// storage.
#pragma once

#include "model/model.h"
#include "whatif/extended.h"

struct work {
    struct io_counts *family; // by place in model.family; those of other programs are empty
    double *times;            // phases of each, over the share of its bytes that was looked at
    size_t families;
};

// `families` are the accesses of the program. Free it in any case.
int work_of(const struct model *model, uint32_t program, const struct accesses *families, const struct variant *variant,
            const struct library *library, struct work *work);
void work_free(struct work *work);

// Of all phases together. ERR_NOTHING: the system has no point for a direction.
int work_estimate(const struct work *work, const struct prices *prices, struct extended *sum);
