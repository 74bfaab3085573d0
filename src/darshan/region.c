#include "darshan/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_BZIP2
#include <bzlib.h>
#endif

#include "base/err.h"
#include "darshan/format.h"

enum {
    IN_BYTES = 1 << 16,
    MOST_RATIO = 2048, // zlib reaches half of it; what bzip2 could make of zeros has no end
    LEAST_LIMIT = 64 << 20,
};

struct darshan_region {
    int fd;
    struct darshan_place left; // of the file
    unsigned codec;
    uint64_t budget;   // bytes that may still come out
    bool is_under_way; // inside a compressed stream
    bool is_cut;       // the file ended before the region
    size_t in_len;     // bytes in `in` that were not used
    uint8_t *in_at;
    uint8_t in[IN_BYTES];
#ifdef HAVE_ZLIB
    z_stream zlib;
#endif
#ifdef HAVE_BZIP2
    bz_stream bzip2;
#endif
};

// A codec takes from in_at, in_len and returns the number of bytes that it gave; it resets itself at the end of a
// stream.
struct codec {
    bool is_there;
    int (*begin)(struct darshan_region *region);
    ssize_t (*take)(struct darshan_region *region, uint8_t *out, size_t len);
    void (*end)(struct darshan_region *region);
};

static int begin_plain(struct darshan_region *region) {
    (void)region;
    return 0;
}

static ssize_t take_plain(struct darshan_region *region, uint8_t *out, size_t len) {
    if (len > region->in_len) len = region->in_len;
    memcpy(out, region->in_at, len);
    region->in_at += len;
    region->in_len -= len;
    return (ssize_t)len;
}

static void end_plain(struct darshan_region *region) { (void)region; }

#ifdef HAVE_ZLIB
static int begin_zlib(struct darshan_region *region) { return inflateInit(&region->zlib) == Z_OK ? 0 : -ENOMEM; }

static ssize_t take_zlib(struct darshan_region *region, uint8_t *out, size_t len) {
    z_stream *z = &region->zlib;
    z->next_in = region->in_at;
    z->avail_in = (unsigned)region->in_len;
    z->next_out = out;
    z->avail_out = (unsigned)len;
    int code = inflate(z, Z_NO_FLUSH);
    region->in_at = z->next_in;
    region->in_len = z->avail_in;
    region->is_under_way = code != Z_STREAM_END;
    if (code == Z_STREAM_END) inflateReset(z);
    RETURN_IF(code == Z_MEM_ERROR, -ENOMEM);
    RETURN_IF(code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR, ERR_FORMAT);
    return (ssize_t)(len - z->avail_out);
}

static void end_zlib(struct darshan_region *region) { inflateEnd(&region->zlib); }
#endif

#ifdef HAVE_BZIP2
static int begin_bzip2(struct darshan_region *region) {
    region->bzip2 = (bz_stream){0};
    return BZ2_bzDecompressInit(&region->bzip2, 0, 0) == BZ_OK ? 0 : -ENOMEM;
}

static ssize_t take_bzip2(struct darshan_region *region, uint8_t *out, size_t len) {
    bz_stream *b = &region->bzip2;
    b->next_in = (char *)region->in_at;
    b->avail_in = (unsigned)region->in_len;
    b->next_out = (char *)out;
    b->avail_out = (unsigned)len;
    int code = BZ2_bzDecompress(b);
    size_t given = len - b->avail_out;
    region->in_at = (uint8_t *)b->next_in;
    region->in_len = b->avail_in;
    region->is_under_way = code != BZ_STREAM_END;
    RETURN_IF(code == BZ_MEM_ERROR, -ENOMEM);
    RETURN_IF(code != BZ_OK && code != BZ_STREAM_END, ERR_FORMAT);
    if (code == BZ_STREAM_END) {
        BZ2_bzDecompressEnd(b);
        FORWARD(begin_bzip2(region));
    }
    return (ssize_t)given;
}

static void end_bzip2(struct darshan_region *region) { BZ2_bzDecompressEnd(&region->bzip2); }
#endif

