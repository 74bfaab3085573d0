// A histogram of latencies: logarithmic buckets 2 % apart, which processes can add up.
#pragma once

#include <stdint.h>

enum { LATENCY_STEPS = 32, LATENCY_DOUBLINGS = 36, LATENCY_BUCKETS = LATENCY_STEPS * LATENCY_DOUBLINGS };

struct latency {
    uint32_t bucket[LATENCY_BUCKETS]; // from 1 ns to 64 s
};

void latency_note(struct latency *latency, double seconds);
void latency_add(struct latency *latency, const struct latency *other);
double latency_quantile(const struct latency *latency, double share); // seconds; 0 for an empty one
