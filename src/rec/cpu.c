#include "rec/cpu.h"

#if defined(__x86_64__)

// The child of vfork runs on the parent's stack and memory until it execs or exits. So the return address must be kept
// in a register (the kernel preserves rdi), and no C function may be between the system call and the return.
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

// Saves every register that may hold an argument; rax has the number of vector registers in use.
__asm__(".text\n"
        ".type cpu_switch, @function\n"
        ".globl cpu_switch\n"
        ".hidden cpu_switch\n"
        "cpu_switch:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        ".irp word, rdi, rsi, rdx, rcx, r8, r9, rax\n    pushq %\\word\n.endr\n"
        "    subq $136, %rsp\n"
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7\n    movups %xmm\\number, 16*\\number(%rsp)\n.endr\n"
        "    call *%r11\n"
        "    movq %rax, %r11\n"
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7\n    movups 16*\\number(%rsp), %xmm\\number\n.endr\n"
        "    addq $136, %rsp\n"
        ".irp word, rax, r9, r8, rcx, rdx, rsi, rdi, rbp\n    popq %\\word\n.endr\n"
        "    jmp *%r11\n"
        ".size cpu_switch, .-cpu_switch\n");

#elif defined(__aarch64__)

// The child overwrites the stack, so x30 is kept in x9, which the kernel preserves.
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

__asm__(".text\n"
        ".type cpu_switch, %function\n"
        ".globl cpu_switch\n"
        ".hidden cpu_switch\n"
        "cpu_switch:\n"
        "    stp x29, x30, [sp, #-224]!\n"
        "    stp x0, x1, [sp, #16]\n"
        "    stp x2, x3, [sp, #32]\n"
        "    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n"
        "    str x8, [sp, #80]\n"
        "    stp q0, q1, [sp, #96]\n"
        "    stp q2, q3, [sp, #128]\n"
        "    stp q4, q5, [sp, #160]\n"
        "    stp q6, q7, [sp, #192]\n"
        "    blr x16\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x2, x3, [sp, #32]\n"
        "    ldp x4, x5, [sp, #48]\n"
        "    ldp x6, x7, [sp, #64]\n"
        "    ldr x8, [sp, #80]\n"
        "    ldp q0, q1, [sp, #96]\n"
        "    ldp q2, q3, [sp, #128]\n"
        "    ldp q4, q5, [sp, #160]\n"
        "    ldp q6, q7, [sp, #192]\n"
        "    ldp x29, x30, [sp], #224\n"
        "    br x16\n"
        ".size cpu_switch, .-cpu_switch\n");

#endif
