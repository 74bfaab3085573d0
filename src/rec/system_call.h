// syscall(2): the numbers in calls/*.calls are recorded like the libc functions.
#pragma once

#include <stdint.h>

// The caller of syscall(2), for the shims behind it.
extern __thread uintptr_t system_call_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));

long system_call(long number, const long argument[6]); // generated
long system_call_real(long number, const long argument[6]);
