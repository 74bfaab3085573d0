// The text of `ioseer info`.
#pragma once

#include <stdio.h>

#include "summary/summary.h"

// With `all`, lists are complete and commands may be longer. 0 or a negative code.
int info_text(const struct summary *summary, bool all, FILE *out);
