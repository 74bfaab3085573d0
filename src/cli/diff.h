// A comparison and what `ioseer diff` prints of it.
#pragma once

#include "base/json_out.h"
#include "model/compare/fail_if.h"

struct comparison {
    struct diff diff;
    struct diff_values total[2];
    struct diff_limit *limit;
    struct diff_finding *finding; // of each limit
    size_t limits;
};

void diff_json(const struct comparison *c, struct json_out *json);
int diff_text(const struct comparison *c, FILE *out);
// One line on standard error: by how much limit `i` is exceeded.
void diff_print_finding(const struct comparison *c, size_t i);
