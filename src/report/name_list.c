#include "report/name_list.h"

#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"

int report_names_place(struct report_names *names, uint64_t number, const char *text) {
    if (!text) return -1;
    uint32_t known = lookup_find(&names->seen, number);
    if (known != LOOKUP_NONE) return (int)known - 1;
    size_t bytes = strlen(text);
    if (bytes > names->room_bytes) {
        names->left_out++;
        FORWARD(lookup_set(&names->seen, number, 0));
        return -1;
    }
    names->room_bytes -= bytes;
    FORWARD(array_push(names->name, names->count, text));
    FORWARD(lookup_set(&names->seen, number, (uint32_t)names->count));
    return (int)names->count - 1;
}

void report_names_json(const struct report_names *names, struct json_out *json, const char *key) {
    key_texts(json, key, names->name, names->count);
}

void report_names_free(struct report_names *names) {
    lookup_free(&names->seen);
    free(names->name);
}
