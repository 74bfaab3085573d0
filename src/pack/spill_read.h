// Reads a spill file, which may still be written to, cut off, damaged or forged: every length is checked against the
// bytes that are there.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fmt/spill.h"

// A good chunk.
struct spill_piece {
    uint64_t offset;          // of its payload
    struct spill_chunk chunk; // `used` is not more than the file has
};

struct spill {
    int fd; // the caller opens and closes it
    uint64_t len;
    struct spill_header header;
    struct spill_tally tally; // summed over the chunks
    struct spill_piece *piece;
    size_t count;
    uint64_t damaged_bytes;
};

// Fills `spill` with the header and the chunks. ERR_NOTHING if the process made its file and wrote nothing.
// spill_read_free releases it in any case.
int spill_read_file(int fd, struct spill *spill);

// Searches again for chunks that are not event streams. A running process describes a file before the first event that
// uses it: records that are read after the events have a name for each of them.
int spill_read_records_again(struct spill *spill);

// Copies a chunk's payload, so that a process that still runs cannot change it between check and use.
int spill_read_payload(const struct spill *spill, const struct spill_piece *piece, struct bytes *out);

void spill_read_free(struct spill *spill);

// Whether the process still runs, and its pid does not belong to a younger process. For spills of this host.
bool spill_is_running(const struct spill_header *header);
