// How often which values came, in buckets at most 3 % wide: enough for percentiles of latencies and sizes.
#pragma once

#include <stdint.h>

enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * 60 }; // 32 buckets from each power of 2 to the next

struct histogram {
    uint64_t count;
    uint64_t smallest, largest; // exact
    uint64_t sum;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_join(struct histogram *to, const struct histogram *from);
// The value that this fraction of all values does not exceed, to the width of a bucket; 0 without values.
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);
// The values of a bucket: this one and those below the next one's.
uint64_t histogram_bucket_start(unsigned bucket);
