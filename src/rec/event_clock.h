// The clock of events: the processor's counter if it is steady, else clock_gettime. Both are shifted to a unit of some
// nanoseconds, so that most times fit one or two bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "fmt/spill.h"

enum { EVENT_CLOCK_NS_SHIFT = 2 };

extern bool event_clock_uses_ns __attribute__((visibility("hidden"))); // set once, before the first event

static inline uint64_t event_clock_now(void) {
    if (__builtin_expect(event_clock_uses_ns, 0)) return clock_ns(CLOCK_MONOTONIC) >> EVENT_CLOCK_NS_SHIFT;
    return cpu_counter() >> CPU_COUNTER_SHIFT;
}

static inline struct spill_moment event_clock_moment(void) { return spill_moment_now(event_clock_now); }
