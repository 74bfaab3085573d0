// Whole reads and writes: interrupted and short ones go on.
#pragma once

#include "base/bytes.h"

// Appends all that is left of a file or pipe. ERR_LIMIT where it is more than `limit` bytes.
int io_read_all(int fd, struct bytes *out, size_t limit);
int io_write_all(int fd, const void *data, size_t len);