static const struct codec codecs[DARSHAN_CODECS] = {
    [DARSHAN_PLAIN] = {true, begin_plain, take_plain, end_plain},
#ifdef HAVE_ZLIB
    [DARSHAN_ZLIB] = {true, begin_zlib, take_zlib, end_zlib},
#endif
#ifdef HAVE_BZIP2
    [DARSHAN_BZIP2] = {true, begin_bzip2, take_bzip2, end_bzip2},
#endif
};

int darshan_region_open(struct darshan_region **out, int fd, const struct darshan_place *place, unsigned codec) {
    *out = NULL;
    RETURN_IF(codec >= DARSHAN_CODECS, ERR_FORMAT);
    RETURN_IF(!codecs[codec].is_there, ERR_USAGE);
    struct darshan_region *region = calloc(1, sizeof *region);
    RETURN_IF(!region, -ENOMEM);
    region->fd = fd;
    region->left = *place;
    region->codec = codec;
    region->budget = place->len < UINT64_MAX / MOST_RATIO ? place->len * MOST_RATIO : UINT64_MAX;
    if (region->budget < LEAST_LIMIT) region->budget = LEAST_LIMIT;
    int code = codecs[codec].begin(region);
    if (code < 0)
        free(region);
    else
        *out = region;
    return code;
}

// Returns 1 if there is something in `in`, 0 at the end of the region.
static int fill(struct darshan_region *region) {
    if (region->in_len) return 1;
    size_t want = region->left.len < IN_BYTES ? (size_t)region->left.len : IN_BYTES;
    if (!want) return 0;
    ssize_t got;
    do got = pread(region->fd, region->in, want, (off_t)region->left.at);
    while (got < 0 && errno == EINTR);
    RETURN_IF(got < 0, -errno);
    region->is_cut |= got == 0;
    if (got == 0) return 0;
    region->in_at = region->in;
    region->in_len = (size_t)got;
    region->left.at += (uint64_t)got;
    region->left.len -= (uint64_t)got;
    return 1;
}

// Up to `len` bytes; 0 at the end.
static ssize_t take(struct darshan_region *region, uint8_t *out, size_t len) {
    if (len > INT32_MAX) len = INT32_MAX;
    for (;;) {
        int more = fill(region);
        RETURN_IF(more < 0, more);
        // What a codec has in its own buffers comes out without more input.
        size_t before = region->in_len;
        if (!more && !region->is_under_way) return region->is_cut ? ERR_TRUNCATED : 0;
        ssize_t got = codecs[region->codec].take(region, out, len);
        if (got != 0) {
            RETURN_IF(got > 0 && (uint64_t)got > region->budget, ERR_LIMIT);
            if (got > 0) region->budget -= (uint64_t)got;
            return got;
        }
        RETURN_IF(!more,
                  region->is_under_way || region->is_cut ? ERR_TRUNCATED : 0); // else only the end of a stream was left
        RETURN_IF(before == region->in_len && region->is_under_way, ERR_FORMAT);
    }
}

int darshan_region_read(struct darshan_region *region, void *out, size_t len) {
    size_t have = 0;
    while (have < len) {
        ssize_t got = take(region, (uint8_t *)out + have, len - have);
        RETURN_IF(got < 0, (int)got);
        if (got == 0) return have ? ERR_TRUNCATED : 0;
        have += (size_t)got;
    }
    return 1;
}

int darshan_region_read_all(struct darshan_region *region, struct bytes *out, size_t limit) {
    enum { STEP = 1 << 16 };
    for (;;) {
        uint8_t *room = bytes_reserve(out, STEP);
        RETURN_IF(!room, -ENOMEM);
        ssize_t got = take(region, room, STEP);
        if (got <= 0) return (int)got;
        RETURN_IF((size_t)got > limit || out->len > limit - (size_t)got, ERR_LIMIT);
        out->len += (size_t)got;
    }
}

void darshan_region_close(struct darshan_region *region) {
    if (!region) return;
    codecs[region->codec].end(region);
    free(region);
}
