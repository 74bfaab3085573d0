// Expressions: eight bytes for each variable, then the text.
#include <string.h>

#include "fuzz.h"
#include "model/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct expr_variables variables;
    char text[EXPR_MAX_BYTES + 2];
    if (len < sizeof variables) return 0;
    memcpy(&variables, data, sizeof variables);
    size_t text_len = len - sizeof variables;
    if (text_len > sizeof text - 1) text_len = sizeof text - 1;
    memcpy(text, data + sizeof variables, text_len);
    text[text_len] = '\0';
    struct expr *expr;
    if (expr_parse(text, &expr) < 0) return 0;
    volatile int64_t seen = 0;
    int64_t value;
    if (expr_eval(expr, &variables, &value) == 0) seen = value;
    (void)seen;
    expr_free(expr);
    return 0;
}
