// Members of JSON objects: each by a call of its own, or several as one list. Those that end in _if write null where
// the value is not known.
//
//     json_members(json, m_text("name", file->name), m_number("opens", file->opens), m_seconds("time", file->ns));
#pragma once

#include "base/json_out.h"

struct json_member {
    const char *key; // NULL for a value of an array
    enum {
        JSON_IS_NULL,
        JSON_IS_TEXT,
        JSON_IS_BOOL,
        JSON_IS_NUMBER,
        JSON_IS_SIGNED,
        JSON_IS_DOUBLE,
        JSON_IS_SECONDS,
    } kind;
    union {
        const char *text; // NULL is written as null
        uint64_t number;
        int64_t integer; // or nanoseconds
        double real;
    };
};

#define JSON_MEMBER(name, known, is, field, value)                                                                     \
    ((struct json_member){.key = (name), .kind = (known) ? JSON_IS_##is : JSON_IS_NULL, .field = (value)})
#define m_text(name, value) JSON_MEMBER(name, true, TEXT, text, value)
#define m_bool(name, value) JSON_MEMBER(name, true, BOOL, number, (bool)(value))
#define m_number(name, value) JSON_MEMBER(name, true, NUMBER, number, value)
#define m_signed(name, value) JSON_MEMBER(name, true, SIGNED, integer, value)
#define m_double(name, value) JSON_MEMBER(name, true, DOUBLE, real, value)
#define m_seconds(name, ns) JSON_MEMBER(name, true, SECONDS, integer, ns)
#define m_null(name) JSON_MEMBER(name, false, NUMBER, number, 0)
#define m_bool_if(name, known, value) JSON_MEMBER(name, known, BOOL, number, (bool)(value))
#define m_bool_if(name, known, value) JSON_MEMBER(name, known, BOOL, number, (bool)(value))
#define m_number_if(name, known, value) JSON_MEMBER(name, known, NUMBER, number, value)
#define m_signed_if(name, known, value) JSON_MEMBER(name, known, SIGNED, integer, value)
#define m_double_if(name, known, value) JSON_MEMBER(name, known, DOUBLE, real, value)
#define m_seconds_if(name, known, ns) JSON_MEMBER(name, known, SECONDS, integer, ns)

#define JSON_COUNT(...) (sizeof((struct json_member[]){__VA_ARGS__}) / sizeof(struct json_member))
void json_write_members(struct json_out *json, const struct json_member *member, size_t count);

// Members of the open object.
#define json_members(json, ...)                                                                                        \
    json_write_members(json, (const struct json_member[]){__VA_ARGS__}, JSON_COUNT(__VA_ARGS__))
// An object with exactly these members, and an array of values without keys.
#define json_object_of(json, ...) (json_object(json), json_members(json, __VA_ARGS__), json_close(json))
#define json_array_of(json, ...) (json_array(json), json_members(json, __VA_ARGS__), json_close(json))

// One member each.
#define key_text(json, ...) json_members(json, m_text(__VA_ARGS__))
#define key_bool(json, ...) json_members(json, m_bool(__VA_ARGS__))
#define key_number(json, ...) json_members(json, m_number(__VA_ARGS__))
#define key_signed(json, ...) json_members(json, m_signed(__VA_ARGS__))
#define key_double(json, ...) json_members(json, m_double(__VA_ARGS__))
#define key_seconds(json, ...) json_members(json, m_seconds(__VA_ARGS__))
#define key_null(json, key) json_members(json, m_null(key))
#define key_number_if(json, ...) json_members(json, m_number_if(__VA_ARGS__))
#define key_double_if(json, ...) json_members(json, m_double_if(__VA_ARGS__))

// json_close ends these two.
static inline void key_object(struct json_out *json, const char *key) {
    json_key(json, key);
    json_object(json);
}

static inline void key_array(struct json_out *json, const char *key) {
    json_key(json, key);
    json_array(json);
}

// Arrays of numbers and of texts.
static inline void key_numbers(struct json_out *json, const char *key, const uint64_t *value, size_t count) {
    key_array(json, key);
    for (size_t i = 0; i < count; i++) json_unsigned(json, value[i]);
    json_close(json);
}

static inline void key_texts(struct json_out *json, const char *key, const char *const *text, size_t count) {
    key_array(json, key);
    for (size_t i = 0; i < count; i++) json_text(json, text[i]);
    json_close(json);
}
