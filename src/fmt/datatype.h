// Flattened MPI datatypes: the bytes of one instance and their order, as nested loops. A million rows of a block are
// one loop; only irregular types need an item for each piece.
//
//   form := item*
//   item := varint (length << 1), folded gap                                a piece of `length` bytes, not 0
//         | varint (count << 1 | 1), folded gap, folded stride, varint n, form   a loop: its body `count` times, at
//         least
//                                                                         twice, each round `stride` bytes further
//
// n is the number of all items inside the loop. An item lies `gap` bytes after the end of the item before it in its
// body. A piece ends after its last byte, a loop where its next round would begin. The first item counts from the
// body's origin. A writer joins pieces: no piece follows a piece without a gap, and no loop of a single piece has its
// length as stride.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DATATYPE_MAX_ITEMS = 4096,
    DATATYPE_MAX_DEPTH = 16,    // of loops inside each other
    DATATYPE_MAX_WORK = 1 << 20 // items written while a type is built
};

// How the program made a type; the numbers are those of the log.
enum datatype_combiner {
    DATATYPE_OTHER = 0,
    DATATYPE_NAMED = 1, // MPI_INT and the like
    DATATYPE_DUP = 2,
    DATATYPE_CONTIGUOUS = 3,
    DATATYPE_VECTOR = 4,
    DATATYPE_HVECTOR = 5,
    DATATYPE_INDEXED = 6,
    DATATYPE_HINDEXED = 7,
    DATATYPE_INDEXED_BLOCK = 8,
    DATATYPE_HINDEXED_BLOCK = 9,
    DATATYPE_STRUCT = 10,
    DATATYPE_SUBARRAY = 11,
    DATATYPE_DARRAY = 12,
    DATATYPE_RESIZED = 13,
    DATATYPE_F90 = 14, // of a given precision
    DATATYPE_COMBINERS
};

const char *datatype_combiner_name(unsigned combiner); // "vector"; "other" for an unknown one

// Items are stored one after the other, a loop before its body.
struct datatype_item {
    int64_t offset; // from the origin of its body
    uint64_t count; // of a piece: 1
    int64_t stride; // of a piece: 0
    uint64_t bytes; // of a piece: its length; of a loop: what one round moves
    uint32_t span;  // items: of a piece 1, of a loop itself and all inside
    uint32_t back;  // while a type is built: the span of the item before it in its body, 0 for the first
    uint32_t depth; // levels of loops, itself included; of a piece: 0
};

// All zero is a type without any bytes.
struct datatype {
    struct datatype_item *item;
    uint32_t items;
    uint32_t capacity;
    uint32_t last;  // while it is built: its last item at the top level
    uint32_t work;  // items written so far
    bool cut;       // it has only the first pieces
    uint64_t bytes; // of its pieces; this and the next two are set by datatype_seal
    int64_t low;    // their first byte
    int64_t high;   // the end of their last byte
    uint64_t hash;  // of everything that was added, even after the cut
};

static inline bool datatype_is_loop(const struct datatype_item *item) { return item->span > 1; }
// Whether two items are the same except for their offsets.
bool datatype_are_alike(const struct datatype_item *one, const struct datatype_item *other);

// --- building a type. Both return 0 or -ENOMEM; a type that gets too large is cut.

int datatype_add_piece(struct datatype *type, int64_t offset, uint64_t length);
// `count` instances of a sealed type, the first at `offset`, each `stride` bytes after the one before.
int datatype_add(struct datatype *type, const struct datatype *body, uint64_t count, int64_t stride, int64_t offset);
// Call it when everything is added.
void datatype_seal(struct datatype *type);
void datatype_free(struct datatype *type);

// Whether any number of instances is one piece: it starts at the origin and fills the extent.
bool datatype_is_contiguous(const struct datatype *type, int64_t extent);

// Writes the form and returns its length. `whole` is false if only the first items fit.
size_t datatype_put(const struct datatype *type, uint8_t *out, size_t room, bool *whole);
// Reads an untrusted form into `type` (all zero, or one to be reused) and seals it. ERR_FORMAT if it breaks the rules
// or exceeds 63 bits, ERR_LIMIT with too many items or levels.
int datatype_get(struct datatype *type, const uint8_t *form, size_t len);

// --- from a view to the file

struct datatype_piece {
    int64_t offset;
    uint64_t bytes;
};

// Instances of a type, end to end from the displacement on: a file view, or memory.
struct datatype_tiling {
    const struct datatype *type;
    uint64_t bytes; // of a whole instance; more than type->bytes if that is cut
    int64_t extent; // from one instance to the next
    int64_t displacement;
};

struct datatype_map {
    struct datatype_tiling tiling;
    struct datatype_piece held; // joined so far, not returned yet
    uint64_t left;              // bytes of the range that are not mapped yet
    uint64_t tile_number;       // of the instance
    uint64_t base;              // origin of the body of the next item
    uint32_t at;                // that item
    uint32_t end;               // of its body
    uint64_t skip;              // bytes of the piece before the range
    unsigned depth;
    struct { // the loops around it
        uint32_t loop;
        uint32_t end; // of the body that contains the loop, and its origin
        uint64_t base;
        uint64_t round;
    } frame[DATATYPE_MAX_DEPTH];
};

// Starts the list of pieces of `bytes` bytes from `position` on; both count only bytes that belong to the type. Pieces
// without a gap between them are joined. ERR_FORMAT if the type has no bytes or a wrong size.
int datatype_map_start(struct datatype_map *map, const struct datatype_tiling *tiling, uint64_t position,
                       uint64_t bytes);
// Returns 1 with the next piece, 0 at the end, ERR_LIMIT if the type is cut there or the offset exceeds 63 bits.
int datatype_map_next(struct datatype_map *map, struct datatype_piece *piece);
