// Each exported MPI function is a jump through its slot. At first a slot points to code that pushes its number and
// calls mpi_resolve, which fills all slots. The arguments are saved on the stack meanwhile (none of them is
// floating-point).
#include "mpi_names.h"

#if defined(__x86_64__)

#define STUB(name)                                                                                                     \
    ".globl " #name "\n.type " #name ", @function\n" #name ":\n"                                                       \
    "    endbr64\n    jmp *mpi_slots + 8 * stub(%rip)\n.size " #name ", . - " #name "\n.set stub, stub + 1\n"
#define FIRST(name) ".balign 16\n    pushq $stub\n    jmp mpi_first_call\n.set stub, stub + 1\n"
#define SLOT(name) "    .quad mpi_first + 16 * stub\n.set stub, stub + 1\n"

__asm__(".text\n.set stub, 0\n" MPI_NAMES(STUB) ".set stub, 0\n.balign 16\nmpi_first:\n" MPI_NAMES(
    FIRST) "mpi_first_call:\n"
           "    pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    pushq %r8\n    pushq %r9\n"
           "    movl 48(%rsp), %edi\n"
           "    call mpi_resolve\n"
           "    movq %rax, %r11\n"
           "    popq %r9\n    popq %r8\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"
           "    addq $8, %rsp\n"
           "    jmp *%r11\n"
           ".data\n.balign 8\n.globl mpi_slots\n.hidden mpi_slots\nmpi_slots:\n.set stub, 0\n" MPI_NAMES(
               SLOT) ".text\n");

#elif defined(__aarch64__)

#define STUB(name)                                                                                                     \
    ".globl " #name "\n.type " #name ", %function\n" #name ":\n"                                                       \
    "    adrp x16, mpi_slots + 8 * stub\n    ldr x16, [x16, :lo12:mpi_slots + 8 * stub]\n    br x16\n"                 \
    ".size " #name ", . - " #name "\n.set stub, stub + 1\n"
#define FIRST(name) ".balign 16\n    mov x17, #stub\n    b mpi_first_call\n.set stub, stub + 1\n"
#define SLOT(name) "    .quad mpi_first + 16 * stub\n.set stub, stub + 1\n"

__asm__(".text\n.set stub, 0\n" MPI_NAMES(STUB) ".set stub, 0\n.balign 16\nmpi_first:\n" MPI_NAMES(
    FIRST) "mpi_first_call:\n"
           "    stp x29, x30, [sp, #-80]!\n"
           "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n    stp x6, x7, [sp, "
           "#64]\n"
           "    mov x0, x17\n"
           "    bl mpi_resolve\n"
           "    mov x16, x0\n"
           "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, "
           "#64]\n"
           "    ldp x29, x30, [sp], #80\n"
           "    br x16\n"
           ".data\n.balign 8\n.globl mpi_slots\n.hidden mpi_slots\nmpi_slots:\n.set stub, 0\n" MPI_NAMES(
               SLOT) ".text\n");

#endif
