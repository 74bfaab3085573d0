// Rows of a comparison that say the same, which are printed as one.
#pragma once

#include "model/compare/diff.h"

// The end of the rows from `first` on that follow each other within one family on either side and changed alike.
size_t diff_block_end(const struct diff *diff, size_t first);
