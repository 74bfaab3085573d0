// Access to the values of a tree.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json_in.h"

enum json_type json_in_type(const struct json_value *value)
{
    return value ? (enum json_type)value->type : JSON_NULL;
}

size_t json_in_length(const struct json_value *value)
{
    return json_in_type(value) == JSON_ARRAY || json_in_type(value) == JSON_OBJECT ? value->count : 0;
}

const struct json_value *json_in_at(const struct json_value *value, size_t index)
{
    if (index >= json_in_length(value)) return NULL;
    return value->type == JSON_OBJECT ? &value->item[2 * index + 1] : &value->item[index];
}

const char *json_in_key(const struct json_value *value, size_t index)
{
    if (json_in_type(value) != JSON_OBJECT || index >= value->count) return NULL;
    return value->item[2 * index].text;
}

const struct json_value *json_in_member(const struct json_value *value, const char *key)
{
    if (json_in_type(value) != JSON_OBJECT) return NULL;
    for (size_t i = 0; i < value->count; i++) {
        if (strcmp(value->item[2 * i].text, key) == 0) return &value->item[2 * i + 1];
    }
    return NULL;
}

int json_in_bool(const struct json_value *value, bool *out)
{
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_BOOL, ERR_FORMAT);
    *out = value->boolean;
    return 0;
}

int json_in_int64(const struct json_value *value, int64_t *out)
{
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_INTEGER, ERR_FORMAT);
    *out = value->integer;
    return 0;
}

int json_in_uint64(const struct json_value *value, uint64_t *out)
{
    RETURN_IF(!value, ERR_NOTHING);
    bool fits = value->type == JSON_UNSIGNED || (value->type == JSON_INTEGER && value->integer >= 0);
    RETURN_IF(!fits, ERR_FORMAT);
    *out = value->natural;
    return 0;
}

int json_in_double(const struct json_value *value, double *out)
{
    RETURN_IF(!value, ERR_NOTHING);
    switch (value->type) {
    case JSON_INTEGER: *out = (double)value->integer; return 0;
    case JSON_UNSIGNED: *out = (double)value->natural; return 0;
    case JSON_DOUBLE: *out = value->real; return 0;
    default: return ERR_FORMAT;
    }
}

int json_in_text(const struct json_value *value, const char **text, size_t *len)
{
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_STRING, ERR_FORMAT);
    *text = value->text;
    if (len) *len = value->count;
    return 0;
}

int json_in_fail(struct json_in_error *error, const struct json_value *value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->line = value ? value->line : 0;
    error->column = 0;
    return ERR_FORMAT;
}

// Returns the code of reading the member, and fills in the reason.
static int explain(int code, const struct json_value *object, const char *key, const char *wanted,
                   struct json_in_error *error)
{
    if (code == 0) return 0;
    const struct json_value *member = json_in_member(object, key);
    if (member) {
        json_in_fail(error, member, "\"%s\" is not %s", key, wanted);
    } else {
        json_in_fail(error, object, "there is no \"%s\"", key);
    }
    return code;
}

int json_in_need_bool(const struct json_value *object, const char *key, bool *out, struct json_in_error *error)
{
    return explain(json_in_bool(json_in_member(object, key), out), object, key, "true or false", error);
}

int json_in_need_int64(const struct json_value *object, const char *key, int64_t *out, struct json_in_error *error)
{
    return explain(json_in_int64(json_in_member(object, key), out), object, key, "an integer of 64 bits", error);
}

int json_in_need_uint64(const struct json_value *object, const char *key, uint64_t *out, struct json_in_error *error)
{
    int code = json_in_uint64(json_in_member(object, key), out);
    return explain(code, object, key, "an integer of 64 bits without a sign", error);
}

int json_in_need_double(const struct json_value *object, const char *key, double *out, struct json_in_error *error)
{
    return explain(json_in_double(json_in_member(object, key), out), object, key, "a number", error);
}

int json_in_need_text(const struct json_value *object, const char *key, const char **text, size_t *len,
                      struct json_in_error *error)
{
    return explain(json_in_text(json_in_member(object, key), text, len), object, key, "a string", error);
}

static int need_container(const struct json_value *object, const char *key, enum json_type type, const char *wanted,
                          const struct json_value **out, struct json_in_error *error)
{
    *out = json_in_member(object, key);
    int code = !*out ? ERR_NOTHING : (*out)->type != type ? ERR_FORMAT : 0;
    return explain(code, object, key, wanted, error);
}

int json_in_need_array(const struct json_value *object, const char *key, const struct json_value **out,
                       struct json_in_error *error)
{
    return need_container(object, key, JSON_ARRAY, "an array", out, error);
}

int json_in_need_object(const struct json_value *object, const char *key, const struct json_value **out,
                        struct json_in_error *error)
{
    return need_container(object, key, JSON_OBJECT, "an object", out, error);
}
