// Which phase of one program corresponds to which of another: the alignment of the two sequences with the greatest
// likeness (fingerprint.h), as texts are compared. Phases that have nothing in common are never put together.
//
// Memory and time are bounded: where the sequences, without the ends that are equal, are too long to compare each
// phase with each, the phases that are equal are put together first, and what lies between them after that.
#pragma once

#include "model/compare/fingerprint.h"

#define DIFF_NONE UINT32_MAX

// to[i] becomes the place in `b` of what a[i] corresponds to, or DIFF_NONE; ascending.
int diff_align(const struct phase_fingerprint *a, size_t a_count, const struct phase_fingerprint *b, size_t b_count,
               uint32_t *to);
