#include "fmt/device_samples.h"

#include "base/err.h"

// Limits of sums (see device_samples.h).
#define LARGEST (UINT64_C(1) << 52)
#define LONGEST_NS (UINT64_C(1) << 60)

int device_sample_add(struct device_sample *sum, const struct device_sample *sample) {
    RETURN_IF(sample->span_ns > LONGEST_NS - sum->span_ns, ERR_FORMAT);
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) RETURN_IF(sample->count[i] > LARGEST - sum->count[i], ERR_FORMAT);
    sum->span_ns += sample->span_ns;
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) sum->count[i] += sample->count[i];
    return 0;
}

uint8_t *device_sample_put(uint8_t *out, const struct device_sample *sample) {
    out = varint_put(out, sample->span_ns);
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) out = varint_put(out, sample->count[i]);
    return out;
}

int device_samples_next(struct device_samples_in *in, struct device_sample *sample) {
    if (in->at == in->end) return 0;
    const uint8_t *at = varint_get(in->at, in->end, &sample->span_ns);
    for (unsigned i = 0; at && i < DEVICE_COUNTERS; i++) at = varint_get(at, in->end, &sample->count[i]);
    RETURN_IF(!at, ERR_FORMAT);
    in->at = at;
    return 1;
}

int device_samples_sum(struct device_samples_in in, size_t *count, struct device_sample *sum) {
    struct device_sample sample;
    int more;
    *count = 0;
    *sum = (struct device_sample){0};
    while ((more = device_samples_next(&in, &sample)) > 0) {
        FORWARD(device_sample_add(sum, &sample));
        ++*count;
    }
    return more;
}
