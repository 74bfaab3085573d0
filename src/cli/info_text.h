// The text of `ioseer info`.
#pragma once

#include <stdio.h>

#include "summary/summary.h"

// `all`: lists are complete, and long commands are cut later. 0 or a negative code.
int info_text(const struct summary *summary, bool all, FILE *out);
