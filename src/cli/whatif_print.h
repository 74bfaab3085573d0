// What `whatif` prints for people.
#pragma once

#include "whatif/whatif.h"

int whatif_print(const struct model *model, const struct whatif *result, FILE *out);
