// This process's spill file (fmt/spill.h): making it, claiming chunks, writing tagged records.
#pragma once

#include <stdbool.h>

#include "fmt/fields.h"
#include "fmt/spill.h"

// Makes and maps the file for the calling process; 0 or -errno. The program keeps all its descriptors.
int spill_create(void);

// A chunk of `bytes` (a multiple of SPILL_ALIGN), its header filled in but for what the kind needs; NULL where there is
// no room, with *reason set to LOSS_TRACE_CAP or LOSS_DISK_FULL. Event chunks stop at the trace cap; the others may use
// the reserve behind it.
struct spill_chunk *spill_claim(enum spill_chunk_kind kind, uint32_t bytes, enum loss_reason *reason);

// Unmaps most of what is still free. The trace will end early.
void spill_give_back(void);

// Gives the pages of a finished chunk back to the kernel; its bytes are safe in the page cache.
void spill_retire(struct spill_chunk *chunk);

static inline uint8_t *spill_payload(struct spill_chunk *chunk)
{
    return (uint8_t *)chunk + SPILL_CHUNK_HEADER_BYTES;
}

// Appends a finished record (fields_begin … fields_end in a buffer of the caller's).
void spill_record(const uint8_t *record, size_t len);
// The same without a buffer, for long records on stacks that may be small: gives room for `most` bytes in the file
// itself, and the lock with it; false where there is none. spill_end_record takes what was written.
bool spill_begin_record(struct fields_out *out, size_t most);
void spill_end_record(const struct fields_out *out);

// Notes the present moment on all clocks, for the conversion of event times.
void spill_update_clock(void);

void spill_count_loss(enum loss_reason reason, uint64_t events);
