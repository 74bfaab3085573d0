#include "fmt/group.h"

#include <string.h>

#include "base/err.h"
#include "base/varint.h"

enum { MOST_PROCESSES = 1 << 30, MOST_NAME = 4096 };

int group_spread_put(struct bytes *out, enum group_time time, const struct group_spread *spread) {
    const uint64_t number[] = {(uint64_t)time,
                               varint_fold(spread->least),
                               (uint64_t)(spread->most - spread->least),
                               spread->sum,
                               spread->deviation,
                               spread->rank_least,
                               spread->rank_most,
                               0};
    for (size_t i = 0; i + 1 < sizeof number / sizeof *number; i++) FORWARD(bytes_append_varint(out, number[i]));
    return 0;
}

int group_spread_get(const uint8_t *data, size_t len, struct group_spread spread[GROUP_TIMES]) {
    enum { TIME, LEAST, RANGE, SUM, DEVIATION, RANK_LEAST, RANK_MOST, NUMBERS };
    const int64_t limit = INT64_MAX / 4;
    uint64_t number[NUMBERS];
    const uint8_t *end = data + len;
    for (unsigned i = 0; i < NUMBERS; i++) {
        data = varint_get(data, end, &number[i]);
        RETURN_IF(!data, ERR_FORMAT);
    }
    int64_t least = varint_unfold(number[LEAST]);
    RETURN_IF(least > limit || least < -limit || number[RANGE] > (uint64_t)limit, ERR_FORMAT);
    RETURN_IF(number[SUM] > INT64_MAX || number[DEVIATION] > (uint64_t)limit, ERR_FORMAT);
    if (number[TIME] >= GROUP_TIMES) return 0; // of a later version
    spread[number[TIME]] = (struct group_spread){.is_known = true,
                                                 .least = least,
                                                 .most = least + (int64_t)number[RANGE],
                                                 .sum = number[SUM],
                                                 .deviation = number[DEVIATION],
                                                 .rank_least = number[RANK_LEAST],
                                                 .rank_most = number[RANK_MOST]};
    return 0;
}

// --- hosts

int group_hosts_put(struct bytes *out, const struct group_hosts *hosts) {
    FORWARD(bytes_append_varint(out, hosts->hosts));
    FORWARD(bytes_append_varint(out, hosts->each));
    return bytes_append(out, hosts->first, hosts->len);
}

static size_t digits_of(const char *name, size_t len) {
    enum { MOST_DIGITS = 9 };
    size_t digits = 0;
    while (digits < len && digits < MOST_DIGITS && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
        digits++;
    return digits;
}

// The number at the end of the name, and the one that does not fit any more.
static uint64_t number_of(const char *name, size_t len, uint64_t *limit) {
    uint64_t number = 0;
    *limit = 1;
    for (size_t i = len - digits_of(name, len); i < len; i++) {
        number = number * 10 + (uint64_t)(name[i] - '0');
        *limit *= 10;
    }
    return number;
}

int group_hosts_get(const uint8_t *data, size_t len, struct group_hosts *hosts) {
    const uint8_t *end = data + len;
    data = varint_get(data, end, &hosts->hosts);
    if (data) data = varint_get(data, end, &hosts->each);
    RETURN_IF(!data || (size_t)(end - data) > MOST_NAME, ERR_FORMAT);
    hosts->first = (const char *)data;
    hosts->len = (size_t)(end - data);
    uint64_t limit, number = number_of(hosts->first, hosts->len, &limit);
    RETURN_IF(!hosts->hosts || hosts->hosts > limit - number, ERR_FORMAT);
    RETURN_IF(!hosts->each || hosts->each > MOST_PROCESSES / hosts->hosts, ERR_FORMAT);
    return memchr(hosts->first, 0, hosts->len) ? ERR_FORMAT : 0;
}

void group_host_name(const struct group_hosts *hosts, uint64_t i, char *out) {
    uint64_t limit, number = number_of(hosts->first, hosts->len, &limit) + i;
    memcpy(out, hosts->first, hosts->len);
    for (size_t at = hosts->len; limit > 1; limit /= 10, number /= 10) out[--at] = (char)('0' + number % 10);
}

bool group_host_follows(const struct group_hosts *hosts, const char *name, size_t len) {
    uint64_t limit, number = number_of(hosts->first, hosts->len, &limit);
    if (len != hosts->len || number + hosts->hosts >= limit) return false;
    uint64_t other_limit, other = number_of(name, len, &other_limit);
    size_t digits = digits_of(name, len);
    return digits && limit == other_limit && other == number + hosts->hosts &&
           memcmp(name, hosts->first, len - digits) == 0;
}

// --- ranks

int group_ranks_put(struct bytes *out, const struct group_ranks *range, uint64_t behind) {
    FORWARD(bytes_append_varint(out, range->first - behind));
    return bytes_append_varint(out, range->count);
}

int group_ranks_next(const uint8_t **at, const uint8_t *end, struct group_ranks *range) {
    uint64_t gap, behind = range->first + range->count;
    if (*at == end) return 0;
    *at = varint_get(*at, end, &gap);
    if (*at) *at = varint_get(*at, end, &range->count);
    RETURN_IF(!*at || gap > MOST_PROCESSES || !range->count || range->count > MOST_PROCESSES, ERR_FORMAT);
    range->first = behind + gap;
    return range->first + range->count > MOST_PROCESSES ? ERR_FORMAT : 1;
}
