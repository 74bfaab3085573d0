// The bytes of one region of a Darshan log, decompressed as they are read. A region of several ranks is several
// compressed streams, one behind the other.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// A place in the file.
struct darshan_place {
    uint64_t at;
    uint64_t len; // 0: it is not there
};

struct darshan_region;

// `codec` is an enum darshan_codec. ERR_USAGE: this build cannot decompress it.
int darshan_region_open(struct darshan_region **region, int fd, const struct darshan_place *place, unsigned codec);
// Returns 1, or 0 at the end. ERR_TRUNCATED: the region ends inside of what is wanted; ERR_FORMAT: it is damaged;
// ERR_LIMIT: it claims to be larger than any real one.
int darshan_region_read(struct darshan_region *region, void *out, size_t len);
// Appends everything that is left, up to `limit` bytes (ERR_LIMIT). What comes before damage is there.
int darshan_region_read_all(struct darshan_region *region, struct bytes *out, size_t limit);
void darshan_region_close(struct darshan_region *region);
