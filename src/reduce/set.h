// The counters of files, reduced over some ranks: a sorted sequence of bytes that can be cut in two, sent, and merged
// with another one. An entry is a file:
//
//   entry := 8 bytes hash of the name, varint length of the body, body
//   body  := RECORD_FILE without a number, RECORD_COUNTERS with COUNTERS_RANKS for each layer
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "fmt/counters.h"
#include "fmt/fields.h"

struct reduce_set {
    struct bytes data; // entries by hash, then name
    uint64_t count;
};

// A file of this process. All but the name may be 0.
struct reduce_file {
    const char *name; // of an object: the file's name, a zero byte, the object's path
    size_t name_len;
    uint64_t device, inode;
    uint32_t block_bytes, type;
};

// While a process's own counters are collected, in any order.
struct reduce_builder {
    struct bytes data;
    struct reduce_place {
        uint64_t hash;
        size_t at, len; // of the entry
    } * place;
    size_t count;
};

// Adds a file with the counters of its layers, in ns. Each file comes once.
int reduce_builder_add(struct reduce_builder *builder, const struct reduce_file *file,
                       const struct spill_counters *layer, size_t layers, int64_t rank);
// Frees the builder.
int reduce_builder_end(struct reduce_builder *builder, struct reduce_set *set);

// Where the entries begin whose hash is not below `pivot`.
size_t reduce_set_find(const struct reduce_set *set, uint64_t pivot);
// Keeps the bytes [from, to) of the set, which are whole entries.
int reduce_set_cut(struct reduce_set *set, size_t from, size_t to);
// Adds what came from other ranks. ERR_FORMAT if it is not a set; then `set` is as before.
int reduce_set_merge(struct reduce_set *set, const uint8_t *data, size_t len);
void reduce_set_free(struct reduce_set *set);

// Reads entry after entry: 1, 0 at the end, or ERR_FORMAT.
struct reduce_entry {
    uint64_t hash;
    const uint8_t *at; // of the entry itself
    size_t len;
    struct fields_in body;
};
int reduce_entry_next(struct fields_in *in, struct reduce_entry *entry);
