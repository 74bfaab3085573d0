// Spill images made by hand, for the tests of the packer.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "fmt/fields.h"
#include "fmt/spill.h"
#include "fmt/stream_put.h"

enum { IMAGE_BYTES = 64 << 10, IMAGE_CHUNK_BYTES = 4096, IMAGE_PAYLOAD = IMAGE_CHUNK_BYTES - SPILL_CHUNK_HEADER_BYTES };

struct image {
    uint8_t *data;
    size_t len;
};

static inline struct spill_header *image_header(const struct image *image) {
    return (struct spill_header *)image->data;
}

// A process that began one second after the epoch and both clocks, with a clock of whole nanoseconds.
static inline struct image image_new(void) {
    struct image image = {.data = calloc(1, IMAGE_BYTES), .len = IMAGE_BYTES};
    struct spill_moment start = {.units = 1000000000, .mono_ns = 1000000000, .epoch_ns = 1000000000};
    struct spill_header *header = image_header(&image);
    header->magic = SPILL_MAGIC;
    header->version = SPILL_VERSION;
    header->header_bytes = SPILL_HEADER_BYTES;
    header->pid = 4000000; // more than the kernel gives out by default
    header->ppid = 1;
    header->clock_is_ns = 1;
    header->start = header->latest = start;
    header->capacity = IMAGE_BYTES;
    header->next = SPILL_HEADER_BYTES;
    return image;
}

static inline struct spill_chunk *image_chunk(struct image *image, enum spill_chunk_kind kind) {
    struct spill_header *header = image_header(image);
    struct spill_chunk *chunk = (struct spill_chunk *)(image->data + header->next);
    header->next += IMAGE_CHUNK_BYTES;
    chunk->magic = SPILL_CHUNK_MAGIC;
    chunk->kind = kind;
    chunk->bytes = IMAGE_CHUNK_BYTES;
    return chunk;
}

static inline uint8_t *image_payload(struct spill_chunk *chunk) { return (uint8_t *)chunk + SPILL_CHUNK_HEADER_BYTES; }

static inline struct fields_out image_fields(struct spill_chunk *chunk) {
    return (struct fields_out){.at = image_payload(chunk) + chunk->used, .end = image_payload(chunk) + IMAGE_PAYLOAD};
}

static inline void image_put_file(struct spill_chunk *chunk, uint32_t number, const char *name) {
    struct fields_out out = image_fields(chunk);
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, number);
    fields_string(&out, FILE_NAME, name);
    fields_number(&out, FILE_BLOCK_SIZE, 4096);
    fields_end(&out);
    chunk->used = (uint32_t)(out.at - image_payload(chunk));
}

// `count` calls of `size` bytes one after the other, each 10 ns after the last and 5 ns long.
static inline void image_put_run(struct spill_chunk *chunk, uint32_t call, uint32_t file, unsigned count,
                                 uint64_t size) {
    struct stream_writer writer = {0};
    chunk->base = 1000000000;
    chunk->stream = 0;
    chunk->tid = 77;
    stream_put_start(&writer, image_payload(chunk), IMAGE_PAYLOAD, &chunk->used, chunk->base);
    stream_put_slot(&writer, 3, 1, call, file, 1, 0, 0);
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = writer.clock + 10;
        stream_put_plain(&writer, 3, i * size, size, start, start + 5);
    }
}
