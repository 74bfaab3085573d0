// What the plugin says of datatypes and hints. Only local functions of MPI are called, and only with objects that MPI
// has just accepted: a mistake would end the program.
#pragma once

#include "rec/mpi/plugin.h"

struct mpi_type {
    uint32_t number;    // of its RECORD_DATATYPE; 0 where there is none
    bool is_contiguous; // instances lie end to end without any gap
    uint64_t bytes;
    int64_t lower_bound;
    int64_t extent;
};

void mpi_types_start(void);
struct mpi_type mpi_type_of(MPI_Datatype type);

void mpi_hints_start(void);
// The number of a RECORD_HINTS: what `info` asks for, and what is in force on the open file `fh` (NULL: there is none).
// 0 where there is nothing to say.
uint32_t mpi_hints_of(MPI_Info info, const MPI_File *fh);
