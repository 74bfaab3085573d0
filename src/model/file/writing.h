// What the writers of the parts of a MODEL file share (model_write.c calls them).
#pragma once

#include "base/json_keys.h"
#include "model/model.h"
#include "model/string_table.h"

struct writing {
    const struct model *model;
    struct json_out *json;
    struct string_table files; // what kinds call them
    struct string_table kinds; // what operations call them
};

enum { WRITING_INLINE = 64 }; // numbers or operations that are written one by one; more are packed

int write_names(struct writing *w);                                           // fills files and kinds
int write_structure(struct writing *w);                                       // write_structure.c
int write_items(struct writing *w, const struct model_part *part);            // write_items.c
int write_numbers(struct writing *w, const int64_t *numbers, uint64_t count); // write_items.c: an array, or packed
int write_types(struct writing *w);                                           // write_types.c
void write_hints(struct writing *w, bool in_force); // so too: those in force, or those asked for
int write_observed(struct writing *w);              // write_observed.c
void write_ranges(struct writing *w, const char *key, const uint32_t *number, size_t count); // write_structure.c
size_t
write_directory_len(const struct file_set *set); // bytes of the pattern that are the folders no member differs in

static inline void write_unsigned(struct writing *w, const char *key, uint64_t value)
{
    key_number(w->json, key, value);
}

static inline void write_text(struct writing *w, const char *key, const char *text)
{
    key_text(w->json, key, text);
}

static inline void write_ns(struct writing *w, const char *key, int64_t ns)
{
    key_seconds(w->json, key, ns);
}
