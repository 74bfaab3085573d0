// A bundle: all spill files that a host kept in a folder of its own, in one file on its way to the job's directory.
// Each is compressed by itself, up to the end of its last chunk.
#pragma once

#include <limits.h>
#include <stdint.h>

#define BUNDLE_SUFFIX ".bundle" // of the file names

// A spill file in a bundle.
struct bundle_entry {
    char name[NAME_MAX + 1]; // as it had in its folder
    uint64_t len;            // of the file
    uint64_t offset;         // of its compressed bytes
    uint64_t stored_len;
};

// Appends a file, whose bytes do not change meanwhile. Nothing is appended for one that its process has not begun.
int bundle_add(int bundle, int spill, const char *name);

// The entry at *offset, which moves on. 1, 0 at the end, or a negative code: nothing can be read from there on.
int bundle_next(int bundle, uint64_t *offset, struct bundle_entry *entry);

// A descriptor of a nameless file with the bytes of the spill file, or a negative code.
int bundle_open(int bundle, const struct bundle_entry *entry);
