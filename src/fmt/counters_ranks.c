#include "fmt/counters.h"

#include <string.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/records.h"

struct counters_ranks counters_ranks_of(int64_t rank, const struct counters *c) {
    struct counters_ranks ranks = {.count = 1};
    ranks.fastest.rank = rank;
    ranks.fastest.bytes = counters_bytes(c);
    ranks.fastest.time = counters_time(c);
    ranks.slowest = ranks.fastest;
    return ranks;
}

// The variance of two groups together (Chan): that of each, and the distance of their means.
static double join_variance(double own, double mean, double count, double other, double other_mean,
                            double other_count) {
    double sum = count + other_count, apart = other_mean - mean;
    return (own * count + other * other_count + apart * apart * count * other_count / sum) / sum;
}

// Which of two equal ranks is the fastest does not depend on the order of merging: the one with the lower number.
static bool is_before(uint64_t time, int64_t rank, uint64_t other_time, int64_t other_rank) {
    return time != other_time ? time < other_time : rank < other_rank;
}

void counters_merge_ranks(struct counters *c, struct counters_ranks *ranks, const struct counters *other,
                          const struct counters_ranks *others, struct counters_common left_out[2]) {
    double count = (double)ranks->count, more = (double)others->count;
    const double second = 1e9;
    if (!ranks->count || !others->count) return;
    ranks->variance_time = join_variance(ranks->variance_time, (double)counters_time(c) / second / count, count,
                                         others->variance_time, (double)counters_time(other) / second / more, more);
    ranks->variance_bytes = join_variance(ranks->variance_bytes, (double)counters_bytes(c) / count, count,
                                          others->variance_bytes, (double)counters_bytes(other) / more, more);
    if (is_before(others->fastest.time, others->fastest.rank, ranks->fastest.time, ranks->fastest.rank))
        ranks->fastest = others->fastest;
    if (is_before(~others->slowest.time, others->slowest.rank, ~ranks->slowest.time, ranks->slowest.rank))
        ranks->slowest = others->slowest;
    ranks->count += others->count;
    counters_merge_rank(c, other, left_out);
}

// --- COUNTERS_RANKS

static uint8_t *put_double(uint8_t *at, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < sizeof bits; i++) *at++ = (uint8_t)(bits >> 8 * i);
    return at;
}

static double get_double(const uint8_t *at) {
    uint64_t bits = 0;
    double value;
    for (unsigned i = 0; i < sizeof bits; i++) bits |= (uint64_t)at[i] << 8 * i;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { NUMBERS = 7, DOUBLES_BYTES = 16 };

void counters_put_ranks(struct fields_out *out, const struct counters_ranks *ranks) {
    uint8_t buffer[NUMBERS * VARINT_MAX_BYTES + DOUBLES_BYTES];
    const uint64_t number[NUMBERS] = {ranks->count,        (uint64_t)ranks->fastest.rank, ranks->fastest.bytes,
                                      ranks->fastest.time, (uint64_t)ranks->slowest.rank, ranks->slowest.bytes,
                                      ranks->slowest.time};
    uint8_t *at = buffer;
    // One rank is the fastest and the slowest, and its bytes and time are those of the counters.
    unsigned numbers = ranks->count > 1 ? NUMBERS : 2;
    for (unsigned i = 0; i < numbers; i++) at = varint_put(at, number[i]);
    if (ranks->count > 1) at = put_double(put_double(at, ranks->variance_time), ranks->variance_bytes);
    fields_bytes(out, COUNTERS_RANKS, buffer, (size_t)(at - buffer));
}

static int get_ranks(const struct field *field, const struct counters *c, struct counters_ranks *ranks) {
    uint64_t number[NUMBERS] = {0};
    RETURN_IF(!field->is_bytes, ERR_FORMAT);
    const uint8_t *at = field->data, *end = field->data + field->len;
    for (unsigned i = 0; i < NUMBERS && at && (i < 2 || number[0] > 1); i++) at = varint_get(at, end, &number[i]);
    RETURN_IF(!at || !number[0], ERR_FORMAT);
    *ranks = counters_ranks_of((int64_t)(number[1] & INT64_MAX), c);
    if (number[0] == 1) return 0;
    RETURN_IF(end - at < DOUBLES_BYTES, ERR_FORMAT);
    ranks->count = number[0];
    ranks->fastest.bytes = number[2];
    ranks->fastest.time = number[3];
    ranks->slowest.rank = (int64_t)(number[4] & INT64_MAX);
    ranks->slowest.bytes = number[5];
    ranks->slowest.time = number[6];
    ranks->variance_time = get_double(at);
    ranks->variance_bytes = get_double(at + DOUBLES_BYTES / 2);
    return 0;
}

int counters_get_ranks(struct fields_in body, const struct counters *c, struct counters_ranks *ranks) {
    struct field f[COUNTERS_RANKS + 1];
    FORWARD(fields_by_key(body, f, COUNTERS_RANKS + 1));
    RETURN_IF(!f[COUNTERS_RANKS].key, ERR_FORMAT);
    return get_ranks(&f[COUNTERS_RANKS], c, ranks);
}
