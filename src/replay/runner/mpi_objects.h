// Hints, file views and datatypes for the MPI back end.
#pragma once

#include <mpi.h>

#include "replay/runner/runner.h"

// An open file.
struct mpi_open {
    MPI_File handle;
    int64_t etype_bytes;
    bool is_alone, is_stale; // of a variant: no other has it open; the program closed the file since
};

// What part of its buffer a transfer moves.
struct mpi_memory {
    MPI_Datatype type;
    int count;
};

// --- datatypes (mpi_types.c). Functions return MPI's codes.

struct mpi_view {
    MPI_Datatype etype, filetype;
    uint32_t etype_bytes;
};

// A predefined type with this size; MPI_DATATYPE_NULL: there is none.
MPI_Datatype mpi_type_of_size(int64_t bytes);
// A type with the bytes of `from`, made of elements of `unit` bytes where it can be; 0: of the largest that it can be.
int mpi_make_type(const struct model_type *from, int64_t unit, MPI_Datatype *out);
int mpi_make_view(const struct model_type *from, uint32_t etype_bytes, struct mpi_view *out);

// --- what a step needs

// Makes the datatypes of a step, which are kept: programs make them before the calls that ioseer times.
void mpi_make_types(struct runner *runner, const struct model_step *step);
struct mpi_memory mpi_memory_of(struct runner *runner, const struct replay_file *file, const struct model_step *step);

// The hints that the call got, and those of a variant instead of them; of an `open` these in any case.
MPI_Info mpi_hints_of(const struct runner *runner, const struct op_kind *kind, bool opens);
int mpi_set_view(struct replay_thread *thread, struct replay_file *file, const struct model_step *step);
