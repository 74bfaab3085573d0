// The system's clocks as one number.
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Seconds of CLOCK_MONOTONIC.
static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Nanoseconds of CLOCK_MONOTONIC, signed for differences.
static inline int64_t clock_now_ns(void) { return (int64_t)clock_ns(CLOCK_MONOTONIC); }

static inline void clock_sleep_until(int64_t monotonic_ns) {
    struct timespec until = {monotonic_ns / 1000000000, monotonic_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
