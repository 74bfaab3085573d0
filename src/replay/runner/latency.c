#include "replay/runner/latency.h"

#include <math.h>

void latency_note(struct latency *latency, double seconds)
{
    double place = seconds > 1e-9 ? log2(seconds * 1e9) * LATENCY_STEPS : 0;
    latency->bucket[place < LATENCY_BUCKETS ? (unsigned)place : LATENCY_BUCKETS - 1]++;
}

void latency_add(struct latency *latency, const struct latency *other)
{
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) latency->bucket[i] += other->bucket[i];
}

double latency_quantile(const struct latency *latency, double share)
{
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) all += latency->bucket[i];
    for (unsigned i = 0; i < LATENCY_BUCKETS && all; i++) {
        below += latency->bucket[i];
        if ((double)below >= share * (double)all) return exp2((i + 0.5) / LATENCY_STEPS) / 1e9;
    }
    return 0;
}
