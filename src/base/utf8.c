#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"

size_t utf8_sequence(const uint8_t *at, const uint8_t *end) {
    uint8_t lead = at[0];
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - at) < len) return 0;
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    return len;
}

size_t utf8_plain(const char *text, size_t len) {
    const uint8_t *begin = (const uint8_t *)text, *at = begin, *end = begin + len;
    while (at < end) {
        size_t step = *at < 0x80 ? 1 : utf8_sequence(at, end);
        if (!step) break;
        at += step;
    }
    return (size_t)(at - begin);
}

int utf8_append(struct bytes *out, const char *text, size_t len) {
    while (len) {
        size_t plain = utf8_plain(text, len);
        FORWARD(bytes_append(out, text, plain));
        if (plain == len) break;
        struct human escape = human_escape((unsigned char)text[plain]);
        FORWARD(bytes_append(out, escape.text, strlen(escape.text)));
        text += plain + 1;
        len -= plain + 1;
    }
    return 0;
}

// --- columns

struct range {
    uint32_t first, last;
};

static bool is_in(const struct range *range, size_t count, uint32_t character) {
    for (size_t i = 0; i < count; i++) {
        if (character >= range[i].first && character <= range[i].last) return true;
    }
    return false;
}

// Blocks of characters, not single ones: enough for names that people give to files.
static unsigned columns_of(uint32_t character) {
    static const struct range none[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                        {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
    static const struct range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                                       {0xa960, 0xa97f},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                                       {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
    if (character < none[0].first) return 1;
    if (is_in(none, sizeof none / sizeof *none, character)) return 0;
    return is_in(two, sizeof two / sizeof *two, character) ? 2 : 1;
}

size_t utf8_character(const char *at, unsigned *columns) {
    const uint8_t *byte = (const uint8_t *)at;
    *columns = 1;
    if (*byte < 0x80) return 1;
    size_t len = utf8_sequence(byte, byte + strnlen(at, 4));
    if (!len) return 1;
    uint32_t character = *byte & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) character = character << 6 | (byte[i] & 0x3f);
    *columns = columns_of(character);
    return len;
}

unsigned utf8_columns(const char *text) {
    unsigned all = 0, columns;
    for (;; all += columns) {
        for (; (signed char)*text > 0; text++) all++; // ASCII: tables have millions of cells
        if (!*text) return all;
        text += utf8_character(text, &columns);
    }
}

size_t utf8_fitting(const char *text, unsigned most) {
    const char *at = text;
    for (unsigned columns; *at; most -= columns) {
        size_t len = utf8_character(at, &columns);
        if (columns > most) break;
        at += len;
    }
    return (size_t)(at - text);
}

unsigned utf8_print_short(FILE *out, const char *text, unsigned most) {
    unsigned all = utf8_columns(text), columns;
    if (all <= most || !most) {
        fputs(text, out);
        return all;
    }
    // The end of a name tells more than its beginning.
    unsigned begin = (most - 1) / 3, used = 0;
    size_t len = utf8_fitting(text, begin);
    for (const char *at = text; at < text + len; used += columns) at += utf8_character(at, &columns);
    fprintf(out, "%.*s\u2026", (int)len, text);
    while (all > most - 1 - begin) {
        text += utf8_character(text, &columns);
        all -= columns;
    }
    fputs(text, out);
    return used + 1 + all;
}
