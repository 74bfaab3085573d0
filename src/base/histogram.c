#include "base/histogram.h"

#include <math.h>

enum { STEP_BITS = 5 };

static unsigned bucket_of(uint64_t value) {
    if (value < HISTOGRAM_STEPS) return (unsigned)value;
    unsigned doublings = 63 - STEP_BITS - (unsigned)__builtin_clzll(value);
    return (doublings + 1) * HISTOGRAM_STEPS + (unsigned)(value >> doublings) % HISTOGRAM_STEPS;
}

uint64_t histogram_bucket_start(unsigned bucket) {
    if (bucket < HISTOGRAM_STEPS) return bucket;
    if (bucket >= HISTOGRAM_BUCKETS) return UINT64_MAX;
    return (uint64_t)(HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << (bucket / HISTOGRAM_STEPS - 1);
}

void histogram_add(struct histogram *histogram, uint64_t value) {
    if (!histogram->count || value < histogram->smallest) histogram->smallest = value;
    if (value > histogram->largest) histogram->largest = value;
    histogram->count++;
    histogram->sum += value;
    histogram->bucket[bucket_of(value)]++;
}

void histogram_join(struct histogram *to, const struct histogram *from) {
    if (!from->count) return;
    if (!to->count || from->smallest < to->smallest) to->smallest = from->smallest;
    if (from->largest > to->largest) to->largest = from->largest;
    to->count += from->count;
    to->sum += from->sum;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) to->bucket[i] += from->bucket[i];
}

uint64_t histogram_quantile(const struct histogram *histogram, double fraction) {
    uint64_t wanted = (uint64_t)ceil(fraction * (double)histogram->count), seen = 0;
    if (wanted <= 1) return histogram->smallest;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen < wanted) continue;
        uint64_t last = histogram_bucket_start(i + 1) - 1;
        return last < histogram->largest ? last : histogram->largest;
    }
    return histogram->largest;
}
