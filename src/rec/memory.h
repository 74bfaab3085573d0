// Memory that is never freed: file names, pending transfers. It comes from mmap, because the caller may be the
// program's malloc. Both return NULL without memory.
#pragma once

#include <stddef.h>

void *memory_alloc(size_t bytes);
void *memory_pages(size_t bytes); // whole zeroed pages; only touched ones use memory
