// Sorting by numbers.
#pragma once

#include <stddef.h>
#include <stdint.h>

// For qsort and bsearch: the smallest first.
int order_uint32(const void *a, const void *b);
int order_int64(const void *a, const void *b);
int order_double(const void *a, const void *b);

// Sorts indices by a number that belongs to each: the largest first, equal ones in the order of their indices.
struct order {
    int64_t key;
    size_t index;
};

void order_sort(struct order *order, size_t count);
