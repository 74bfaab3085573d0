// Charts of where collective I/O wins, as one HTML file that needs nothing else.
#pragma once

#include <stdio.h>

#include "whatif/whatif.h"

int chart_write(const struct whatif *result, FILE *out);
