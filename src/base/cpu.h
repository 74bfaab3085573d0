// Everything that depends on the processor. Each processor has one file with what is declared here. They are written
// for the recorder: nothing in them needs libc, or changes errno, which belongs to the recorded program.
//
//     cpu_syscall6               a system call that bypasses libc and every library before it; -errno on failure
//     cpu_counter                a counter that can be read without a system call
//     cpu_counter_is_steady      whether it has the same rate on all cores and in every power state
//     CPU_COUNTER_SHIFT          makes units of some nanoseconds of it
//     cpu_relax                  in a loop that waits
//     CPU_ELF_MACHINE            programs for this processor, in <elf.h>
//     CPU_RELOCATION_DATA, _CALL slots that a library has for addresses of functions, in <elf.h>
//     CPU_AUDIT                  its system calls, in <linux/audit.h>
//     CPU_OLDEST_LIBC            version of the oldest functions of glibc
//
// The rest is text for the assembler:
//
//     CPU_JUMP(target)           jumps to a function, in another section or library if need be
//     CPU_JUMP_BY(slot)          jumps to the address in this variable, the first instruction of a function
//     CPU_JUMP_NUMBERED(n, t)    jumps to t, which is CPU_RESOLVE, with a number; at most 16 bytes
//     CPU_RESOLVE(chooser)       calls chooser with that number and jumps to the address that it returns. Arguments
//     stay
//                                as they are, except floating-point ones
//     CPU_SWITCH_TO(chooser)     jumps to CPU_SWITCH_ANY, which calls chooser with all arguments and jumps to the
//     address CPU_SWITCH_ANY             that it returns, with all arguments unchanged CPU_VFORK vfork, with
//     vfork_before and vfork_after around it. The child runs on the parent's stack
//                                and memory until it execs or exits. So the return address must be in a register
//                                meanwhile, and no C function between the system call and the return
#pragma once

#if defined(__x86_64__)
#include "base/cpu_x86_64.h"
#elif defined(__aarch64__)
#include "base/cpu_aarch64.h"
#else
#error "ioseer knows x86_64 and aarch64; a new processor needs a file beside src/base/cpu_x86_64.h"
#endif

#define cpu_syscall(number, ...) cpu_syscall_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define cpu_syscall_(number, a, b, c, d, e, f, ...)                                                                    \
    cpu_syscall6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// A function whose instructions are text for the assembler.
#define CPU_FUNCTION(name, code)                                                                                       \
    ".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" code ".size " #name ", . - " #name "\n"
