#include "pack/bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "fmt/spill.h"

// Written and read on hosts of one cluster, by the same build, as spill files are.
static const uint8_t magic[8] = {0x89, 'I', 'O', 'B', 'U', 'N', 'D', '1'};

enum { LEVEL = 3, READ_BYTES = 256 << 10, PAGE_BYTES = 4096, LEAST_ROOM = 16 << 20, MOST_RATIO = 4096 };
#define MOST_BYTES (UINT64_C(1) << 36) // of a spill file; most of it is a hole

// The name and the compressed bytes follow.
struct head {
    uint8_t magic[8];
    uint64_t len;
    uint64_t stored_len;
    uint64_t name_len;
};

// --- writing

// Behind the last chunk the file is empty.
static int find_end(int spill, uint64_t *len) {
    struct spill_header header = {0};
    struct stat status;
    RETURN_IF(fstat(spill, &status), -errno);
    int64_t got = io_read_at(spill, &header, sizeof header, 0);
    RETURN_IF(got < 0, (int)got);
    *len = (uint64_t)status.st_size;
    if (header.magic == 0) *len = 0;
    if (header.magic == SPILL_MAGIC && header.next < *len) *len = header.next;
    return *len > MOST_BYTES ? ERR_LIMIT : 0;
}

static int compress_part(ZSTD_CCtx *context, ZSTD_inBuffer in, bool is_last, struct bytes *out) {
    size_t left = 1;
    while (left || in.pos < in.size) {
        uint8_t *at = bytes_reserve(out, ZSTD_CStreamOutSize());
        RETURN_IF(!at, -ENOMEM);
        ZSTD_outBuffer part = {at, ZSTD_CStreamOutSize(), 0};
        left = ZSTD_compressStream2(context, &part, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
        RETURN_IF(ZSTD_isError(left), -ENOMEM);
        out->len += part.pos;
        if (!is_last) left = 0;
    }
    return 0;
}

static int compress(ZSTD_CCtx *context, int spill, uint64_t len, uint8_t *buffer, struct bytes *out) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    for (uint64_t at = 0; at < len;) {
        uint64_t wanted = len - at < READ_BYTES ? len - at : READ_BYTES;
        int64_t got = io_read_at(spill, buffer, (size_t)wanted, at);
        RETURN_IF(got < (int64_t)wanted, got < 0 ? (int)got : ERR_TRUNCATED);
        at += wanted;
        FORWARD(compress_part(context, (ZSTD_inBuffer){buffer, (size_t)wanted, 0}, at == len, out));
    }
    return 0;
}

static int write_entry(int bundle, const char *name, uint64_t len, const struct bytes *stored) {
    struct head head = {.len = len, .stored_len = stored->len, .name_len = strlen(name)};
    memcpy(head.magic, magic, sizeof magic);
    FORWARD(io_write_all(bundle, &head, sizeof head));
    FORWARD(io_write_all(bundle, name, strlen(name)));
    return io_write_all(bundle, stored->data, stored->len);
}

int bundle_add(int bundle, int spill, const char *name) {
    uint64_t len;
    struct bytes stored = {0};
    FORWARD(find_end(spill, &len));
    if (!len) return 0;
    ZSTD_CCtx *context = ZSTD_createCCtx();
    uint8_t *buffer = malloc(READ_BYTES);
    int code = context && buffer ? compress(context, spill, len, buffer, &stored) : -ENOMEM;
    if (code == 0) code = write_entry(bundle, name, len, &stored);
    ZSTD_freeCCtx(context);
    free(buffer);
    bytes_free(&stored);
    return code;
}

// --- reading

