// Elements of an array that are found by a key, each added when its key comes first.
#pragma once

#include "base/array.h"
#include "base/lookup.h"

// `place` becomes where the key's element is; if there is none, the one given last becomes it. 0, or -ENOMEM.
#define lookup_intern(lookup, key, place, array, count, ...)                                                           \
    (((place) = lookup_find(lookup, key)) != LOOKUP_NONE        ? 0                                                    \
     : lookup_set(lookup, key, (place) = (uint32_t)(count)) < 0 ? -ENOMEM                                              \
                                                                : array_push(array, count, __VA_ARGS__))
