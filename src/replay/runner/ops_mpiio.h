// How the runner makes each call of MPI-IO again: generated, as in ops.h.
#pragma once

#include <mpi.h>

#include "replay/runner/ops.h"

struct mpi_arguments {
    const char *path;
    MPI_File file;
    MPI_Offset at;   // in elementary types of the file's view
    MPI_Offset size; // of the file
    void *data;
    int count;
    MPI_Datatype type;
    MPI_Status status;
    MPI_Request request;
};

struct mpi_call {
    int (*run)(struct mpi_arguments *a);
    int (*end)(struct mpi_arguments *a); // of a split call, else NULL
};

extern const struct mpi_call mpi_calls[]; // by id, as long as call_table
