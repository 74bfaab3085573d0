// Time as the parts of src/target measure it: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

static inline int64_t clock_now_ns(void)
{
    return (int64_t)clock_ns(CLOCK_MONOTONIC);
}

static inline void clock_sleep_until(int64_t ns)
{
    struct timespec until = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
