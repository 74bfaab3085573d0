// Which elements of an array in a file a transfer selects: of a dataset of HDF5, of a variable of NetCDF.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/records.h"

// An array's extent and the selection in it. Numbers have the type that HDF5 gives them.
struct selection {
    uint8_t kind; // enum selection_kind; SELECTION_UNKNOWN: the library must be asked
    uint8_t rank;
    bool can_grow;   // in its first dimension
    uint64_t points; // irregular, single elements, rank 0: number of elements
    uint64_t blocks; // irregular
    unsigned long long dims[SELECTION_MAX_RANK];
    unsigned long long start[SELECTION_MAX_RANK]; // from here on: not of SELECTION_ALL and SELECTION_NONE
    unsigned long long stride[SELECTION_MAX_RANK];
    unsigned long long count[SELECTION_MAX_RANK];
    unsigned long long block[SELECTION_MAX_RANK];
};

// The latest selection of an array; its kind is SELECTION_UNKNOWN before the first. Most transfers repeat its shape.
struct selection_memo {
    uint32_t number;     // in the log
    uint32_t generation; // of the spill file that has it
    struct selection selection;
};

void selection_copy(struct selection *to, const struct selection *from);
uint64_t selection_points(const struct selection *selection);
// The number of its first element in the array.
uint64_t selection_first(const struct selection *selection);
// The number of its shape in the log (RECORD_SELECTION); 0 if there is no trace.
uint32_t selection_number(struct selection_memo *memo, const struct selection *selection, bool can_grow);
