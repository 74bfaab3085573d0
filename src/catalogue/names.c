#include "catalogue/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static int put_escape(struct bytes *out, uint8_t byte) {
    char text[4];
    snprintf(text, sizeof text, "%c%02x", NAME_ESCAPE, byte);
    return bytes_append(out, text, 3);
}

int name_put(struct bytes *out, const char *text) {
    for (size_t len = strlen(text); len > 0;) {
        size_t plain = utf8_plain(text, len);
        const char *escape = memchr(text, NAME_ESCAPE, plain);
        if (escape) plain = (size_t)(escape - text);
        FORWARD(bytes_append(out, text, plain));
        if (plain < len) FORWARD(put_escape(out, (uint8_t)text[plain++]));
        text += plain;
        len -= plain;
    }
    return bytes_append(out, "", 1);
}

static int digit(char text) {
    if (text >= '0' && text <= '9') return text - '0';
    return text >= 'a' && text <= 'f' ? text - 'a' + 10 : -1;
}

void name_get(char *text) {
    char *to = text;
    for (const char *from = text; *from;) {
        int high = *from == NAME_ESCAPE ? digit(from[1]) : -1, low = high >= 0 ? digit(from[2]) : -1;
        bool is_escape = low >= 0 && high * 16 + low > 0;
        *to++ = is_escape ? (char)(high * 16 + low) : *from;
        from += is_escape ? 3 : 1;
    }
    *to = 0;
}
