#include "rec/name_pattern.h"

#include <stdbool.h>
#include <string.h>

enum { HEX_MIN = 4 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_hex_letter(char c) { return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static size_t word_len(const char *at, const char *end, bool (*belongs)(char)) {
    const char *last = at;
    while (last < end && belongs(*last)) last++;
    return (size_t)(last - at);
}

// "0f3e", a part of a checksum or UUID.
static bool is_hex_number(const char *word, size_t len) {
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < len; i++) {
        digits += is_digit(word[i]);
        letters += is_hex_letter(word[i]);
    }
    return len >= HEX_MIN && digits && digits + letters == len;
}

// "h5", "mp4": behind a dot, one digit at the end of the name.
static bool is_extension(const char *name, const char *word, size_t len, const char *end) {
    return word > name && word[-1] == '.' && word + len == end && len > 1 && is_digit(word[len - 1]) &&
           !is_digit(word[len - 2]);
}

// Writes a word with a star for each number in it; returns how many bytes these are.
static size_t put_word(char *out, const char *word, size_t len) {
    const char *end = word + len;
    char *at = out;
    while (word < end) {
        size_t digits = word_len(word, end, is_digit);
        *at++ = digits ? '*' : *word;
        word += digits ? digits : 1;
    }
    return (size_t)(at - out);
}

size_t name_pattern(char out[NAME_PATTERN_MAX], const char *name, size_t len, size_t kept) {
    if (len >= NAME_PATTERN_MAX) return 0;
    const char *end = name + len, *at = name + kept;
    char *put = out + kept;
    memcpy(out, name, kept);
    while (at < end) {
        size_t word = word_len(at, end, is_word);
        if (!word) {
            *put++ = *at++;
            continue;
        }
        if (is_hex_number(at, word)) {
            *put++ = '*';
        } else if (is_extension(name, at, word, end)) {
            memcpy(put, at, word);
            put += word;
        } else {
            put += put_word(put, at, word);
        }
        at += word;
    }
    *put = 0;
    size_t made = (size_t)(put - out);
    return made == len && memcmp(out, name, len) == 0 ? 0 : made;
}
