#include "model/string_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

// The number of the text, or LOOKUP_NONE with the key under which it may be put.
static uint32_t find(const struct names *names, const char *text, uint64_t *key)
{
    for (*key = hash_text(0, text);; ++*key) {
        uint32_t found = lookup_find(&names->place, *key);
        if (found == LOOKUP_NONE || !strcmp(names->text[found], text)) return found;
    }
}

uint32_t names_find(const struct names *names, const char *text)
{
    uint64_t key;
    return find(names, text, &key);
}

int names_add(struct names *names, const char *text)
{
    uint64_t key;
    RETURN_IF(find(names, text, &key) != LOOKUP_NONE, ERR_EXISTS);
    RETURN_IF(names->count >= LOOKUP_NONE, ERR_LIMIT);
    FORWARD(array_room(names->text, names->count));
    char *copy = arena_text(names->arena, text);
    RETURN_IF(!copy, -ENOMEM);
    FORWARD(lookup_set(&names->place, key, (uint32_t)names->count));
    names->text[names->count++] = copy;
    return 0;
}

int names_add_unique(struct names *names, const char *text)
{
    int code = names_add(names, text);
    if (code != ERR_EXISTS) return code;
    uint32_t first = names_find(names, text), times = lookup_find(&names->same, first);
    if (times == LOOKUP_NONE) times = 1;
    while (code == ERR_EXISTS) {
        char *numbered;
        RETURN_IF(asprintf(&numbered, "%s#%u", text, (unsigned)++times) < 0, -ENOMEM);
        code = names_add(names, numbered);
        free(numbered);
    }
    return code ? code : lookup_set(&names->same, first, times);
}

void names_free(struct names *names)
{
    free(names->text);
    lookup_free(&names->place);
    lookup_free(&names->same);
    *names = (struct names){0};
}
