// Texts that rows of numbers refer to by their place in a list, which may take so many bytes and no more.
#pragma once

#include "base/json_out.h"
#include "base/lookup.h"

struct report_names {
    size_t room_bytes;  // that are left; set before the first use
    struct lookup seen; // number -> place + 1, 0 for none
    const char **name;
    size_t count;
    uint64_t left_out;
};

// The place of the text that has this number; -1 where it is NULL or there is no room; -ENOMEM.
int report_names_place(struct report_names *names, uint64_t number, const char *text);
void report_names_json(const struct report_names *names, struct json_out *json, const char *key);
void report_names_free(struct report_names *names);
