// Arrays that grow: room for one more element, twice as much when it is full.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// `array` is the address of the pointer to the elements. 0, or -ENOMEM with everything as it was.
static inline int grow(void *array, size_t *capacity, size_t count, size_t element_bytes)
{
    if (count < *capacity) return 0;
    size_t more = *capacity ? *capacity * 2 : 16;
    if (more > SIZE_MAX / 2 / element_bytes) return -ENOMEM;
    void *larger = realloc(*(void **)array, more * element_bytes);
    if (!larger) return -ENOMEM;
    *(void **)array = larger;
    *capacity = more;
    return 0;
}
