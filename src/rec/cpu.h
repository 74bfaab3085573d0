// Everything in the recorder that depends on the processor: the cycle counter, system calls without libc
// (base/cpu_syscall.h), functions that choose their target at each call, and vfork (cpu.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_syscall.h"

#if defined(__x86_64__)

#include <cpuid.h>

// Whether the counter has the same rate on all cores and in every power state.
static inline bool cpu_counter_is_steady(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static inline uint64_t cpu_counter(void) { return __builtin_ia32_rdtsc(); }

static inline void cpu_relax(void) { __builtin_ia32_pause(); }

// Defines the function `name`. It calls `chooser` with its own arguments and jumps to the address that this returns,
// with all arguments unchanged.
#define CPU_SWITCH(name, chooser)                                                                                      \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "    endbr64\n    leaq " #chooser "(%rip), %r11\n    jmp cpu_switch\n"                                     \
            ".size " #name ", .-" #name "\n")

#elif defined(__aarch64__)

static inline bool cpu_counter_is_steady(void) { return true; }

static inline uint64_t cpu_counter(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}

static inline void cpu_relax(void) { __asm__ volatile("yield"); }

#define CPU_SWITCH(name, chooser)                                                                                      \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                                        \
            "    adrp x16, " #chooser "\n    add x16, x16, :lo12:" #chooser "\n    b cpu_switch\n"                     \
            ".size " #name ", .-" #name "\n")

#else
#error "ioseer's recorder knows x86_64 and aarch64; a new processor needs src/rec/cpu.[hc] and src/base/cpu_syscall.h"
#endif
