// How a part of a file is spread over the servers of a parallel file system: six varints (start, end, count, size,
// first, pattern), then the name of the pool.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

enum { STRIPE_POOL_ROOM = 16, STRIPE_MAX_BYTES = 6 * VARINT_MAX_BYTES + STRIPE_POOL_ROOM };

struct stripe {
    uint64_t start;              // bytes of the file
    uint64_t end;                // 0: to the end of the file, however long it gets
    uint64_t count;              // servers; 0: not decided before something is written there
    uint64_t size;               // bytes on a server before the next one's turn
    uint64_t first;              // number of the first server + 1; 0: not decided
    uint64_t pattern;            // as Lustre has it: 1 striped, 0x100 on the metadata server …
    char pool[STRIPE_POOL_ROOM]; // "" without one
};

// Writes at most STRIPE_MAX_BYTES and returns their end.
uint8_t *stripe_put(uint8_t *out, const struct stripe *stripe);

// ERR_FORMAT on damage.
int stripe_get(struct stripe *stripe, const uint8_t *data, size_t len);
