// Each exported MPI function is a jump through its slot. At first a slot points to code that passes its number to
// mpi_resolve, which fills all slots. No argument of MPI is floating-point.
#include "base/cpu.h"
#include "mpi_names.h"

#define STUB(name) CPU_FUNCTION(name, CPU_JUMP_BY("mpi_slots + 8 * stub")) ".set stub, stub + 1\n"
#define FIRST(name) ".balign 16\n" CPU_JUMP_NUMBERED("stub", "mpi_first_call") ".set stub, stub + 1\n"
#define SLOT(name) "    .quad mpi_first + 16 * stub\n.set stub, stub + 1\n"

__asm__(".set stub, 0\n" MPI_NAMES(STUB)                                                                         //
        ".set stub, 0\n.balign 16\nmpi_first:\n" MPI_NAMES(FIRST) "mpi_first_call:\n" CPU_RESOLVE("mpi_resolve") //
        ".data\n.balign 8\n.globl mpi_slots\n.hidden mpi_slots\nmpi_slots:\n.set stub, 0\n" MPI_NAMES(SLOT) ".text\n");
