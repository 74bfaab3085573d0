// Members of JSON objects in one line each. Those that end in _if write null where the value is not known.
#pragma once

#include "base/json_out.h"

// json_close ends these two.
static inline void key_object(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_object(json);
}

static inline void key_array(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_array(json);
}

static inline void key_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

static inline void key_bool(struct json_out *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

static inline void key_number(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_unsigned(json, value);
}

static inline void key_signed(struct json_out *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_signed(json, value);
}

static inline void key_double(struct json_out *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value);
}

static inline void key_seconds(struct json_out *json, const char *key, int64_t ns)
{
    json_key(json, key);
    json_seconds(json, ns);
}

static inline void key_null(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_null(json);
}

static inline void key_number_if(struct json_out *json, const char *key, bool known, uint64_t value)
{
    known ? key_number(json, key, value) : key_null(json, key);
}

static inline void key_bool_if(struct json_out *json, const char *key, bool known, bool value)
{
    known ? key_bool(json, key, value) : key_null(json, key);
}

static inline void key_signed_if(struct json_out *json, const char *key, bool known, int64_t value)
{
    known ? key_signed(json, key, value) : key_null(json, key);
}

static inline void key_double_if(struct json_out *json, const char *key, bool known, double value)
{
    known ? key_double(json, key, value) : key_null(json, key);
}

static inline void key_seconds_if(struct json_out *json, const char *key, bool known, int64_t ns)
{
    known ? key_seconds(json, key, ns) : key_null(json, key);
}
