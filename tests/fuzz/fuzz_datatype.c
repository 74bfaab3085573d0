// Flattened datatypes: reads a form of any bytes, writes it again and maps it to a file.
#include <stdlib.h>

#include "fmt/datatype.h"
#include "fuzz.h"

enum { MAX_PIECES = 1000 };

static void map_range(const struct datatype *type, int64_t extent, uint64_t position) {
    const struct datatype_tiling tiling = {type, type->bytes, extent, 1000};
    struct datatype_map map;
    struct datatype_piece piece;
    if (datatype_map_start(&map, &tiling, position, 1 << 20) != 0) return;
    for (unsigned i = 0; i < MAX_PIECES && datatype_map_next(&map, &piece) == 1; i++) {
        if (piece.bytes == 0 || piece.bytes > 1 << 20) abort();
    }
}

static void write_again(const struct datatype *type) {
    static uint8_t form[DATATYPE_MAX_ITEMS * 50];
    struct datatype again = {0};
    bool whole;
    size_t len = datatype_put(type, form, sizeof form, &whole);
    if (!whole || datatype_get(&again, form, len) != 0 || again.bytes != type->bytes) abort();
    datatype_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct datatype type = {0};
    if (datatype_get(&type, data, len) == 0) {
        write_again(&type);
        map_range(&type, type.high, 0);
        map_range(&type, type.low, type.bytes / 2);
        map_range(&type, INT64_MAX, type.bytes * 3);
    }
    datatype_free(&type);
    return 0;
}
