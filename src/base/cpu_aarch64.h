// What base/cpu.h declares, for 64-bit ARM.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CPU_ELF_MACHINE EM_AARCH64
#define CPU_RELOCATION_DATA R_AARCH64_GLOB_DAT
#define CPU_RELOCATION_CALL R_AARCH64_JUMP_SLOT
#define CPU_AUDIT AUDIT_ARCH_AARCH64
#define CPU_OLDEST_LIBC "GLIBC_2.17"

static inline long cpu_syscall6(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

enum { CPU_COUNTER_SHIFT = 0 }; // of 24 MHz to 1 GHz

static inline uint64_t cpu_counter(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}

// The counter is steady by definition. Where it has an erratum, the kernel reads it for the program. A frequency of 0
// means that the firmware did not set it up.
static inline bool cpu_counter_is_steady(void) {
    uint64_t hertz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
    return hertz != 0;
}

static inline void cpu_relax(void) { __asm__ volatile("yield"); }

#define CPU_JUMP(target) "    b " target "\n"

#define CPU_JUMP_BY(slot) "    adrp x16, " slot "\n    ldr x16, [x16, :lo12:" slot "]\n    br x16\n"

#define CPU_JUMP_NUMBERED(number, target) "    mov x17, #" number "\n    b " target "\n"

#define CPU_RESOLVE(chooser)                                                                                           \
    "    stp x29, x30, [sp, #-96]!\n"                                                                                  \
    "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n    stp x6, x7, [sp, #64]\n"     \
    "    str x8, [sp, #80]\n"                                                                                          \
    "    mov x0, x17\n"                                                                                                \
    "    bl " chooser "\n"                                                                                             \
    "    mov x16, x0\n"                                                                                                \
    "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, #64]\n"     \
    "    ldr x8, [sp, #80]\n"                                                                                          \
    "    ldp x29, x30, [sp], #96\n"                                                                                    \
    "    br x16\n"

#define CPU_SWITCH_TO(chooser) "    adrp x16, " chooser "\n    add x16, x16, :lo12:" chooser "\n    b cpu_switch\n"

#define CPU_SWITCH_ANY                                                                                                 \
    "    stp x29, x30, [sp, #-224]!\n"                                                                                 \
    "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n    stp x6, x7, [sp, #64]\n"     \
    "    str x8, [sp, #80]\n"                                                                                          \
    "    stp q0, q1, [sp, #96]\n    stp q2, q3, [sp, #128]\n    stp q4, q5, [sp, #160]\n    stp q6, q7, [sp, #192]\n"  \
    "    blr x16\n"                                                                                                    \
    "    mov x16, x0\n"                                                                                                \
    "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n    ldp x6, x7, [sp, #64]\n"     \
    "    ldr x8, [sp, #80]\n"                                                                                          \
    "    ldp q0, q1, [sp, #96]\n    ldp q2, q3, [sp, #128]\n    ldp q4, q5, [sp, #160]\n    ldp q6, q7, [sp, #192]\n"  \
    "    ldp x29, x30, [sp], #224\n"                                                                                   \
    "    br x16\n"

// The kernel preserves x9. 0x4111 is CLONE_VM | CLONE_VFORK | SIGCHLD, 220 SYS_clone.
#define CPU_VFORK                                                                                                      \
    "    stp x29, x30, [sp, #-16]!\n"                                                                                  \
    "    bl vfork_before\n"                                                                                            \
    "    ldp x29, x30, [sp], #16\n"                                                                                    \
    "    mov x9, x30\n"                                                                                                \
    "    mov x0, #0x4111\n"                                                                                            \
    "    mov x1, #0\n"                                                                                                 \
    "    mov x8, #220\n"                                                                                               \
    "    svc 0\n"                                                                                                      \
    "    mov x30, x9\n"                                                                                                \
    "    cbz x0, 1f\n"                                                                                                 \
    "    stp x29, x30, [sp, #-16]!\n"                                                                                  \
    "    bl vfork_after\n"                                                                                             \
    "    ldp x29, x30, [sp], #16\n"                                                                                    \
    "1:  ret\n"
