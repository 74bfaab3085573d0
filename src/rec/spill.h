// Writes this process's spill file (fmt/spill.h): makes it, claims chunks, appends tagged records.
#pragma once

#include <stdbool.h>

#include "fmt/fields.h"
#include "fmt/spill.h"

// Makes and maps the file. Returns 0 or -errno. Leaves no descriptor open.
int spill_create(void);

// spill_fault.c: on some file systems a store to the mapping may fail; the program must not notice.
void spill_expect_faults(int fd, const void *mapping, uint64_t bytes);
// A part of this process's recording is lost.
void spill_mark_fault(void);

// Leaves a mark in the job's directory: a program that the recorder cannot be loaded into runs unseen. Returns what
// takes the mark back, in the same process, if the program does not run after all.
uint64_t spill_mark_unfollowed(const char *why);
void spill_unmark_unfollowed(uint64_t mark);

// Claims a chunk of `bytes`, a multiple of SPILL_ALIGN. The caller fills in what the kind needs. NULL without room,
// with *reason set to LOSS_TRACE_CAP or LOSS_DISK_FULL. Event chunks stop at the trace cap; others may use the reserve
// behind it.
struct spill_chunk *spill_claim(enum spill_chunk_kind kind, uint32_t bytes, enum loss_reason *reason);

// The size of the chunk that follows one of the same kind, NULL: of the first. Most processes do little, and each page
// of a spill file takes a microsecond or more.
enum { SPILL_LARGE_CHUNK = 64 << 10 };
static inline uint32_t spill_next_bytes(const struct spill_chunk *last) {
    return !last ? SPILL_ALIGN : last->bytes < SPILL_LARGE_CHUNK / 4 ? last->bytes * 4 : SPILL_LARGE_CHUNK;
}

// Unmaps most of the free space. The trace will end early.
void spill_give_back(void);

// Gives the pages of a finished chunk back to the kernel; its bytes are safe in the page cache.
void spill_retire(struct spill_chunk *chunk);

static inline uint8_t *spill_payload(struct spill_chunk *chunk) { return (uint8_t *)chunk + SPILL_CHUNK_HEADER_BYTES; }

// Appends a complete record (fields_begin … fields_end in a buffer of the caller).
void spill_record(const uint8_t *record, size_t len);
// The same without a buffer, for long records: the stack may be small. Reserves `most` bytes in the file itself and
// takes the lock; returns false without room. spill_end_record() appends what was written.
bool spill_begin_record(struct fields_out *out, size_t most);
void spill_end_record(const struct fields_out *out);

// Stores the current time of all clocks, for the conversion of event times.
void spill_update_clock(void);

void spill_count_loss(enum loss_reason reason, uint64_t events);
