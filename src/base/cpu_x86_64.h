// What base/cpu.h declares, for x86-64.
#pragma once

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#define CPU_ELF_MACHINE EM_X86_64
#define CPU_RELOCATION_DATA R_X86_64_GLOB_DAT
#define CPU_RELOCATION_CALL R_X86_64_JUMP_SLOT
#define CPU_AUDIT AUDIT_ARCH_X86_64
#define CPU_OLDEST_LIBC "GLIBC_2.2.5"

static inline long cpu_syscall6(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

enum { CPU_COUNTER_SHIFT = 4 }; // of some GHz

static inline uint64_t cpu_counter(void) { return __builtin_ia32_rdtsc(); }

// All x86-64 processors have this leaf; to ask whether they have it would take as long again.
static inline bool cpu_counter_is_steady(void) {
    unsigned a, b, c, d;
    __cpuid(0x80000007, a, b, c, d);
    return d & 1u << 8;
}

static inline void cpu_relax(void) { __builtin_ia32_pause(); }

#define CPU_JUMP(target) "    endbr64\n    jmp " target "@PLT\n"

#define CPU_JUMP_BY(slot) "    endbr64\n    jmp *" slot "(%rip)\n"

#define CPU_JUMP_NUMBERED(number, target) "    pushq $" number "\n    jmp " target "\n"

#define CPU_RESOLVE(chooser)                                                                                           \
    ".irp word, rdi, rsi, rdx, rcx, r8, r9\n    pushq %\\word\n.endr\n"                                                \
    "    movl 48(%rsp), %edi\n"                                                                                        \
    "    call " chooser "\n"                                                                                           \
    "    movq %rax, %r11\n"                                                                                            \
    ".irp word, r9, r8, rcx, rdx, rsi, rdi\n    popq %\\word\n.endr\n"                                                 \
    "    addq $8, %rsp\n"                                                                                              \
    "    jmp *%r11\n"

#define CPU_SWITCH_TO(chooser) "    endbr64\n    leaq " chooser "(%rip), %r11\n    jmp cpu_switch\n"

// rax has the number of vector registers in use.
#define CPU_SWITCH_ANY                                                                                                 \
    "    pushq %rbp\n"                                                                                                 \
    "    movq %rsp, %rbp\n"                                                                                            \
    ".irp word, rdi, rsi, rdx, rcx, r8, r9, rax\n    pushq %\\word\n.endr\n"                                           \
    "    subq $136, %rsp\n"                                                                                            \
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7\n    movups %xmm\\number, 16*\\number(%rsp)\n.endr\n"                         \
    "    call *%r11\n"                                                                                                 \
    "    movq %rax, %r11\n"                                                                                            \
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7\n    movups 16*\\number(%rsp), %xmm\\number\n.endr\n"                         \
    "    addq $136, %rsp\n"                                                                                            \
    ".irp word, rax, r9, r8, rcx, rdx, rsi, rdi, rbp\n    popq %\\word\n.endr\n"                                       \
    "    jmp *%r11\n"

// The kernel preserves rdi. 58 is SYS_vfork.
#define CPU_VFORK                                                                                                      \
    "    endbr64\n"                                                                                                    \
    "    subq $8, %rsp\n"                                                                                              \
    "    call vfork_before\n"                                                                                          \
    "    addq $8, %rsp\n"                                                                                              \
    "    popq %rdi\n"                                                                                                  \
    "    movl $58, %eax\n"                                                                                             \
    "    syscall\n"                                                                                                    \
    "    pushq %rdi\n"                                                                                                 \
    "    testq %rax, %rax\n"                                                                                           \
    "    je 1f\n"                                                                                                      \
    "    subq $8, %rsp\n"                                                                                              \
    "    movq %rax, %rdi\n"                                                                                            \
    "    call vfork_after\n"                                                                                           \
    "    addq $8, %rsp\n"                                                                                              \
    "1:  ret\n"
