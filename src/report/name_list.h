// A list of texts with a limit in bytes. Rows of numbers refer to a text by its index.
#pragma once

#include "base/json_out.h"
#include "base/lookup.h"

struct report_names {
    size_t room_bytes;  // bytes left; set before the first use
    struct lookup seen; // number -> index + 1, 0: none
    const char **name;
    size_t count;
    uint64_t left_out;
};

// The index of the text with this number; -1 if it is NULL or does not fit; -ENOMEM.
int report_names_place(struct report_names *names, uint64_t number, const char *text);
void report_names_json(const struct report_names *names, struct json_out *json, const char *key);
void report_names_free(struct report_names *names);
