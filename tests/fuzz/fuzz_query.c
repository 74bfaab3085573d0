// Questions of IOPro: one that is refused has its wrong word inside the text.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "query/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct query query;
    struct query_error error;
    char *text = malloc(len + 1);
    if (!text) return 0;
    memcpy(text, data, len);
    text[len] = '\0';
    if (query_parse(&query, text, &error) < 0 && (error.at + error.len > strlen(text) || !*error.why)) abort();
    free(text);
    return 0;
}
