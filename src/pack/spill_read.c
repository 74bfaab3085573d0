#include "pack/spill_read.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/process.h"
#include "fmt/block.h"

// After a damaged chunk header the next one is searched page by page, up to a limit: a hostile file can be an enormous
// hole.
enum { MAX_SEARCH_BYTES = 64 << 20 };

static int read_at(const struct spill *spill, uint64_t offset, void *out, size_t len) {
    RETURN_IF(offset > spill->len || len > spill->len - offset, ERR_TRUNCATED);
    int64_t got = io_read_at(spill->fd, out, len, offset);
    RETURN_IF(got < (int64_t)len, got < 0 ? (int)got : ERR_TRUNCATED);
    return 0;
}

static int read_header(struct spill *spill) {
    struct spill_header *header = &spill->header;
    RETURN_IF(spill->len == 0, ERR_NOTHING);
    FORWARD(read_at(spill, 0, header, sizeof *header));
    RETURN_IF(header->magic == 0, ERR_NOTHING);
    RETURN_IF(header->magic != SPILL_MAGIC, ERR_FORMAT);
    RETURN_IF(header->version != SPILL_VERSION, ERR_VERSION);
    RETURN_IF(header->header_bytes != SPILL_HEADER_BYTES, ERR_FORMAT);
    RETURN_IF(header->unit_shift > 63, ERR_FORMAT);
    return 0;
}

static void add_tally(struct spill_tally *sum, const struct spill_tally *more) {
    for (unsigned is_write = 0; is_write < 2; is_write++) {
        for (unsigned i = 0; i < LEFT_OUT_COUNT; i++) sum->left_out[is_write][i] += more->left_out[is_write][i];
        sum->stdio_kernel[is_write] += more->stdio_kernel[is_write];
    }
    sum->left_out_calls += more->left_out_calls;
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        sum->comm[kind].count += more->comm[kind].count;
        sum->comm[kind].bytes += more->comm[kind].bytes;
        sum->comm[kind].units += more->comm[kind].units;
    }
    sum->io_units += more->io_units;
}

static int add_piece(struct spill *spill, uint64_t at, const struct spill_chunk *chunk) {
    uint64_t payload = at + SPILL_CHUNK_HEADER_BYTES;
    uint32_t used = chunk->used;
    if (used > spill->len - payload) {
        spill->damaged_bytes += used - (spill->len - payload);
        used = (uint32_t)(spill->len - payload);
    }
    FORWARD(array_push(spill->piece, spill->count, (struct spill_piece){.offset = payload, .chunk = *chunk}));
    spill->piece[spill->count - 1].chunk.used = used;
    return 0;
}

static bool chunk_is_sound(const struct spill_chunk *chunk) {
    return chunk->magic == SPILL_CHUNK_MAGIC && chunk->bytes >= SPILL_CHUNK_HEADER_BYTES &&
           chunk->used <= chunk->bytes - SPILL_CHUNK_HEADER_BYTES && chunk->used <= LOG_BLOCK_MAX_RAW;
}

// `records_only` is for the second look (spill_read_records_again): damage and tallies were counted in the first.
static int walk(struct spill *spill, bool records_only) {
    uint64_t next = spill->header.next;
    uint64_t end = next < spill->len ? next : spill->len;
    uint64_t searched = 0;
    uint64_t at = SPILL_HEADER_BYTES;
    struct spill_chunk chunk;
    uint64_t damaged = 0;
    while (at < end && end - at >= SPILL_CHUNK_HEADER_BYTES && searched < MAX_SEARCH_BYTES) {
        FORWARD(read_at(spill, at, &chunk, sizeof chunk));
        if (!chunk_is_sound(&chunk)) {
            // A chunk that was claimed but not begun is not damage.
            if (chunk.magic != 0) damaged += SPILL_ALIGN;
            searched += SPILL_ALIGN;
            at += SPILL_ALIGN;
            continue;
        }
        searched = 0;
        if (!records_only) add_tally(&spill->tally, &chunk.tally);
        if (!records_only || chunk.kind != CHUNK_EVENTS) FORWARD(add_piece(spill, at, &chunk));
        at += ((uint64_t)chunk.bytes + SPILL_ALIGN - 1) / SPILL_ALIGN * SPILL_ALIGN;
    }
    spill->damaged_bytes += damaged;
    // Chunks that lie wholly after the end of a truncated file.
    bool cut_off = next > spill->len && next <= spill->header.capacity;
    if (cut_off && spill->damaged_bytes == 0) spill->damaged_bytes = next - spill->len;
    return 0;
}

int spill_read_file(int fd, struct spill *spill) {
    *spill = (struct spill){.fd = fd};
    struct stat status;
    RETURN_IF(fstat(fd, &status), -errno);
    spill->len = (uint64_t)status.st_size;
    FORWARD(read_header(spill));
    return walk(spill, false);
}

int spill_read_records_again(struct spill *spill) {
    size_t kept = 0;
    for (size_t i = 0; i < spill->count; i++) {
        if (spill->piece[i].chunk.kind == CHUNK_EVENTS) spill->piece[kept++] = spill->piece[i];
    }
    spill->count = kept;

    struct stat status;
    if (fstat(spill->fd, &status) == 0) spill->len = (uint64_t)status.st_size;
    uint64_t damaged_bytes = spill->damaged_bytes;
    struct spill_header now;
    FORWARD(read_at(spill, 0, &now, sizeof now));
    spill->header.next = now.next;
    int code = walk(spill, true);
    spill->damaged_bytes = damaged_bytes;
    return code;
}

int spill_read_payload(const struct spill *spill, const struct spill_piece *piece, struct bytes *out) {
    out->len = 0;
    RETURN_IF(!bytes_reserve(out, piece->chunk.used ? piece->chunk.used : 1), -ENOMEM);
    FORWARD(read_at(spill, piece->offset, out->data, piece->chunk.used));
    out->len = piece->chunk.used;
    return 0;
}

void spill_read_free(struct spill *spill) {
    free(spill->piece);
    spill->piece = NULL;
    spill->count = 0;
}

bool spill_is_running(const struct spill_header *header) {
    const int64_t ns_per_second = 1000000000;
    struct process_stat stat;
    if ((int64_t)header->start.mono_ns < 0) return false;
    if (!process_stat((pid_t)header->pid, &stat) || stat.state == 'Z' || stat.state == 'X') return false;
    int64_t asleep_ns = (int64_t)(clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));
    int64_t started_ns = (int64_t)stat.start_ticks * (ns_per_second / sysconf(_SC_CLK_TCK)) - asleep_ns;
    return started_ns >= 0 && started_ns <= (int64_t)header->start.mono_ns + ns_per_second / 10;
}
