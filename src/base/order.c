#include "base/order.h"

#include <stdlib.h>

int order_uint32(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

int order_int64(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

int order_double(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static int compare(const void *a, const void *b) {
    const struct order *left = a, *right = b;
    if (left->key != right->key) return left->key > right->key ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

void order_sort(struct order *order, size_t count) {
    if (count > 1) qsort(order, count, sizeof *order, compare);
}
