// Members of JSON objects, in one line each.
#ifndef IOSEER_REPORT_KEYS_H
#define IOSEER_REPORT_KEYS_H

#include "base/json_out.h"

static inline void key_number(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_unsigned(json, value);
}

static inline void key_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

static inline void key_seconds(struct json_out *json, const char *key, int64_t ns)
{
    json_key(json, key);
    json_seconds(json, ns);
}

static inline void key_fraction(struct json_out *json, const char *key, bool known, double value)
{
    json_key(json, key);
    if (known) {
        json_double(json, value);
    } else {
        json_null(json);
    }
}

static inline void key_signed(struct json_out *json, const char *key, bool known, int64_t value)
{
    json_key(json, key);
    if (known) {
        json_signed(json, value);
    } else {
        json_null(json);
    }
}

#endif
