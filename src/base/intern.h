// An array whose elements are found by a key. The first use of a key adds its element.
#pragma once

#include "base/array.h"
#include "base/lookup.h"

// Sets `place` to the index of the key's element. If there is none, adds the last argument as the element. 0, or
// -ENOMEM.
#define lookup_intern(lookup, key, place, array, count, ...)                                                           \
    (((place) = lookup_find(lookup, key)) != LOOKUP_NONE        ? 0                                                    \
     : lookup_set(lookup, key, (place) = (uint32_t)(count)) < 0 ? -ENOMEM                                              \
                                                                : array_push(array, count, __VA_ARGS__))
