#include "pack/probe_read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fmt/call.h"

enum { SECTOR_BYTES = 512, MOST_COMPRESSED = 32, MAX_HOLE_BYTES = 64 << 20 };

// Reads up to `len` bytes; fewer only at the end of the file.
static int64_t read_at(int fd, void *out, size_t len, uint64_t offset) {
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread(fd, (uint8_t *)out + done, len - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        RETURN_IF(got < 0, -errno);
        if (got == 0) break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

static int check_header(const struct probe_header *header) {
    RETURN_IF(header->magic == 0, ERR_NOTHING);
    RETURN_IF(header->magic != PROBE_MAGIC, ERR_FORMAT);
    RETURN_IF(header->version != PROBE_VERSION, ERR_VERSION);
    RETURN_IF(header->number == 0 || !call_layer_is_below(header->layer), ERR_FORMAT);
    RETURN_IF(!memchr(header->host, 0, sizeof header->host), ERR_FORMAT);
    RETURN_IF(header->first > header->next || header->next >= UINT64_C(1) << PROBE_PLACE_BITS, ERR_FORMAT);
    return 0;
}

int probe_read_file(int fd, struct probe_file *file) {
    struct stat status;
    *file = (struct probe_file){.fd = fd};
    RETURN_IF(fstat(fd, &status), -errno);
    file->damaged_bytes = (uint64_t)status.st_size;
    int64_t got = read_at(fd, &file->header, sizeof file->header, 0);
    RETURN_IF(got < 0, (int)got);
    RETURN_IF(got == 0, ERR_NOTHING);
    RETURN_IF(got < (int64_t)sizeof file->header, ERR_TRUNCATED);
    FORWARD(check_header(&file->header));
    uint64_t there = file->damaged_bytes > PROBE_HEADER_BYTES ? file->damaged_bytes - PROBE_HEADER_BYTES : 0;
    uint64_t claimed = file->header.next - file->header.first;
    // An enormous hole is not worth reading.
    uint64_t dense = (uint64_t)status.st_blocks * SECTOR_BYTES * MOST_COMPRESSED + MAX_HOLE_BYTES;
    if (there > dense) there = dense;
    file->count = there / sizeof(struct probe_record);
    file->damaged_bytes = 0;
    if (file->count > claimed) file->count = claimed;
    // Places for which there was no room are counted as lost. A damaged header may claim any number of records.
    uint64_t missing = claimed - file->count, lost = atomic_load(&file->header.lost);
    if (missing > lost) file->damaged_bytes = (missing - lost) * sizeof(struct probe_record);
    if (file->damaged_bytes > (uint64_t)status.st_size) file->damaged_bytes = (uint64_t)status.st_size;
    return 0;
}

int probe_read_records(const struct probe_file *file, uint64_t at, struct probe_record *record) {
    uint64_t left = at < file->count ? file->count - at : 0;
    size_t count = left < PROBE_READ_RECORDS ? (size_t)left : PROBE_READ_RECORDS;
    int64_t got = read_at(file->fd, record, count * sizeof *record, PROBE_HEADER_BYTES + at * sizeof *record);
    return got < 0 ? (int)got : (int)((size_t)got / sizeof *record);
}

bool probe_record_is_good(const struct probe_record *record) {
    bool is_call = record->operation > PROBE_none && record->operation < PROBE_operations;
    bool is_link = record->operation == PROBE_connected || record->operation == PROBE_disconnected;
    return (is_call || is_link) && (!record->end_ns || record->end_ns >= record->start_ns);
}
