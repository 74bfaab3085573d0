// A growable list of texts, formatted as by printf.
#pragma once

#include <stddef.h>

struct text_list {
    char **text;
    size_t count;
};

int text_list_add(struct text_list *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes ownership of `text`, which is from malloc; NULL is -ENOMEM.
int text_list_take(struct text_list *texts, char *text);
void text_list_free(struct text_list *texts);
