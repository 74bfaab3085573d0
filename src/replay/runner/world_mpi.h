// What only the back end for MPI needs of the world.
#pragma once

#include <mpi.h>

#include "replay/runner/world.h"

// The communicator of an open; the world's where it is not known.
MPI_Comm world_communicator(const struct op_kind *kind);