int bundle_next(int bundle, uint64_t *offset, struct bundle_entry *entry) {
    struct head head;
    struct stat status;
    RETURN_IF(fstat(bundle, &status), -errno);
    uint64_t all = (uint64_t)status.st_size;
    if (*offset >= all) return 0;
    int64_t got = io_read_at(bundle, &head, sizeof head, *offset);
    RETURN_IF(got < (int64_t)sizeof head, got < 0 ? (int)got : ERR_TRUNCATED);
    RETURN_IF(memcmp(head.magic, magic, sizeof magic), ERR_FORMAT);
    RETURN_IF(!head.name_len || head.name_len > NAME_MAX || head.len > MOST_BYTES, ERR_FORMAT);
    uint64_t rest = all - *offset - sizeof head;
    RETURN_IF(head.name_len > rest || head.stored_len > rest - head.name_len, ERR_TRUNCATED);
    *entry = (struct bundle_entry){.len = head.len, .stored_len = head.stored_len};
    got = io_read_at(bundle, entry->name, head.name_len, *offset + sizeof head);
    RETURN_IF(got < (int64_t)head.name_len, got < 0 ? (int)got : ERR_TRUNCATED);
    RETURN_IF(strlen(entry->name) != head.name_len || strchr(entry->name, '/'), ERR_FORMAT);
    entry->offset = *offset + sizeof head + head.name_len;
    *offset = entry->offset + head.stored_len;
    return 1;
}

struct reading {
    int bundle, out;
    uint64_t room;    // bytes that are not in holes
    uint64_t at, end; // what is still to be read
    uint64_t done;    // bytes of the spill file
    uint8_t *from, *to;
};

static bool is_empty(const uint8_t *data, size_t len) { return !len || (!data[0] && !memcmp(data, data + 1, len - 1)); }

// Holes stay holes. The file is in memory, and a few bytes could stand for more than there is.
static int take_out(struct reading *reading, uint64_t len, size_t bytes) {
    RETURN_IF(bytes > len - reading->done, ERR_FORMAT);
    for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
        size_t page = bytes - at < PAGE_BYTES ? bytes - at : PAGE_BYTES;
        if (is_empty(reading->to + at, page)) continue;
        RETURN_IF(reading->room < page, ERR_LIMIT);
        reading->room -= page;
        FORWARD(io_write_at(reading->out, reading->to + at, page, reading->done + at));
    }
    reading->done += bytes;
    return 0;
}

static int expand(ZSTD_DCtx *context, struct reading *reading, uint64_t len) {
    size_t left = 1;
    while (reading->at < reading->end && left) {
        uint64_t wanted = reading->end - reading->at < READ_BYTES ? reading->end - reading->at : READ_BYTES;
        int64_t got = io_read_at(reading->bundle, reading->from, (size_t)wanted, reading->at);
        RETURN_IF(got < (int64_t)wanted, got < 0 ? (int)got : ERR_TRUNCATED);
        reading->at += wanted;
        ZSTD_inBuffer in = {reading->from, (size_t)wanted, 0};
        bool is_full = false; // there may be more to come of what was read
        while (left && (in.pos < in.size || is_full)) {
            ZSTD_outBuffer out = {reading->to, READ_BYTES, 0};
            left = ZSTD_decompressStream(context, &out, &in);
            RETURN_IF(ZSTD_isError(left), ERR_FORMAT);
            FORWARD(take_out(reading, len, out.pos));
            is_full = out.pos == out.size;
        }
    }
    return left || reading->done != len ? ERR_FORMAT : 0;
}

int bundle_open(int bundle, const struct bundle_entry *entry) {
    struct reading reading = {.bundle = bundle,
                              .room = LEAST_ROOM + entry->stored_len * MOST_RATIO,
                              .at = entry->offset,
                              .end = entry->offset + entry->stored_len};
    reading.out = memfd_create("ioseer-spill", MFD_CLOEXEC);
    RETURN_IF(reading.out < 0, -errno);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    reading.from = malloc(READ_BYTES);
    reading.to = malloc(READ_BYTES);
    int code = context && reading.from && reading.to ? 0 : -ENOMEM;
    if (code == 0 && ftruncate(reading.out, (off_t)entry->len)) code = -errno;
    if (code == 0) code = expand(context, &reading, entry->len);
    ZSTD_freeDCtx(context);
    free(reading.from);
    free(reading.to);
    if (code == 0) return reading.out;
    close(reading.out);
    return code;
}
