// Communicators, hints, file views and datatypes for the MPI back end.
#pragma once

#include <mpi.h>

#include "replay/runner/runner.h"

// An open file.
struct mpi_open {
    MPI_File handle;
    int64_t etype_bytes;
};

// What part of its buffer a transfer moves.
struct mpi_memory {
    MPI_Datatype type;
    int count;
};

struct mpi_memory mpi_memory_of(struct runner *runner, const struct model_step *step);

// The processes that open the file together; to be freed unless it is predefined.
MPI_Comm mpi_comm_of(struct runner *runner, const struct replay_file *file);
MPI_Info mpi_hints_of(const struct model *model, const struct op_kind *kind);
int mpi_set_view(struct replay_thread *thread, struct replay_file *file, const struct model_step *step);
