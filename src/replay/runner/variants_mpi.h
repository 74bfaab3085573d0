// What a variant needs of MPI, besides the calls themselves.
#pragma once

#include "replay/runner/runner.h"

uint32_t mpi_count_nodes(void); // machines; all processes call it
// Communicators of the ranks that use each file; all processes call it.
int mpi_make_users(const struct variant_files *files);
// Opens a file of POSIX calls, unless it is: together with the others that use it, or for this process. Returns -errno.
int mpi_open_for_variant(struct runner *runner, struct replay_file *file, enum variant_way way);
void mpi_close_for_variant(struct replay_file *file);
// The bytes of the elementary type of the view that a step is in.
uint64_t mpi_unit_of_view(const struct replay_file *file, const struct model_step *step);
