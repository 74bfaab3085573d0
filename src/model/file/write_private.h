// Shared by the writers of the parts of a MODEL file (write.c calls them).
#pragma once

#include "base/json_keys.h"
#include "model/model.h"
#include "model/string_table.h"

struct writing {
    const struct model *model;
    struct json_out *json;
    struct string_table files;         // their names in kinds
    struct string_table kinds;         // their names in operations
    struct string_table communicators; // their names in kinds
};

enum { WRITING_INLINE = 64 }; // numbers or operations that are written one by one; more are packed

int write_items(struct writing *w, const struct model_part *part);            // write_items.c
int write_numbers(struct writing *w, const int64_t *numbers, uint64_t count); // write_items.c: an array, or packed
// A number, an expression or a table; nothing where it is 0 (write_items.c).
int write_value(struct writing *w, const char *key, const struct model_value *value, size_t tables);
int write_communicators(struct writing *w);         // communicators.c
int write_types(struct writing *w);                 // datatypes.c
void write_hints(struct writing *w, bool in_force); // datatypes.c: hints in force, or asked for
int write_observed(struct writing *w);              // write_observed.c
void write_ranges(struct writing *w, const char *key, const uint32_t *number, size_t count); // write.c
size_t write_directory_len(const struct file_set *set); // bytes of the folders that all members share, in the pattern
