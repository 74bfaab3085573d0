// Maps bytes of a view to bytes of the file. Origins are sums modulo 2^64: a loop may begin anywhere if its pieces are
// within 63 bits, which datatype_get and start_tile check.
#include "base/err.h"
#include "fmt/datatype.h"

static const struct datatype_item *item_of(const struct datatype_map *map) { return &map->tiling.type->item[map->at]; }

static int start_tile(struct datatype_map *map, uint64_t number) {
    const struct datatype_tiling *tiling = &map->tiling;
    int64_t tile, low, high;
    RETURN_IF(number > INT64_MAX || __builtin_mul_overflow((int64_t)number, tiling->extent, &tile), ERR_LIMIT);
    RETURN_IF(__builtin_add_overflow(tile, tiling->displacement, &tile), ERR_LIMIT);
    RETURN_IF(__builtin_add_overflow(tile, tiling->type->low, &low), ERR_LIMIT);
    RETURN_IF(__builtin_add_overflow(tile, tiling->type->high, &high), ERR_LIMIT);
    map->tile_number = number;
    map->base = (uint64_t)tile;
    map->at = 0;
    map->end = tiling->type->items;
    map->depth = 0;
    return 0;
}

static void enter_loop(struct datatype_map *map, uint64_t round) {
    const struct datatype_item *loop = item_of(map);
    map->frame[map->depth].loop = map->at;
    map->frame[map->depth].end = map->end;
    map->frame[map->depth].round = round;
    map->frame[map->depth].base = map->base;
    map->depth++;
    map->base += (uint64_t)loop->offset + round * (uint64_t)loop->stride;
    map->end = map->at + loop->span;
    map->at++;
}

// Goes to the byte at `position` of the instance, which exists.
static void seek(struct datatype_map *map, uint64_t position) {
    for (;;) {
        const struct datatype_item *item = item_of(map);
        if (position >= item->count * item->bytes) {
            position -= item->count * item->bytes;
            map->at += item->span;
        } else if (datatype_is_loop(item)) {
            enter_loop(map, position / item->bytes);
            position %= item->bytes;
        } else {
            map->skip = position;
            return;
        }
    }
}

// Goes to the next item: into the next round of the loop around it, or out of that loop.
static void step(struct datatype_map *map) {
    map->at++;
    while (map->depth && map->at == map->end) {
        map->depth--;
        map->at = map->frame[map->depth].loop;
        map->end = map->frame[map->depth].end;
        map->base = map->frame[map->depth].base;
        if (map->frame[map->depth].round + 1 < item_of(map)->count) {
            enter_loop(map, map->frame[map->depth].round + 1);
        } else {
            map->at += item_of(map)->span;
        }
    }
}

int datatype_map_start(struct datatype_map *map, const struct datatype_tiling *tiling, uint64_t position,
                       uint64_t bytes) {
    const struct datatype *type = tiling->type;
    *map = (struct datatype_map){.tiling = *tiling, .left = bytes};
    if (bytes == 0) return 0;
    RETURN_IF(tiling->bytes == 0 || (type->cut ? type->bytes > tiling->bytes : type->bytes != tiling->bytes),
              ERR_FORMAT);
    if (datatype_is_contiguous(type, tiling->extent)) {
        RETURN_IF(position > INT64_MAX || bytes > INT64_MAX, ERR_LIMIT);
        RETURN_IF(__builtin_add_overflow(tiling->displacement, (int64_t)position, &map->held.offset), ERR_LIMIT);
        map->held.bytes = bytes;
        map->left = 0;
        return 0;
    }
    uint64_t in_tile = position % tiling->bytes;
    RETURN_IF(in_tile >= type->bytes, ERR_LIMIT);
    FORWARD(start_tile(map, position / tiling->bytes));
    seek(map, in_tile);
    return 0;
}

static int next_unjoined(struct datatype_map *map, struct datatype_piece *piece) {
    if (map->left == 0) return 0;
    if (map->at == map->end) {
        RETURN_IF(map->tiling.type->cut, ERR_LIMIT);
        FORWARD(start_tile(map, map->tile_number + 1));
    }
    while (datatype_is_loop(item_of(map))) enter_loop(map, 0);
    const struct datatype_item *item = item_of(map);
    piece->offset = (int64_t)(map->base + (uint64_t)item->offset + map->skip);
    piece->bytes = item->bytes - map->skip < map->left ? item->bytes - map->skip : map->left;
    map->skip = 0;
    map->left -= piece->bytes;
    step(map);
    return 1;
}

int datatype_map_next(struct datatype_map *map, struct datatype_piece *piece) {
    struct datatype_piece next;
    int more;
    while ((more = next_unjoined(map, &next)) > 0) {
        struct datatype_piece held = map->held;
        if (held.bytes && (uint64_t)held.offset + held.bytes == (uint64_t)next.offset) {
            map->held.bytes += next.bytes;
        } else {
            map->held = next;
            if (!held.bytes) continue;
            *piece = held;
            return 1;
        }
    }
    if (!map->held.bytes) return more;
    *piece = map->held;
    map->held.bytes = 0;
    return 1;
}
