#include "lab/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const char blanks[] = " \t\r\n";

// In double quotes a backslash escapes these only.
static bool is_escape(const char *at, char quote) {
    return *at == '\\' && quote != '\'' && (!quote || at[1] == '"' || at[1] == '\\');
}

// Copies one word to `out`, which has room for it. Returns where the next one may begin, or NULL.
static const char *copy_word(const char *at, char *out) {
    char quote = 0;
    for (; *at && (quote || !strchr(blanks, *at)); at++) {
        if (is_escape(at, quote)) {
            if (!*++at) return NULL;
            *out++ = *at;
        } else if (quote ? *at == quote : *at == '\'' || *at == '"') {
            quote = quote ? 0 : *at;
        } else {
            *out++ = *at;
        }
    }
    *out = 0;
    return quote ? NULL : at;
}

int lab_words(struct text_list *words, const char *line) {
    for (const char *at = line + strspn(line, blanks); *at; at += strspn(at, blanks)) {
        char *word = malloc(strlen(at) + 1);
        RETURN_IF(!word, -ENOMEM);
        at = copy_word(at, word);
        if (!at) {
            free(word);
            return ERR_USAGE;
        }
        FORWARD(text_list_take(words, word));
    }
    return 0;
}
