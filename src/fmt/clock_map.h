// From a process's clock units to nanoseconds since the job's start:
//   ns = origin_ns + (units - origin_units) * span_ns / span_units
#pragma once

#include <stdint.h>

struct clock_map {
    uint64_t origin_units;
    int64_t origin_ns;   // within INT64_MAX / 4 of 0
    uint64_t span_units; // not 0
    uint64_t span_ns;
};

// Nanoseconds per unit. For millions of times, calculate it once.
static inline double clock_map_rate(const struct clock_map *map) {
    return (double)map->span_ns / (double)map->span_units;
}

// The 53 bits of a double keep nanoseconds exact for a hundred days, and need no 128-bit division. Times out of range
// (damage) become the nearest limit.
static inline int64_t clock_map_scale_at(double rate, int64_t units) {
    double ns = (double)units * rate;
    const double limit = (double)(INT64_MAX / 4);
    if (ns > limit) return INT64_MAX / 4;
    return ns > -limit ? (int64_t)ns : -(INT64_MAX / 4);
}

static inline int64_t clock_map_ns_at(const struct clock_map *map, double rate, uint64_t units) {
    return map->origin_ns + clock_map_scale_at(rate, (int64_t)(units - map->origin_units));
}

static inline int64_t clock_map_scale(const struct clock_map *map, int64_t units) {
    return clock_map_scale_at(clock_map_rate(map), units);
}

static inline int64_t clock_map_ns(const struct clock_map *map, uint64_t units) {
    return clock_map_ns_at(map, clock_map_rate(map), units);
}
