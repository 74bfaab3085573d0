#include "model/string_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

// Returns the number of the text; or LOOKUP_NONE, with the key to store it under.
static uint32_t find(const struct string_table *table, const char *text, uint64_t *key) {
    for (*key = hash_text(0, text);; ++*key) {
        uint32_t found = lookup_find(&table->place, *key);
        if (found == LOOKUP_NONE || !strcmp(table->text[found], text)) return found;
    }
}

uint32_t string_table_find(const struct string_table *table, const char *text) {
    uint64_t key;
    return find(table, text, &key);
}

int string_table_add(struct string_table *table, const char *text) {
    uint64_t key;
    RETURN_IF(find(table, text, &key) != LOOKUP_NONE, ERR_EXISTS);
    RETURN_IF(table->count >= LOOKUP_NONE, ERR_LIMIT);
    FORWARD(array_room(table->text, table->count));
    char *copy = arena_text(table->arena, text);
    RETURN_IF(!copy, -ENOMEM);
    FORWARD(lookup_set(&table->place, key, (uint32_t)table->count));
    table->text[table->count++] = copy;
    return 0;
}

int string_table_add_unique(struct string_table *table, const char *text) {
    int code = string_table_add(table, text);
    if (code != ERR_EXISTS) return code;
    uint32_t first = string_table_find(table, text), times = lookup_find(&table->same, first);
    if (times == LOOKUP_NONE) times = 1;
    while (code == ERR_EXISTS) {
        char *numbered;
        RETURN_IF(asprintf(&numbered, "%s#%u", text, (unsigned)++times) < 0, -ENOMEM);
        code = string_table_add(table, numbered);
        free(numbered);
    }
    return code ? code : lookup_set(&table->same, first, times);
}

void string_table_free(struct string_table *table) {
    free(table->text);
    lookup_free(&table->place);
    lookup_free(&table->same);
    *table = (struct string_table){0};
}
