// The order of things by a number: the largest first, equal ones in the order of their indices.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct order {
    int64_t key;
    size_t index;
};

void order_sort(struct order *order, size_t count);
