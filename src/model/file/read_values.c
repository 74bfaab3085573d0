#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "model/file/packed.h"
#include "model/file/reading.h"

int read_charge(struct reading *r, const struct json_value *value, uint64_t numbers)
{
    if (numbers > r->numbers_left) {
        json_in_fail(r->error, value, "too many ranks and phases");
        return ERR_LIMIT;
    }
    r->numbers_left -= numbers;
    return 0;
}

// --- members

static int in_range(struct reading *r, const struct json_value *object, const char *key, uint64_t least, uint64_t most,
                    uint64_t value)
{
    if (value >= least && value <= most) return 0;
    return json_in_fail(r->error, json_in_member(object, key),
                        "\"%s\" is %" PRIu64 ", which is not from %" PRIu64 " to %" PRIu64, key, value, least, most);
}

int read_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least, uint64_t most,
               uint64_t *out)
{
    FORWARD(json_in_need_uint64(object, key, out, r->error));
    return in_range(r, object, key, least, most, *out);
}

// Whether there is anything to read: null is nothing.
static bool is_there(const struct json_value *object, const char *key)
{
    return json_in_type(json_in_member(object, key)) != JSON_NULL;
}

int read_optional_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out)
{
    return is_there(object, key) ? read_count(r, object, key, least, most, out) : 0;
}

int read_optional_text(struct reading *r, const struct json_value *object, const char *key, const char **out)
{
    return is_there(object, key) ? json_in_need_text(object, key, out, NULL, r->error) : 0;
}

int read_optional_bool(struct reading *r, const struct json_value *object, const char *key, bool *out)
{
    return is_there(object, key) ? json_in_need_bool(object, key, out, r->error) : 0;
}

int read_optional_array(struct reading *r, const struct json_value *object, const char *key,
                        const struct json_value **out)
{
    return is_there(object, key) ? json_in_need_array(object, key, out, r->error) : 0;
}

int read_ns(struct reading *r, const struct json_value *value, const char *what, int64_t *out)
{
    const double most_seconds = 9e9; // fits 64 bits of nanoseconds
    double seconds;
    if (json_in_double(value, &seconds) || fabs(seconds) > most_seconds) {
        return json_in_fail(r->error, value, "\"%s\" is not a time in seconds", what);
    }
    *out = (int64_t)llroundl((long double)seconds * 1e9L);
    return 0;
}

int read_optional_ns(struct reading *r, const struct json_value *object, const char *key, int64_t *out)
{
    return is_there(object, key) ? read_ns(r, json_in_member(object, key), key, out) : 0;
}

// --- rows of numbers

static int unpack_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count,
                          int64_t *out)
{
    const char *key = json_in_member(value, "zstd") ? "zstd" : "base64", *text;
    size_t len;
    struct bytes columns = {0};
    FORWARD(json_in_need_text(value, key, &text, &len, r->error));
    int code = packed_columns(text, len, key, &columns);
    const uint8_t *at = columns.data, *end = columns.data + columns.len;
    if (!code) code = packed_get(&at, end, out, sizeof *out, count);
    if (!code && at != end) code = ERR_FORMAT;
    bytes_free(&columns);
    if (!code || code == -ENOMEM) return code;
    json_in_fail(r->error, value, "\"%s\" does not hold %" PRIu64 " packed numbers", what, count);
    return code;
}

int read_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count, int64_t *out)
{
    if (json_in_type(value) == JSON_OBJECT) return unpack_numbers(r, value, what, count, out);
    if (json_in_type(value) != JSON_ARRAY || json_in_length(value) != count) {
        return json_in_fail(r->error, value, "\"%s\" is not an array of %" PRIu64 " integers", what, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (json_in_int64(json_in_at(value, i), &out[i])) {
            return json_in_fail(r->error, json_in_at(value, i), "\"%s\" holds what is not an integer", what);
        }
    }
    return 0;
}

// --- ranges

struct range {
    uint32_t first, last, step;
};

static bool parse_number(const char **at, uint32_t *number)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    errno = 0;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *number = (uint32_t)value;
    return !errno && value <= UINT32_MAX;
}

// One range, and the comma behind it.
static bool parse_range(const char **at, struct range *range)
{
    range->step = 1;
    if (!parse_number(at, &range->first)) return false;
    range->last = range->first;
    if (**at == '-') {
        ++*at;
        if (!parse_number(at, &range->last) || range->last < range->first) return false;
    }
    if (**at == ':') {
        ++*at;
        if (!parse_number(at, &range->step) || !range->step) return false;
    }
    if (**at == ',') return *++*at != '\0';
    return **at == '\0';
}

// Adds up how many numbers the text stands for.
static int count_ranges(struct reading *r, const struct json_value *value, const char *what, struct read_limits limits,
                        size_t *count)
{
    int64_t last = -1;
    const char *text;
    *count = 0;
    if (json_in_text(value, &text, NULL)) text = "";
    do {
        struct range range;
        if (!parse_range(&text, &range)) {
            return json_in_fail(r->error, value, "\"%s\" is not a list of ranges such as 0-15,20", what);
        }
        if (range.first < limits.least || range.last > limits.most) {
            return json_in_fail(r->error, value, "\"%s\" goes beyond %" PRIu32 " to %" PRIu32, what, limits.least,
                                limits.most);
        }
        if ((int64_t)range.first <= last) return json_in_fail(r->error, value, "\"%s\" does not ascend", what);
        last = range.last;
        *count += (range.last - range.first) / range.step + 1;
    } while (*text);
    return 0;
}

int read_ranges(struct reading *r, const struct json_value *value, const char *what, struct read_limits limits,
                uint32_t **numbers, size_t *count)
{
    const char *text;
    FORWARD(count_ranges(r, value, what, limits, count));
    json_in_text(value, &text, NULL);
    FORWARD(read_charge(r, value, *count));
    *numbers = arena_alloc(&r->model->arena, *count * sizeof **numbers);
    RETURN_IF(!*numbers, -ENOMEM);
    uint32_t *to = *numbers;
    while (*text) {
        struct range range;
        parse_range(&text, &range);
        for (uint64_t n = range.first; n <= range.last; n += range.step) *to++ = (uint32_t)n;
    }
    return 0;
}
