// Shared by the readers of the parts of a MODEL file (read.c calls them). Each function returns 0, or a negative code
// with the reason in `error`.
#pragma once

#include "base/json_in.h"
#include "model/builder.h"

struct reading {
    struct model *model;
    struct json_in_error *error;
    const struct json_value *structure;
    const struct json_value *observed; // or NULL
    struct arena scratch;
    struct string_table files;
    struct string_table kinds;
    struct string_table communicators;
    uint64_t numbers_left;
    struct model_builder b;
};

int read_communicators(struct reading *r); // communicators.c
int read_types(struct reading *r);         // datatypes.c
int read_hints(struct reading *r);         // datatypes.c
int read_families(struct reading *r);      // read_families.c
int read_order(struct reading *r);         // read_families.c
// A number, an expression, or a table of numbers (read_families.c).
int read_value(struct reading *r, const struct json_value *value, const char *key, struct model_value *out);
// Hands on the builder's reason for refusing what `value` says (read_families.c).
int read_reason(struct reading *r, const struct json_value *value, int code);
int read_observed(struct reading *r); // read_observed.c

// --- values (read.c)

// Reads `count` numbers: an array, or packed.
int read_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count, int64_t *out);
// A text such as 0-15,20 as ascending numbers within the limits.
struct read_limits {
    uint32_t least, most;
};
int read_ranges(struct reading *r, const struct json_value *value, const char *what, struct read_limits limits,
                uint32_t **numbers, size_t *count);
// Limits how many numbers the file may give as ranges.
int read_charge(struct reading *r, const struct json_value *value, uint64_t numbers);
// A count from `least` to `most`.
int read_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least, uint64_t most,
               uint64_t *out);
// Optional members; *out stays as it is if they are missing.
int read_optional_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out);
int read_optional_text(struct reading *r, const struct json_value *object, const char *key, const char **out);
int read_optional_bool(struct reading *r, const struct json_value *object, const char *key, bool *out);
int read_optional_array(struct reading *r, const struct json_value *object, const char *key,
                        const struct json_value **out);
int read_optional_ns(struct reading *r, const struct json_value *object, const char *key, int64_t *out);
int read_ns(struct reading *r, const struct json_value *value, const char *what, int64_t *out);
