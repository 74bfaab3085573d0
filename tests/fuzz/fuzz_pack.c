// Packs a spill file; the log must be readable. Most bytes of a spill file are unused, so the input is a condensed one
// (see seeds.py): the beginning of its header, then the header and payload of each chunk.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_log.h"
#include "pack/pack.h"

enum { FOLDED_HEADER_BYTES = 1024, MAX_CHUNKS = 64 };

_Static_assert(sizeof(struct spill_header) <= FOLDED_HEADER_BYTES, "a folded header is whole");

static size_t rounded(size_t bytes) { return (bytes + SPILL_ALIGN - 1) / SPILL_ALIGN * SPILL_ALIGN; }

// Appends one chunk; returns how much of the input it took. Lengths are made to fit: damaged ones are fuzz_spill's.
static size_t unfold_chunk(uint8_t *at, size_t *bytes, const uint8_t *data, size_t len) {
    struct spill_chunk chunk;
    memcpy(&chunk, data, sizeof chunk);
    size_t rest = len - SPILL_CHUNK_HEADER_BYTES;
    if (chunk.used > rest) chunk.used = (uint32_t)rest;
    *bytes = rounded(SPILL_CHUNK_HEADER_BYTES + chunk.used);
    chunk.magic = SPILL_CHUNK_MAGIC;
    chunk.bytes = (uint32_t)*bytes;
    memcpy(at, &chunk, sizeof chunk);
    memcpy(at + SPILL_CHUNK_HEADER_BYTES, data + SPILL_CHUNK_HEADER_BYTES, chunk.used);
    return SPILL_CHUNK_HEADER_BYTES + chunk.used;
}

static uint8_t *unfold(const uint8_t *data, size_t len, size_t *bytes) {
    uint8_t *image = calloc(1, SPILL_HEADER_BYTES + len + (size_t)MAX_CHUNKS * SPILL_ALIGN);
    struct spill_header *header = (struct spill_header *)image;
    if (!image) return NULL;
    memcpy(image, data, FOLDED_HEADER_BYTES);
    header->magic = SPILL_MAGIC;
    header->version = SPILL_VERSION;
    header->header_bytes = SPILL_HEADER_BYTES;
    *bytes = SPILL_HEADER_BYTES;
    data += FOLDED_HEADER_BYTES;
    len -= FOLDED_HEADER_BYTES;
    for (int i = 0; i < MAX_CHUNKS && len >= SPILL_CHUNK_HEADER_BYTES; i++) {
        size_t chunk_bytes;
        size_t taken = unfold_chunk(image + *bytes, &chunk_bytes, data, len);
        *bytes += chunk_bytes;
        data += taken;
        len -= taken;
    }
    header->next = header->capacity = *bytes;
    return image;
}

// Replaces libc's function: nothing has to be on a disk.
int fdatasync(int fd) {
    (void)fd;
    return 0;
}

static bool save(const char *path, const uint8_t *image, size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool saved = fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes;
    if (fd >= 0) close(fd);
    return saved;
}

static void pack_and_read(const uint8_t *image, size_t bytes) {
    static char directory[] = "/tmp/ioseer-fuzz-XXXXXX";
    struct pack_result result;
    char spill[64], name[64];
    struct log *log;
    if (!mkdtemp(directory)) return;
    snprintf(spill, sizeof spill, "%s/1" SPILL_SUFFIX, directory);
    snprintf(name, sizeof name, "%s/log", directory);
    if (save(spill, image, bytes) && pack_directory(NULL, directory, name, NULL, &result) == 0) {
        if (log_open(&log, name) != 0 || log_health(log)->truncated) __builtin_trap();
        fuzz_read_events(log);
        fuzz_read_stats(log);
        log_close(log);
    }
    pack_remove_directory(directory);
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    size_t bytes;
    if (len < FOLDED_HEADER_BYTES) return 0;
    uint8_t *image = unfold(data, len, &bytes);
    if (image) pack_and_read(image, bytes);
    free(image);
    return 0;
}
