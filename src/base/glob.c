#include "base/glob.h"

#include <stddef.h>

// Matches one byte against the set that starts after '['; *end is set to the byte after ']'. An unclosed set never
// matches.
static bool set_match(const char *set, unsigned char byte, const char **end) {
    bool negated = *set == '!' || *set == '^';
    bool found = false;
    const char *at = set + negated;
    for (bool first = true; *at && (first || *at != ']'); first = false) {
        unsigned char low = (unsigned char)*at++;
        unsigned char high = low;
        if (at[0] == '-' && at[1] && at[1] != ']') {
            high = (unsigned char)at[1];
            at += 2;
        }
        if (low <= byte && byte <= high) found = true;
    }
    *end = *at ? at + 1 : at;
    return *at && found != negated;
}

// Only the last star needs to be retried: an earlier one gains nothing by matching more.
bool glob_match(const char *pattern, const char *text) {
    const char *star = NULL;
    const char *star_text = NULL;
    for (;;) {
        const char *next = pattern + 1;
        bool matched;
        if (*pattern == '*') {
            star = next;
            star_text = text;
            pattern = next;
            continue;
        }
        if (!*text) return !*pattern;
        if (*pattern == '[') {
            matched = set_match(pattern + 1, (unsigned char)*text, &next);
        } else if (*pattern == '\\' && pattern[1]) {
            matched = pattern[1] == *text;
            next = pattern + 2;
        } else {
            matched = *pattern && (*pattern == '?' || *pattern == *text);
        }
        if (matched) {
            pattern = next;
            text++;
        } else {
            if (!star) return false;
            pattern = star;
            text = ++star_text;
        }
    }
}
