// What `sweep` prints for people, and its page of charts.
#pragma once

#include <stdio.h>

#include "sweep/sweep.h"

int sweep_print(const struct sweep *sweep, FILE *out);
// ERR_NOTHING: this build has no page.
int sweep_print_chart(const struct sweep *sweep, FILE *out);
