#include <stdlib.h>
#include <string.h>

#include "replay/runner/runner.h"

static uint64_t word_at(uint64_t file, uint64_t index) {
    uint64_t word = (file << 48 ^ index) * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x2545f4914f6cdd1d);
    return (word ^ word >> 31) |
           UINT64_C(0x8080808080808080); // no zeros and no newlines, so that stdio can use it as text
}

static uint64_t file_key(uint32_t set, uint32_t member) {
    return ((uint64_t)set * UINT64_C(2654435761) ^ member) & 0xffff;
}

void data_fill(void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes) {
    unsigned char *to = data;
    uint64_t file = file_key(set, member);
    while (bytes) {
        for (; offset % 8 == 0 && bytes >= 8; to += 8, offset += 8, bytes -= 8) {
            uint64_t whole = word_at(file, offset / 8);
            memcpy(to, &whole, 8);
        }
        if (!bytes) break;
        uint64_t word = word_at(file, offset / 8), skip = offset % 8, part = 8 - skip < bytes ? 8 - skip : bytes;
        memcpy(to, (unsigned char *)&word + skip, part);
        to += part;
        offset += part;
        bytes -= part;
    }
}

// Zeros are right too: a file reads as zeros where nothing was written.
uint64_t data_wrong(const void *data, uint32_t set, uint32_t member, uint64_t offset, uint64_t bytes) {
    const unsigned char *from = data;
    uint64_t file = file_key(set, member), wrong = 0;
    while (bytes) {
        uint64_t word = word_at(file, offset / 8), skip = offset % 8, part = 8 - skip < bytes ? 8 - skip : bytes;
        static const unsigned char zeros[8];
        if (memcmp(from, (unsigned char *)&word + skip, part) && memcmp(from, zeros, part)) wrong += part;
        from += part;
        offset += part;
        bytes -= part;
    }
    return wrong;
}

static uint64_t data_of_piece(unsigned char *data, const struct replay_file *file, uint64_t offset, uint64_t bytes,
                              bool check) {
    if (check) return data_wrong(data, file->set, file->member, offset, bytes);
    data_fill(data, file->set, file->member, offset, bytes);
    return 0;
}

static uint64_t contiguous_data(void *data, const struct replay_file *file, const struct model_step *step,
                                uint64_t bytes, bool check) {
    struct datatype_map map;
    struct datatype_piece piece;
    uint64_t done = 0, wrong = 0;
    if (!step->kind->has_view || !file->mpi[step->kind->handle].has_view) {
        return data_of_piece(data, file, (uint64_t)step->op->at[AT_OFFSET], bytes, check);
    }
    if (datatype_map_start(&map, &file->mpi[step->kind->handle].view, (uint64_t)step->op->at[AT_SECOND], bytes) < 0)
        return 0;
    while (datatype_map_next(&map, &piece) == 1) {
        wrong += data_of_piece((unsigned char *)data + done, file, (uint64_t)piece.offset, piece.bytes, check);
        done += piece.bytes;
    }
    return wrong;
}

// Copies between memory with holes and contiguous bytes.
static void scatter(unsigned char *memory, unsigned char *moved, const struct model_type *type, uint64_t bytes,
                    bool back) {
    struct datatype_tiling tiling = {&type->flat, type->bytes, type->extent, 0};
    struct datatype_map map;
    struct datatype_piece piece;
    if (datatype_map_start(&map, &tiling, 0, bytes) < 0) return;
    while (datatype_map_next(&map, &piece) == 1) {
        if (back)
            memcpy(moved, memory + piece.offset, piece.bytes);
        else
            memcpy(memory + piece.offset, moved, piece.bytes);
        moved += piece.bytes;
    }
}

uint64_t data_of_step(void *data, const struct model_type *memory, const struct replay_file *file,
                      const struct model_step *step, uint64_t bytes, bool check) {
    if (!memory) return contiguous_data(data, file, step, bytes, check);
    unsigned char *moved = malloc(bytes + 1);
    if (!moved) return 0;
    if (check) scatter(data, moved, memory, bytes, true);
    uint64_t wrong = contiguous_data(moved, file, step, bytes, check);
    if (!check) scatter(data, moved, memory, bytes, false);
    free(moved);
    return wrong;
}
