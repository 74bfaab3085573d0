// What vfork (cpu.c) calls on the parent's side. While a thread's vfork child runs, every shim passes straight through:
// the child has descriptors of its own but writes into the parent's memory.
#pragma once

void vfork_before(void);
long vfork_after(long result); // sets errno from a negative result, as libc's would
