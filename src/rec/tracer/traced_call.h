// The system calls that the tracer watches (generated from calls/): what the probes do before and after each. `word`
// holds the arguments; pointers among them are addresses in the followed process.
#pragma once

#include "rec/probe/probe.h"

struct traced_call {
    bool (*before)(struct probe *probe, const long word[6]); // false: what it does is of no interest
    void (*after)(struct probe *probe, const long word[6], long returned);
};

enum { TRACED_CALLS = 512 };

extern const struct traced_call traced_calls[TRACED_CALLS]; // by number; empty rows are not watched

// Copies from the memory of the followed process, into one of two places that stay valid until the next copy. A null
// pointer stays one. What cannot be read is empty, or zeros.
const char *tracer_text(unsigned place, long address);
void *tracer_copy(unsigned place, long address, size_t len);
// Into the caller's own memory; false if not all of it can be read.
bool tracer_read(void *out, long address, size_t len);
