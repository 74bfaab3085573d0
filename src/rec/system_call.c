#include "rec/system_call.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "rec/async/pending.h"
#include "rec/shims.h"

__thread uintptr_t system_call_caller __attribute__((tls_model("initial-exec")));

long system_call_real(long number, const long argument[6]) {
    return real.syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

// After these the recorder's own system calls, or reading the time counter, would kill the program.
static bool ends_recording(int option) { return option == PR_SET_SECCOMP || option == PR_SET_TSC; }

SHIM(int, prctl, int option, ...) {
    unsigned long argument[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) argument[i] = va_arg(list, unsigned long);
    va_end(list);
    recorder_thread();
    if (ends_recording(option)) recorder_stop_here();
    return real.prctl(option, argument[0], argument[1], argument[2], argument[3]);
}

// Only the number tells how many arguments there are. Like libc's own function, this reads six.
long shim_syscall(long number, ...) __asm__("syscall");
EXPORT __attribute__((no_sanitize("address"))) long shim_syscall(long number, ...) {
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) argument[i] = va_arg(list, long);
    va_end(list);
    system_call_caller = (uintptr_t)__builtin_return_address(0);
    recorder_thread(); // also sets `real`
    if (number == SYS_exit_group) recorder_end(EXIT_UNDERSCORE, (uint32_t)argument[0]);
    if (number == SYS_seccomp || (number == SYS_prctl && ends_recording((int)argument[0]))) recorder_stop_here();
    if (aio_is_number(number)) return aio_system_call(number, argument);
    long result = system_call(number, argument);
    // liburing makes its system calls itself, so this program has rings of its own.
    if (number == SYS_io_uring_setup && result >= 0 && current_thread && current_thread->ready) {
        handles_forget((int)result);
        atomic_fetch_add(&recorder.spill->raw_rings, 1);
    }
    return result;
}
