#include "pack/id_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

struct id_map_entry {
    uint64_t key;
    uint32_t id; // 0 marks a free place
};

// Spreads keys that count up (file numbers, stream numbers) as well as hashes.
static size_t place_of(uint64_t key, size_t capacity)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key >> 32) & (capacity - 1);
}

static struct id_map_entry *lookup(const struct id_map *map, uint64_t key)
{
    size_t at = place_of(key, map->capacity);
    while (map->entry[at].id && map->entry[at].key != key) at = (at + 1) & (map->capacity - 1);
    return &map->entry[at];
}

uint32_t id_map_find(const struct id_map *map, uint64_t key)
{
    return map->capacity ? lookup(map, key)->id : 0;
}

static int grow(struct id_map *map)
{
    struct id_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
    bigger.entry = calloc(bigger.capacity, sizeof *bigger.entry);
    RETURN_IF(!bigger.entry, -ENOMEM);
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entry[i].id) *lookup(&bigger, map->entry[i].key) = map->entry[i];
    }
    free(map->entry);
    *map = bigger;
    return 0;
}

int id_map_set(struct id_map *map, uint64_t key, uint32_t id)
{
    if (map->count * 4 >= map->capacity * 3) FORWARD(grow(map));
    struct id_map_entry *entry = lookup(map, key);
    map->count += entry->id == 0;
    *entry = (struct id_map_entry){.key = key, .id = id};
    return 0;
}

void id_map_free(struct id_map *map)
{
    free(map->entry);
    *map = (struct id_map){0};
}
