#include "fmt/stripe.h"

#include "base/err.h"

uint8_t *stripe_put(uint8_t *out, const struct stripe *stripe) {
    const uint64_t number[] = {stripe->start, stripe->end, stripe->count, stripe->size, stripe->first, stripe->pattern};
    size_t pool_len = strnlen(stripe->pool, sizeof stripe->pool);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) out = varint_put(out, number[i]);
    memcpy(out, stripe->pool, pool_len);
    return out + pool_len;
}

int stripe_get(struct stripe *stripe, const uint8_t *data, size_t len) {
    const uint8_t *at = data, *end = data + len;
    *stripe = (struct stripe){0};
    uint64_t *number[] = {&stripe->start, &stripe->end,   &stripe->count,
                          &stripe->size,  &stripe->first, &stripe->pattern};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        at = varint_get(at, end, number[i]);
        RETURN_IF(!at, ERR_FORMAT);
    }
    size_t pool_len = (size_t)(end - at);
    RETURN_IF(pool_len >= sizeof stripe->pool || memchr(at, 0, pool_len), ERR_FORMAT);
    memcpy(stripe->pool, at, pool_len);
    return 0;
}
