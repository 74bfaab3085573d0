// The slow path of the recorder's locks.
#include <sys/syscall.h>
#include <time.h>

#include "rec/recorder.h"

// By the kernel: clock_gettime may be the program's.
static uint64_t now_ns(void) {
    struct timespec now = {0};
    cpu_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The whole process may be stopped meanwhile, so a yield counts as 0.1 s at most.
static uint64_t yield_ns(void) {
    const uint64_t most_ns = 100000000;
    uint64_t start_ns = now_ns();
    cpu_syscall(SYS_sched_yield, 0);
    uint64_t ns = now_ns() - start_ns;
    return ns < most_ns ? ns : most_ns;
}

bool spin_while(_Atomic uint32_t *word, uint32_t value) {
    enum { SPINS = 1024 };
    uint64_t waited_ns = 0;
    for (unsigned i = 0; atomic_load_explicit(word, memory_order_acquire) == value; i++) {
        if (waited_ns > SPIN_PATIENCE_NS) return false;
        if (i < SPINS) {
            cpu_relax();
        } else {
            waited_ns += yield_ns();
        }
    }
    return true;
}

void spin_wait(_Atomic uint32_t *lock, uint32_t owner) {
    for (;;) {
        uint32_t held = atomic_load_explicit(lock, memory_order_relaxed);
        bool is_ours = (held & ~SPIN_TURN) == owner;
        if (is_ours && spin_while(lock, held)) continue;
        uint32_t taken = is_ours ? held ^ SPIN_TURN : owner;
        if (atomic_compare_exchange_strong_explicit(lock, &held, taken, memory_order_acquire, memory_order_relaxed))
            return;
    }
}
