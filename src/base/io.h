// Complete reads and writes: interrupted and short ones are continued.
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

// Appends the rest of a file or pipe. ERR_LIMIT if it has more than `limit` bytes.
int io_read_all(int fd, struct bytes *out, size_t limit);
// Reads the first line of a file, without its end, up to `size` - 1 bytes. False, with an empty line, if that fails.
bool io_first_line(const char *path, char *line, size_t size);
int io_write_all(int fd, const void *data, size_t len);
