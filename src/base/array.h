// Growable arrays: a pointer and a count in any struct. The capacity follows from the count (16 elements, then the
// next power of two), so every element of such an array must have been added by these macros, starting from NULL and
// 0.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The capacity after `count` elements were pushed.
static inline size_t array_capacity(size_t count) {
    if (count <= 16) return count ? 16 : 0;
    return (size_t)1 << (64 - __builtin_clzll(count - 1));
}

// `array` is the address of the pointer to the elements. Returns 0, or -ENOMEM and changes nothing.
static inline int array_grow(void *array, size_t count, size_t element_bytes) {
    if (count & (count - 1) || (count && count < 16)) return 0;
    size_t more = count ? count * 2 : 16;
    if (more > SIZE_MAX / 2 / element_bytes) return -ENOMEM;
    void *larger = realloc(*(void **)array, more * element_bytes);
    if (!larger) return -ENOMEM;
    *(void **)array = larger;
    return 0;
}

// Makes room for array[count].
#define array_room(array, count) array_grow(&(array), (count), sizeof *(array))

// Adds an element and counts it. Returns 0, or -ENOMEM and changes nothing.
#define array_push(array, count, ...) (array_room(array, count) ? -ENOMEM : ((array)[(count)++] = __VA_ARGS__, 0))
