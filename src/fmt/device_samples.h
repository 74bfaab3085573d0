// What a block device did, as a sequence of samples. Each is seven varints: nanoseconds since the last sample (the
// first: since the monitor's start), then the increase of each of the kernel's counters in that time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

// The kernel counts bytes in sectors of this size, whatever the device's own is.
enum { DEVICE_SECTOR_BYTES = 512 };

enum device_counter {
    DEVICE_READS,
    DEVICE_WRITES,
    DEVICE_SECTORS_READ,
    DEVICE_SECTORS_WRITTEN,
    DEVICE_BUSY_MS,  // time with a request under way
    DEVICE_QUEUE_MS, // the same, times the number of requests
    DEVICE_COUNTERS
};

struct device_sample {
    uint64_t span_ns;
    uint64_t count[DEVICE_COUNTERS];
};

enum { DEVICE_SAMPLE_MAX_BYTES = (1 + DEVICE_COUNTERS) * VARINT_MAX_BYTES };

// Adds a sample to a sum. ERR_FORMAT if the sum is impossibly large. Otherwise the sum can be multiplied by the size of
// a sector, or turned into nanoseconds, without overflow.
int device_sample_add(struct device_sample *sum, const struct device_sample *sample);

// Writes at most DEVICE_SAMPLE_MAX_BYTES and returns their end.
uint8_t *device_sample_put(uint8_t *out, const struct device_sample *sample);

struct device_samples_in {
    const uint8_t *at;
    const uint8_t *end;
};

// Returns 1 with the next sample, 0 at the end, ERR_FORMAT on damage.
int device_samples_next(struct device_samples_in *in, struct device_sample *sample);

// The number of all samples and their sum.
int device_samples_sum(struct device_samples_in in, size_t *count, struct device_sample *sum);

// At most 1: the kernel's ticks are coarser than the clock, so the busy time may exceed the span.
static inline double device_utilisation(const struct device_sample *sample) {
    double busy_ns = (double)sample->count[DEVICE_BUSY_MS] * 1e6, span_ns = (double)sample->span_ns;
    return busy_ns < span_ns ? busy_ns / span_ns : busy_ns > 0;
}

// Requests under way, on average.
static inline double device_queue(const struct device_sample *sample) {
    return sample->span_ns ? (double)sample->count[DEVICE_QUEUE_MS] * 1e6 / (double)sample->span_ns : 0;
}
