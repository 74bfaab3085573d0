// What MPI needs besides calls: communicators, hints, file views.
#pragma once

#include <mpi.h>

#include "replay/runner/runner.h"

// What is open of a file.
struct mpi_open {
    MPI_File handle;
    int64_t etype_bytes;
};

// What of a transfer's buffer is moved.
struct mpi_memory {
    MPI_Datatype type;
    int count;
};

struct mpi_memory mpi_memory_of(struct runner *runner, const struct model_step *step);

// The processes that open the file together; to be freed unless it is a predefined one.
MPI_Comm mpi_comm_of(struct runner *runner, const struct replay_file *file);
MPI_Info mpi_hints_of(const struct model *model, const struct op_kind *kind);
int mpi_set_view(struct lane_run *lane, struct replay_file *file, const struct model_step *step);
