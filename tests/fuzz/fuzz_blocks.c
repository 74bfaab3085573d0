// The log reader after its checksums: the input gives the contents of the blocks, from which a log with correct
// checksums is made. Each block is a type byte, a stream byte, a codec byte, two bytes of length and its payload.

#include "base/bytes.h"
#include "fmt/block.h"
#include "fuzz.h"
#include "fuzz_log.h"

enum { PIECE_HEAD_BYTES = 5 };

// Records that make sense are in a short block, all others in a long one, which takes anything.
static int append_block(struct bytes *log, const uint8_t head[PIECE_HEAD_BYTES], const uint8_t *raw, size_t len) {
    struct log_block block = {.type = head[0], .stream = head[1], .tid = 1, .events = (uint32_t)len};
    struct bytes stored = {0};
    if (head[0] < 16 && head[0] != BLOCK_EVENTS && log_block_append(&block, raw, len, log) == 0) return 0;
    uint8_t header[LOG_BLOCK_HEADER_BYTES];
    int code = log_block_store(&block, raw, len, &stored);
    if (head[2] & 1) block.flags = BLOCK_SORTED;
    if (head[2] & 2) block.first_number = UINT64_MAX - head[2];
    if (head[2] & 4) block.end_ns = UINT64_MAX;
    if (head[2] & 8) block.events = UINT32_MAX;
    if (code == 0) {
        log_block_put(header, &block);
        code = bytes_append(log, header, sizeof header);
    }
    if (code == 0) code = bytes_append(log, stored.data, stored.len);
    bytes_free(&stored);
    return code;
}

static int assemble(struct bytes *log, const uint8_t *data, size_t len) {
    struct log_header header = {.version = LOG_VERSION, .min_reader = LOG_MIN_READER};
    uint8_t fixed[LOG_HEADER_BYTES > LOG_TRAILER_BYTES ? LOG_HEADER_BYTES : LOG_TRAILER_BYTES];
    bool has_index = false;
    uint64_t last_block = 0;
    log_header_put(fixed, &header);
    if (bytes_append(log, fixed, LOG_HEADER_BYTES) != 0) return -1;
    while (len >= PIECE_HEAD_BYTES) {
        size_t payload = (size_t)data[3] | (size_t)data[4] << 8;
        if (payload > len - PIECE_HEAD_BYTES) payload = len - PIECE_HEAD_BYTES;
        last_block = log->len;
        has_index = data[0] == BLOCK_INDEX;
        if (append_block(log, data, data + PIECE_HEAD_BYTES, payload) != 0) return -1;
        data += PIECE_HEAD_BYTES + payload;
        len -= PIECE_HEAD_BYTES + payload;
    }
    log_trailer_put(fixed, has_index ? (uint32_t)(log->len - last_block) : 0);
    return bytes_append(log, fixed, LOG_TRAILER_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct bytes log = {0};
    if (assemble(&log, data, len) == 0) fuzz_read_log(log.data, log.len);
    bytes_free(&log);
    return 0;
}
