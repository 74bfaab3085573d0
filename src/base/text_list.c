#include "base/text_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

int text_list_take(struct text_list *texts, char *text) {
    if (!text) return -ENOMEM;
    if (array_room(texts->text, texts->count) < 0) {
        free(text);
        return -ENOMEM;
    }
    texts->text[texts->count++] = text;
    return 0;
}

int text_list_add(struct text_list *texts, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return text_list_take(texts, text);
}

void text_list_free(struct text_list *texts) {
    for (size_t i = 0; i < texts->count; i++) free(texts->text[i]);
    free(texts->text);
    *texts = (struct text_list){0};
}
