// Shell patterns over whole file names: `*` any run of bytes (slashes too), `?` one byte, `[a-z]` one of a set,
// `\x` x itself. Allocates nothing, so that the recorder can use it anywhere.
#pragma once

#include <stdbool.h>

bool glob_match(const char *pattern, const char *text);
