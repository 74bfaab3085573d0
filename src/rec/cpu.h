// All that depends on the processor: its cycle counter, system calls that bypass libc, functions that find out at each
// call where it should go, and vfork (cpu.c).
#ifndef IOSEER_REC_CPU_H
#define IOSEER_REC_CPU_H

#include <stdbool.h>
#include <stdint.h>

// True where the counter runs at one rate on all cores, in every power state.
bool cpu_counter_is_steady(void);

#if defined(__x86_64__)

static inline uint64_t cpu_counter(void)
{
    return __builtin_ia32_rdtsc();
}

static inline void cpu_relax(void)
{
    __builtin_ia32_pause();
}

// Returns -errno on failure and never touches errno: the recorder must leave the program's alone.
static inline long cpu_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
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

// Defines the function `name`: it asks `chooser`, which gets the same arguments, for an address and goes on there, with
// whatever arguments it was called with.
#define CPU_SWITCH(name, chooser)                                                                                      \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "    endbr64\n    leaq " #chooser "(%rip), %r11\n    jmp cpu_switch\n"                                     \
            ".size " #name ", .-" #name "\n")

#elif defined(__aarch64__)

static inline uint64_t cpu_counter(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}

static inline void cpu_relax(void)
{
    __asm__ volatile("yield");
}

static inline long cpu_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
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

#define CPU_SWITCH(name, chooser)                                                                                      \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                                        \
            "    adrp x16, " #chooser "\n    add x16, x16, :lo12:" #chooser "\n    b cpu_switch\n"                     \
            ".size " #name ", .-" #name "\n")

#else
#error "ioseer's recorder knows x86_64 and aarch64; a new processor needs src/rec/cpu.[hc]"
#endif

#define cpu_syscall(number, ...) cpu_syscall_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define cpu_syscall_(number, a, b, c, d, e, f, ...)                                                                    \
    cpu_syscall6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
