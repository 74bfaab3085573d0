// Reads the copy of a probe's file (fmt/probe.h). It may be cut off, damaged or forged: nothing in it is trusted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/probe.h"

enum { PROBE_READ_RECORDS = 4096 }; // at once

struct probe_file {
    int fd; // the caller opens and closes it
    struct probe_header header;
    uint64_t count; // records that are there; the first one has the place header.first
    uint64_t damaged_bytes;
};

// ERR_NOTHING if nothing was ever written.
int probe_read_file(int fd, struct probe_file *file);

// Returns the number of records read from index `at` on, at most PROBE_READ_RECORDS; 0 at the end; or a negative code.
int probe_read_records(const struct probe_file *file, uint64_t at, struct probe_record *record);

// Whether a record makes sense. One that was claimed and not filled does not.
bool probe_record_is_good(const struct probe_record *record);
