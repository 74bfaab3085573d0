#include "rec/cpu.h"

#include <sys/syscall.h>

#include "rec/vfork.h"

#if defined(__x86_64__)

#include <cpuid.h>

bool cpu_counter_is_steady(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

// The child of vfork runs on the parent's stack and memory until it execs or exits, so the return address must wait in
// a register (the kernel keeps rdi) and no C function may lie between the system call and the return.
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "    endbr64\n"
        "    subq $8, %rsp\n"
        "    call vfork_before\n"
        "    addq $8, %rsp\n"
        "    popq %rdi\n"
        "    movl $58, %eax\n" // SYS_vfork
        "    syscall\n"
        "    pushq %rdi\n"
        "    testq %rax, %rax\n"
        "    je 1f\n"
        "    subq $8, %rsp\n"
        "    movq %rax, %rdi\n"
        "    call vfork_after\n"
        "    addq $8, %rsp\n"
        "1:  ret\n"
        ".size vfork, .-vfork\n");

#elif defined(__aarch64__)

bool cpu_counter_is_steady(void)
{
    return true;
}

// x30 and x29 would be lost with the stack: the kernel keeps x9 and x10 over the system call.
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, %function\n"
        "vfork:\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    bl vfork_before\n"
        "    ldp x29, x30, [sp], #16\n"
        "    mov x9, x30\n"
        "    mov x0, #0x4111\n" // CLONE_VM | CLONE_VFORK | SIGCHLD
        "    mov x1, #0\n"
        "    mov x8, #220\n" // SYS_clone
        "    svc 0\n"
        "    mov x30, x9\n"
        "    cbz x0, 1f\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    bl vfork_after\n"
        "    ldp x29, x30, [sp], #16\n"
        "1:  ret\n"
        ".size vfork, .-vfork\n");

#endif
