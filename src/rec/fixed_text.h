// Builds short strings in a fixed buffer, without libc's printf, which may allocate and is itself recorded.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fixed_text {
    char *data;
    size_t room;
    size_t len; // without the final zero, which is always there; never over room - 1
};

static inline void fixed_text_bytes(struct fixed_text *text, const char *bytes, size_t len) {
    if (len > text->room - 1 - text->len) len = text->room - 1 - text->len;
    memcpy(text->data + text->len, bytes, len);
    text->len += len;
    text->data[text->len] = 0;
}

static inline void fixed_text_add(struct fixed_text *text, const char *string) {
    fixed_text_bytes(text, string, strlen(string));
}

static inline void fixed_text_number(struct fixed_text *text, uint64_t value, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    fixed_text_bytes(text, digits + at, sizeof digits - at);
}
