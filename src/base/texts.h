// A list of texts that grows, each made with printf's words.
#ifndef IOSEER_BASE_TEXTS_H
#define IOSEER_BASE_TEXTS_H

#include <stddef.h>

struct texts {
    char **text;
    size_t count, room;
};

int texts_add(struct texts *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes over what malloc gave; NULL is -ENOMEM.
int texts_take(struct texts *texts, char *text);
void texts_free(struct texts *texts);

#endif
