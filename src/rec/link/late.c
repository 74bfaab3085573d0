// A way to the recorder's shim of a function NAME, in an object of its own. The linker takes it only if the program
// calls the function, because then it also needs the library that has it.
#include "base/cpu.h"

#define WAY(name) CPU_FUNCTION(__wrap_##name, CPU_JUMP("ioseer_late_" #name))
#define REAL(name) "    .quad __real_" #name "\n"
#define EXPANDED(macro, name) macro(name)

__asm__(EXPANDED(WAY, NAME) //
        ".section .data.rel.ro, \"aw\"\n.balign 8\n" EXPANDED(REAL, NAME) ".text\n");
