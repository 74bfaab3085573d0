// The text of `ioseer info`.
#pragma once

#include <stdio.h>

#include "summary/summary.h"

enum { INFO_SHORT_LIST = 10 };

// `all`: lists are complete, and long commands are cut later. 0 or a negative code.
int info_text(const struct summary *summary, bool all, FILE *out);

// The section about files that were opened with MPI-IO (info_mpi_text.c).
int info_mpi_text(const struct summary *summary, bool all, FILE *out);
// Says how many members of a list are not printed.
void info_print_more(size_t shown, size_t all, FILE *out);
