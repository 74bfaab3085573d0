// Memory that is never given back: file names, pending transfers. Plain mmap, because the program's malloc may be what
// called us. Returns NULL without memory.
#pragma once

#include <stddef.h>

void *arena_alloc(size_t bytes);
void *arena_pages(size_t bytes); // whole zeroed pages, only touched ones cost
