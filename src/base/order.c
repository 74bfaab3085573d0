#include "base/order.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->key != right->key) return left->key > right->key ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

void order_sort(struct order *order, size_t count)
{
    if (count > 1) qsort(order, count, sizeof *order, compare);
}
