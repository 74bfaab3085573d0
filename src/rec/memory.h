// Memory that is never given back: file names, pending transfers. Plain mmap, because the program's malloc may be what
// called us. Returns NULL without memory.
#pragma once

#include <stddef.h>

void *memory_alloc(size_t bytes);
void *memory_pages(size_t bytes); // whole zeroed pages, only touched ones cost
