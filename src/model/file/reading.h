// What the readers of the parts of a MODEL file share (model_read.c calls them). Each returns 0, or a negative code
// with the reason in `error`.
#pragma once

#include "base/json_in.h"
#include "model/model.h"
#include "model/string_table.h"

struct reading {
    struct model *model;
    struct json_in_error *error;
    const struct json_value *structure;
    const struct json_value *observed; // NULL without
    struct arena scratch;
    struct names files;
    struct names kinds;
    struct names calls; // their texts are the model's
    uint64_t numbers_left;
    // Of the part that is being read:
    const struct model_family *family;
    const struct model_part *part;
    bool others;
    size_t tables;                  // ranks * phases
    uint64_t loop[LOOPS_MAX_DEPTH]; // counts of the loops around the item, the outermost first
    unsigned depth;
    uint64_t times;          // their product
    unsigned __int128 bytes; // that the family's transfers move
};

int read_programs(struct reading *r);
int read_files(struct reading *r);
int read_kinds(struct reading *r);
int read_types(struct reading *r);                                                          // read_types.c
int read_hints(struct reading *r);                                                          // so too
int read_families(struct reading *r);                                                       // read_families.c
int read_order(struct reading *r);                                                          // read_order.c
int read_items(struct reading *r, const struct json_value *items, struct model_items *out); // read_items.c
int read_list(struct reading *r, const struct json_value *value, struct model_item *item);  // read_list.c
int read_observed(struct reading *r);                                                       // read_observed.c

// Operations with their coordinates, and with steps for the loops around them: read_check.c.
int read_check_op(struct reading *r, const struct json_value *value, const struct model_item *item);
int read_check_list(struct reading *r, const struct json_value *value, const struct op *op, uint64_t count,
                    uint64_t times);
int read_check_kind(struct reading *r, const struct json_value *value, uint32_t kind);

// --- small things (read_small.c)

// As many numbers as `count` says, an array of them or packed.
int read_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count, int64_t *out);
// A text such as 0-15,20 as ascending numbers from `least` to `most`.
int read_ranges(struct reading *r, const struct json_value *value, const char *what, uint32_t least, uint32_t most,
                uint32_t **numbers, size_t *count);
// Numbers that the file does not spell out must stay within bounds.
int read_charge(struct reading *r, const struct json_value *value, uint64_t numbers);
// A count from `least` to `most`.
int read_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least, uint64_t most,
               uint64_t *out);
// Members that may be missing; then *out stays as it is.
int read_optional_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out);
int read_optional_text(struct reading *r, const struct json_value *object, const char *key, const char **out);
int read_optional_bool(struct reading *r, const struct json_value *object, const char *key, bool *out);
int read_optional_array(struct reading *r, const struct json_value *object, const char *key,
                        const struct json_value **out);
int read_optional_ns(struct reading *r, const struct json_value *object, const char *key, int64_t *out);
int read_ns(struct reading *r, const struct json_value *value, const char *what, int64_t *out);
