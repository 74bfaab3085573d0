// Shell patterns over whole file names: `*` any run of bytes (slashes too), `?` one byte, `[a-z]` one of a set,
// `\x` x itself. Allocates nothing, so that the recorder can use it anywhere.
#ifndef IOSEER_BASE_GLOB_H
#define IOSEER_BASE_GLOB_H

#include <stdbool.h>

bool glob_match(const char *pattern, const char *text);

#endif
