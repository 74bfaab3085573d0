// Lines of ioseer.conf: `key = value`, with `#` before comments. Allocates nothing, so that the recorder can use it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf_line {
    unsigned number; // of the line, from 1
    const char *key;
    size_t key_len; // 0: the line has no `=` behind a key
    const char *value;
    size_t value_len;
};

struct conf_text {
    const char *at;
    const char *end;
};

// The next line that says something; false at the end. `*number` counts lines and begins at 0.
bool conf_next(const char **at, const char *end, unsigned *number, struct conf_line *line);

// The value of the last line with this key, or false.
bool conf_find(const char *text, const char *end, const char *key, struct conf_line *line);
