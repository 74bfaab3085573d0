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

// --- COUNTERS_RANKS, and COUNTERS_OLD_RANKS of older logs

enum { NUMBERS = 7, DOUBLE_BYTES = sizeof(double), DOUBLES_BYTES = 2 * DOUBLE_BYTES };

// The highest byte first, so that numbers with few digits end in zeros, which are left out.
static uint8_t *put_double(uint8_t *at, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = DOUBLE_BYTES; i > 0; i--) *at++ = (uint8_t)(bits >> 8 * (i - 1));
    return at;
}

static double get_double(const uint8_t *at, bool is_old) {
    uint64_t bits = 0;
    double value;
    for (unsigned i = 0; i < DOUBLE_BYTES; i++) bits |= (uint64_t)at[i] << 8 * (is_old ? i : DOUBLE_BYTES - 1 - i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Bytes and times are, the number of the ranks and their names are not.
static bool is_difference(unsigned number) { return number % 3 != 1 && number; }

// What the numbers are the difference from: what each rank would have if all were the same.
static void means_of(const struct counters *c, uint64_t count, uint64_t mean[NUMBERS]) {
    memset(mean, 0, NUMBERS * sizeof *mean);
    mean[2] = mean[5] = counters_bytes(c) / count;
    mean[3] = mean[6] = counters_time(c) / count;
}

void counters_put_ranks(struct fields_out *out, const struct counters *c, const struct counters_ranks *ranks) {
    uint8_t buffer[NUMBERS * VARINT_MAX_BYTES + DOUBLES_BYTES];
    const uint64_t number[NUMBERS] = {ranks->count,        (uint64_t)ranks->fastest.rank, ranks->fastest.bytes,
                                      ranks->fastest.time, (uint64_t)ranks->slowest.rank, ranks->slowest.bytes,
                                      ranks->slowest.time};
    uint64_t mean[NUMBERS];
    uint8_t *at = buffer;
    // One rank is the fastest and the slowest, and its bytes and time are those of the counters.
    unsigned numbers = ranks->count > 1 ? NUMBERS : 2;
    means_of(c, ranks->count, mean);
    for (unsigned i = 0; i < numbers; i++)
        at = varint_put(at, is_difference(i) ? varint_fold((int64_t)(number[i] - mean[i])) : number[i]);
    if (ranks->count > 1) {
        const uint8_t *doubles = at;
        at = put_double(put_double(at, ranks->variance_time), ranks->variance_bytes);
        while (at > doubles && !at[-1]) at--;
    }
    fields_bytes(out, COUNTERS_RANKS, buffer, (size_t)(at - buffer));
}

static int get_doubles(const uint8_t *at, size_t len, bool is_old, struct counters_ranks *ranks) {
    uint8_t all[DOUBLES_BYTES] = {0};
    RETURN_IF(len > sizeof all || (is_old && len < sizeof all), ERR_FORMAT);
    memcpy(all, at, len);
    ranks->variance_time = get_double(all, is_old);
    ranks->variance_bytes = get_double(all + DOUBLE_BYTES, is_old);
    return 0;
}

static int get_ranks(const struct field *field, const struct counters *c, struct counters_ranks *ranks) {
    uint64_t number[NUMBERS] = {0}, mean[NUMBERS];
    bool is_old = field->key == COUNTERS_OLD_RANKS;
    RETURN_IF(!field->is_bytes, ERR_FORMAT);
    const uint8_t *at = field->data, *end = field->data + field->len;
    for (unsigned i = 0; i < NUMBERS && at && (i < 2 || number[0] > 1); i++) at = varint_get(at, end, &number[i]);
    RETURN_IF(!at || !number[0], ERR_FORMAT);
    *ranks = counters_ranks_of((int64_t)(number[1] & INT64_MAX), c);
    if (number[0] == 1) return 0;
    means_of(c, number[0], mean);
    for (unsigned i = 0; i < NUMBERS && !is_old; i++) {
        if (is_difference(i)) number[i] = mean[i] + (uint64_t)varint_unfold(number[i]);
    }
    ranks->count = number[0];
    ranks->fastest.bytes = number[2];
    ranks->fastest.time = number[3];
    ranks->slowest.rank = (int64_t)(number[4] & INT64_MAX);
    ranks->slowest.bytes = number[5];
    ranks->slowest.time = number[6];
    return get_doubles(at, (size_t)(end - at), is_old, ranks);
}

int counters_get_ranks(struct fields_in body, const struct counters *c, struct counters_ranks *ranks) {
    struct field f[COUNTERS_RANKS + 1];
    FORWARD(fields_by_key(body, f, COUNTERS_RANKS + 1));
    const struct field *field = &f[f[COUNTERS_RANKS].key ? COUNTERS_RANKS : COUNTERS_OLD_RANKS];
    RETURN_IF(!field->key, ERR_FORMAT);
    return get_ranks(field, c, ranks);
}
