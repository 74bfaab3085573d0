// The recorder as a static library that is linked into a program: `ld --wrap=open` makes the program call __wrap_open,
// which is the recorder's shim, and makes the recorder's __real_open libc's open. This is for static programs, and for
// MPI libraries that are linked statically. link/merge makes the libraries and the files with the linker's options.
//
// Programs with a dynamic loader may have the preload library, too. That one sees also what shared libraries do, so the
// linked recorder leaves everything to it.
#pragma once

#include <stdbool.h>

#include "rec/mpi/core_interface.h"

// The core for the MPI that is linked into the program: that of this recorder, or of the preload library. NULL: nothing
// is recorded, or the program's PMPI_Init is that of the preload library, which then sees the calls of MPI itself.
const struct mpi_core *ioseer_link_core(const void *pmpi_init);
