// Counters of one file in one process and layer, with the meaning of Darshan's (doc/counters.md).
// One accumulator serves the reader, which feeds it events, and the recorder, which feeds it calls past the trace cap;
// it never allocates. Times are in whatever unit the caller uses throughout.
#ifndef IOSEER_FMT_COUNTERS_H
#define IOSEER_FMT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "fmt/call.h"

struct counters; // see below: plain data, all zero at the start

struct counters_input {
    uint32_t call;       // this build's id
    uint32_t block_size; // of the file; 0 where it is not known
    uint64_t offset;
    bool has_offset;
    bool unaligned; // memory
    int64_t result; // bytes moved, or what the call returned; failed calls are not to be fed
    uint64_t start;
    uint64_t duration;
    uint32_t mode; // of opens, where known
};

void counters_add(struct counters *c, const struct counters_input *in);

#endif
