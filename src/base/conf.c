#include "base/conf.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void trim(const char **text, size_t *len) {
    for (; *len && is_blank(**text); (*len)--) (*text)++;
    while (*len && is_blank((*text)[*len - 1])) (*len)--;
}

bool conf_next(const char **at, const char *end, unsigned *number, struct conf_line *line) {
    while (*at < end) {
        const char *text = *at, *stop = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((stop ? stop : end) - text);
        *at = stop ? stop + 1 : end;
        ++*number;
        trim(&text, &len);
        if (!len || *text == '#') continue;
        const char *equals = memchr(text, '=', len);
        *line = (struct conf_line){.number = *number, .key = text};
        if (equals) {
            line->key_len = (size_t)(equals - text);
            line->value = equals + 1;
            line->value_len = len - line->key_len - 1;
            trim(&line->key, &line->key_len);
            trim(&line->value, &line->value_len);
        }
        return true;
    }
    return false;
}

bool conf_find(const char *text, const char *end, const char *key, struct conf_line *line) {
    struct conf_line next;
    unsigned number = 0;
    bool found = false;
    while (conf_next(&text, end, &number, &next)) {
        if (next.key_len != strlen(key) || memcmp(next.key, key, next.key_len) != 0) continue;
        *line = next;
        found = true;
    }
    return found;
}
