// syscall(2): the numbers in calls/*.calls take the way of their libc twins.
#pragma once

#include <stdint.h>

// Who called syscall(2), for the shims behind it.
extern __thread uintptr_t system_call_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));

long system_call(long number, const long argument[6]); // generated
long system_call_real(long number, const long argument[6]);
