// Common to the fuzz targets. See tests/fuzz/run.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

// Reads every byte, so that the sanitizer sees a pointer that leads outside.
static inline void fuzz_touch(const uint8_t *data, size_t len) {
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < len; i++) sum = (uint8_t)(sum + data[i]);
    (void)sum;
}

// The parsers of files want a descriptor: returns one of a memory file with this content, or -1.
int fuzz_file(const uint8_t *data, size_t len);
// A name under which that file can be opened.
void fuzz_file_name(char name[64], int fd);
