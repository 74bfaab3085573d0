// A hash map from 64-bit keys to small numbers; every key may occur, 0 too.
#ifndef IOSEER_PACK_ID_MAP_H
#define IOSEER_PACK_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct id_map_entry;

struct id_map {
    struct id_map_entry *entry;
    size_t capacity; // a power of two
    size_t count;
};

// The number kept under the key; 0 where there is none.
uint32_t id_map_find(const struct id_map *map, uint64_t key);

// Keeps `id` (not 0) under the key, instead of what was there.
int id_map_set(struct id_map *map, uint64_t key, uint32_t id);

void id_map_free(struct id_map *map);

#endif
