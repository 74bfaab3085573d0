// Reads an extended attribute of files in a child process: a file system that does not answer blocks only that child.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ATTRIBUTE_MAX_BYTES = 1 << 16 }; // the kernel's limit

struct attribute_request {
    const char *const *file; // absolute names
    size_t count;
    const char *name[2]; // of the attribute; the second one, or NULL, is read if a file does not have the first
    int patience_ms;     // how long to wait for the next answer
    int limit_ms;        // and for all of them
};

// Called for each file that answered, in order: `len` bytes, or -errno. A negative result ends the reading.
typedef int attribute_take(void *context, size_t file, const uint8_t *value, int len);

// Returns how many files answered: all, unless time ran out; or what `take` returned.
int read_attributes(const struct attribute_request *request, attribute_take *take, void *context);
