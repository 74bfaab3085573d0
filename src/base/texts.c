#include "base/texts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

int texts_take(struct texts *texts, char *text)
{
    if (!text) return -ENOMEM;
    if (grow(&texts->text, &texts->room, texts->count, sizeof *texts->text) < 0) {
        free(text);
        return -ENOMEM;
    }
    texts->text[texts->count++] = text;
    return 0;
}

int texts_add(struct texts *texts, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return texts_take(texts, text);
}

void texts_free(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) free(texts->text[i]);
    free(texts->text);
    *texts = (struct texts){0};
}
