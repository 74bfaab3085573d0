// Reads JSON into a tree, strictly (RFC 8259), from files that cannot be trusted. Own code, because file names that
// are not UTF-8 are written as lone surrogates (base/json_out.h), which JSON libraries refuse.
//
// Strings are bytes: U+DC80 … U+DCFF on their own become the bytes 80 … ff, and raw bytes that are not UTF-8 stay what
// they are. A zero byte in a string, a key that an object has already, and a number too large for a double are errors.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    JSON_IN_MAX_BYTES = (1 << 30) - 2, // of text, so that lines and counts fit into a value
    JSON_IN_MAX_DEPTH = 64,
};

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER,  // fits int64_t
    JSON_UNSIGNED, // a larger integer that fits uint64_t
    JSON_DOUBLE,   // any other number
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

// 16 bytes, as a model may hold millions of them. Read it through the functions below.
struct json_value {
    uint64_t type : 3;
    uint64_t line : 30;
    uint64_t count : 31; // bytes of a string, elements, members
    union {
        bool boolean;
        int64_t integer;
        uint64_t natural;
        double real;
        const char *text;              // ends with a zero that is not counted
        const struct json_value *item; // elements, or key, value, key, value …
    };
};

struct json_in {
    const struct json_value *root;
    struct arena arena; // memory of all values
};

struct json_in_error {
    unsigned line;   // 0 if the file could not be read
    unsigned column; // in bytes; 0 if only the line is known
    char message[120];
};

// Both return 0, or a negative code with `error` set and nothing to free. The tree does not refer to the text.
int json_in_parse(struct json_in *in, const char *text, size_t len, struct json_in_error *error);
int json_in_read(struct json_in *in, const char *path, struct json_in_error *error);
void json_in_free(struct json_in *in);

// Access to values. `value` may be NULL everywhere: a missing member is NULL.
enum json_type json_in_type(const struct json_value *value);                              // JSON_NULL for NULL
const struct json_value *json_in_member(const struct json_value *value, const char *key); // NULL: none, or no object
size_t json_in_length(const struct json_value *value); // elements or members; 0 for anything else
// Element, or value of the member; NULL after the last.
const struct json_value *json_in_at(const struct json_value *value, size_t index);
const char *json_in_key(const struct json_value *value, size_t index); // of the member of an object, or NULL

// Return 0; ERR_NOTHING if there is no value; ERR_FORMAT if it has another type or does not fit. An integer is also a
// double.
int json_in_bool(const struct json_value *value, bool *out);
int json_in_int64(const struct json_value *value, int64_t *out);
int json_in_uint64(const struct json_value *value, uint64_t *out);
int json_in_double(const struct json_value *value, double *out);
int json_in_text(const struct json_value *value, const char **text, size_t *len); // `len` may be NULL

// The same for required members. If one is missing or wrong, `error` gets the reason.
int json_in_need_bool(const struct json_value *object, const char *key, bool *out, struct json_in_error *error);
int json_in_need_int64(const struct json_value *object, const char *key, int64_t *out, struct json_in_error *error);
int json_in_need_uint64(const struct json_value *object, const char *key, uint64_t *out, struct json_in_error *error);
int json_in_need_double(const struct json_value *object, const char *key, double *out, struct json_in_error *error);
int json_in_need_text(const struct json_value *object, const char *key, const char **text, size_t *len,
                      struct json_in_error *error);
int json_in_need_array(const struct json_value *object, const char *key, const struct json_value **out,
                       struct json_in_error *error);
int json_in_need_object(const struct json_value *object, const char *key, const struct json_value **out,
                        struct json_in_error *error);
// For errors that the caller finds: sets `error` to the line of `value` and returns ERR_FORMAT.
int json_in_fail(struct json_in_error *error, const struct json_value *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
