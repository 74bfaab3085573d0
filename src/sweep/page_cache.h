// Whether files in a directory go through the page cache: those of file systems with direct I/O do not.
#pragma once

#include <stdbool.h>

int page_cache_is_used(const char *directory, bool *used);
