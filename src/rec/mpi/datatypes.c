// Flattens datatypes. MPI tells how each type was made (envelope and contents), down to the predefined types.
#include <stdlib.h>
#include <string.h>

#include "fmt/datatype.h"
#include "fmt/fields.h"
#include "rec/mpi/plugin.h"

enum {
    MOST_NUMBERS = 1 << 20, // arguments that a type was made with; larger types are cut
    MOST_LEVELS = 64,       // of types made of types
    MOST_DIMENSIONS = 64,
    CACHE = 64,
    FORM_BYTES = 32 << 10,
    FIELDS_BYTES = FORM_BYTES + 1024,
};

// Types that were flattened, by handle.
static struct {
    uint64_t key; // 0 for none
    struct mpi_type type;
} cache[CACHE];
static _Atomic uint32_t cache_lock;

// --- how a type was made

struct making {
    int combiner; // MPI_COMBINER_…
    bool is_known;
    bool is_large; // counts and displacements are in `count`
    MPI_Count integers, addresses, counts, types;
    int *integer;
    MPI_Aint *address;
    MPI_Count *count;
    MPI_Datatype *type;
    void *memory;
};

static bool ask_envelope(MPI_Datatype type, struct making *making) {
#if MPI_VERSION >= 4
    if (plugin.mpi.Type_get_envelope_c && plugin.mpi.Type_get_contents_c) {
        return plugin.mpi.Type_get_envelope_c(type, &making->integers, &making->addresses, &making->counts,
                                              &making->types, &making->combiner) == MPI_SUCCESS;
    }
#endif
    int integers, addresses, types;
    if (plugin.mpi.Type_get_envelope(type, &integers, &addresses, &types, &making->combiner) != MPI_SUCCESS)
        return false;
    making->integers = integers;
    making->addresses = addresses;
    making->types = types;
    return true;
}

static bool ask_contents(MPI_Datatype type, struct making *making) {
#if MPI_VERSION >= 4
    if (plugin.mpi.Type_get_envelope_c && plugin.mpi.Type_get_contents_c) {
        return plugin.mpi.Type_get_contents_c(type, making->integers, making->addresses, making->counts, making->types,
                                              making->integer, making->address, making->count,
                                              making->type) == MPI_SUCCESS;
    }
#endif
    return plugin.mpi.Type_get_contents(type, (int)making->integers, (int)making->addresses, (int)making->types,
                                        making->integer, making->address, making->type) == MPI_SUCCESS;
}

static bool is_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

// Gets the arguments that a type was made with. Predefined types have none, and MPI must not be asked for them.
static struct making making_of(MPI_Datatype type) {
    struct making making = {0};
    if (!ask_envelope(type, &making) || is_predefined(making.combiner)) return making;
    MPI_Count numbers = making.integers + making.addresses + making.counts + making.types;
    if (numbers > MOST_NUMBERS) return making;
    making.memory = malloc((size_t)(numbers + 1) * sizeof(MPI_Count));
    if (!making.memory) return making;
    making.count = making.memory;
    making.address = (MPI_Aint *)(making.count + making.counts);
    making.type = (MPI_Datatype *)(making.address + making.addresses);
    making.integer = (int *)(making.type + making.types);
    making.is_large = making.counts > 0;
    making.is_known = ask_contents(type, &making);
    return making;
}

// The i-th of the counts, and of the displacements, which follow `before` counts.
static int64_t number_at(const struct making *making, int64_t i) {
    return making->is_large ? making->count[i] : making->integer[i];
}

static int64_t address_at(const struct making *making, int64_t before, int64_t i) {
    return making->is_large ? making->count[before + i] : making->address[i];
}

// --- flattening. Functions return 0 or -ENOMEM.

struct part { // a type that another one is made of
    struct datatype flat;
    int64_t extent;
    bool is_predefined;
};

static int flatten(MPI_Datatype type, unsigned level, struct part *part);

static uint64_t size_of(MPI_Datatype type) {
    MPI_Count bytes = 0;
    return plugin.mpi.Type_size_x(type, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
}

static int64_t times(struct datatype *flat, int64_t one, int64_t other) {
    int64_t product = 0;
    if (__builtin_mul_overflow(one, other, &product)) flat->cut = true;
    return product;
}

static bool has_name(MPI_Datatype type, const char *name) {
    char text[MPI_MAX_OBJECT_NAME] = "";
    int len = 0;
    return plugin.mpi.Type_get_name(type, text, &len) == MPI_SUCCESS && strcmp(text, name) == 0;
}

// A predefined type: one piece, if that is possible.
static int flatten_leaf(MPI_Datatype type, struct datatype *flat) {
    MPI_Count low = 0, extent = 0;
    uint64_t bytes = size_of(type);
    plugin.mpi.Type_get_true_extent_x(type, &low, &extent);
    if ((uint64_t)extent == bytes) return datatype_add_piece(flat, low, bytes);
    if (has_name(type, "MPI_SHORT_INT")) { // the only one with a gap inside
        int code = datatype_add_piece(flat, 0, sizeof(short));
        return code ? code : datatype_add_piece(flat, extent - (MPI_Count)sizeof(int), sizeof(int));
    }
    flat->cut = bytes > 0;
    return 0;
}

static int add_block(struct datatype *flat, const struct part *part, int64_t count, int64_t offset) {
    return count > 0 ? datatype_add(flat, &part->flat, (uint64_t)count, part->extent, offset) : 0;
}

// `count` blocks at a constant stride, in bytes.
static int add_blocks(struct datatype *flat, const struct part *part, int64_t count, int64_t block, int64_t stride) {
    struct datatype one = {0};
    int code = add_block(&one, part, block, 0);
    datatype_seal(&one);
    if (code == 0 && count > 0) code = datatype_add(flat, &one, (uint64_t)count, stride, 0);
    datatype_free(&one);
    return code;
}

// Blocks of one or several lengths at displacements in bytes or in extents.
static int add_list(struct datatype *flat, const struct making *making, const struct part *part, bool same_length,
                    bool in_bytes) {
    int64_t count = number_at(making, 0), before = same_length ? 2 : 1 + count;
    int code = 0;
    for (int64_t i = 0; i < count && code == 0; i++) {
        int64_t length = number_at(making, same_length ? 1 : 1 + i);
        int64_t offset =
            in_bytes ? address_at(making, before, i) : times(flat, number_at(making, before + i), part->extent);
        code = add_block(flat, part, length, offset);
    }
    return code;
}

// --- arrays

// One dimension of a block out of an array: repeats what is inside it, `stride` bytes apart.
struct dimension {
    int64_t all, first, count;   // elements of the array, of the part
    int64_t every, rounds, rest; // of a cyclic distribution: the part repeats, then its first `rest` elements follow
};

static int add_dimension(const struct dimension *dimension, struct datatype *inside, int64_t stride) {
    struct datatype block = {0}, all = {0};
    int64_t first = times(&all, dimension->first, stride), every = times(&all, dimension->every, stride);
    int64_t rest_at = times(&all, every, dimension->rounds);
    int code = dimension->count > 0 ? datatype_add(&block, inside, (uint64_t)dimension->count, stride, 0) : 0;
    datatype_seal(&block);
    if (code == 0 && dimension->rounds > 0) {
        code = datatype_add(&all, &block, (uint64_t)dimension->rounds, every, first);
    }
    if (code == 0 && dimension->rest > 0 && !__builtin_add_overflow(first, rest_at, &rest_at)) {
        code = datatype_add(&all, inside, (uint64_t)dimension->rest, stride, rest_at);
    }
    datatype_seal(&all);
    datatype_free(&block);
    datatype_free(inside);
    *inside = all;
    return code;
}

// Goes from the fastest dimension to the slowest.
static int add_array(struct datatype *flat, const struct part *part, const struct dimension *dimension, int dimensions,
                     bool is_fortran) {
    struct datatype inside = {0};
    int64_t stride = part->extent;
    int code = add_block(&inside, part, 1, 0);
    datatype_seal(&inside);
    for (int i = 0; i < dimensions && code == 0; i++) {
        const struct dimension *own = &dimension[is_fortran ? i : dimensions - 1 - i];
        code = add_dimension(own, &inside, stride);
        stride = times(&inside, stride, own->all);
    }
    if (code == 0) code = datatype_add(flat, &inside, 1, 0, 0);
    datatype_free(&inside);
    return code;
}

static int add_subarray(struct datatype *flat, const struct making *making, const struct part *part) {
    struct dimension dimension[MOST_DIMENSIONS];
    int dimensions = making->integer[0];
    int64_t sizes = making->is_large ? 0 : 1; // where they begin
    int order = making->integer[making->is_large ? 1 : 1 + 3 * dimensions];
    if (dimensions > MOST_DIMENSIONS) {
        flat->cut = true;
        return 0;
    }
    for (int i = 0; i < dimensions; i++) {
        dimension[i] = (struct dimension){.all = number_at(making, sizes + i),
                                          .count = number_at(making, sizes + dimensions + i),
                                          .first = number_at(making, sizes + 2 * dimensions + i),
                                          .rounds = 1};
    }
    return add_array(flat, part, dimension, dimensions, order == MPI_ORDER_FORTRAN);
}

// The part of a dimension that the process at `place` of `places` has.
static struct dimension distribute(int64_t all, int kind, int argument, int64_t places, int64_t place) {
    struct dimension dimension = {.all = all, .rounds = 1};
    bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == MPI_DISTRIBUTE_CYCLIC) {
        dimension.count = is_default ? 1 : argument;
        dimension.every = dimension.count * places;
        dimension.first = dimension.count * place;
        int64_t left = all > dimension.first ? all - dimension.first : 0;
        dimension.rounds = left / dimension.every;
        dimension.rest = left % dimension.every;
        if (dimension.rest >= dimension.count) { // one whole block more
            dimension.rounds++;
            dimension.rest = 0;
        }
        return dimension;
    }
    if (kind == MPI_DISTRIBUTE_NONE) places = 1, place = 0;
    int64_t block = is_default || kind == MPI_DISTRIBUTE_NONE ? (all + places - 1) / places : argument;
    dimension.first = block * place;
    int64_t left = all > dimension.first ? all - dimension.first : 0;
    dimension.count = left < block ? left : block;
    return dimension;
}

static int add_darray(struct datatype *flat, const struct making *making, const struct part *part) {
    struct dimension dimension[MOST_DIMENSIONS];
    int places = making->integer[0], rank = making->integer[1], dimensions = making->integer[2];
    const int *kind = making->integer + 3 + (making->is_large ? 0 : dimensions);
    const int *argument = kind + dimensions, *grid = argument + dimensions;
    if (dimensions > MOST_DIMENSIONS) {
        flat->cut = true;
        return 0;
    }
    for (int i = 0; i < dimensions; i++) { // ranks are in C order in the grid, whatever the order of the array
        places /= grid[i];
        int64_t all = making->is_large ? making->count[i] : making->integer[3 + i];
        dimension[i] = distribute(all, kind[i], argument[i], grid[i], rank / places);
        rank %= places;
    }
    return add_array(flat, part, dimension, dimensions, grid[dimensions] == MPI_ORDER_FORTRAN);
}

// --- all of them

static int add_made_of_one(struct datatype *flat, const struct making *making, const struct part *part) {
    int64_t extent = part->extent;
    switch (making->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return add_block(flat, part, 1, 0);
    case MPI_COMBINER_CONTIGUOUS: return add_block(flat, part, number_at(making, 0), 0);
    case MPI_COMBINER_VECTOR:
        return add_blocks(flat, part, number_at(making, 0), number_at(making, 1),
                          times(flat, number_at(making, 2), extent));
    case MPI_COMBINER_HVECTOR:
        return add_blocks(flat, part, number_at(making, 0), number_at(making, 1), address_at(making, 2, 0));
    case MPI_COMBINER_INDEXED: return add_list(flat, making, part, false, false);
    case MPI_COMBINER_HINDEXED: return add_list(flat, making, part, false, true);
    case MPI_COMBINER_INDEXED_BLOCK: return add_list(flat, making, part, true, false);
    case MPI_COMBINER_HINDEXED_BLOCK: return add_list(flat, making, part, true, true);
    case MPI_COMBINER_SUBARRAY: return add_subarray(flat, making, part);
    case MPI_COMBINER_DARRAY: return add_darray(flat, making, part);
    default: flat->cut = true; return 0;
    }
}

// The caller must free each type that MPI returned, except predefined ones.
static void free_type(MPI_Datatype type, const struct part *part) {
    int (*real)(MPI_Datatype *) = plugin.real[SLOT_PMPI_Type_free];
    if (!part->is_predefined) real(&type);
}

static int add_parts(struct datatype *flat, const struct making *making, unsigned level) {
    struct part part = {0};
    int code = 0;
    for (MPI_Count i = 0; i < making->types; i++) {
        if (i == 0 || making->type[i] != making->type[i - 1]) {
            datatype_free(&part.flat);
            int failed = flatten(making->type[i], level, &part);
            if (code == 0) code = failed;
        }
        if (code == 0 && making->combiner == MPI_COMBINER_STRUCT) {
            code = add_block(flat, &part, number_at(making, 1 + i), address_at(making, 1 + making->types, i));
        } else if (code == 0) {
            code = add_made_of_one(flat, making, &part);
        }
        free_type(making->type[i], &part);
    }
    datatype_free(&part.flat);
    return code;
}

static int flatten(MPI_Datatype type, unsigned level, struct part *part) {
    MPI_Count low = 0, extent = 0;
    struct making making = making_of(type);
    int code = 0;
    plugin.mpi.Type_get_extent_x(type, &low, &extent);
    *part = (struct part){.extent = extent, .is_predefined = is_predefined(making.combiner)};
    if (part->is_predefined) {
        code = flatten_leaf(type, &part->flat);
    } else if (making.is_known && level < MOST_LEVELS) {
        code = add_parts(&part->flat, &making, level + 1);
    } else {
        part->flat.cut = true;
    }
    datatype_seal(&part->flat);
    free(making.memory);
    return code;
}

static enum datatype_combiner combiner_of(MPI_Datatype type) {
#define ROW(name)                                                                                                      \
    { MPI_COMBINER_##name, DATATYPE_##name }
    static const struct {
        int mpi;
        enum datatype_combiner own;
    } rows[] = {
        ROW(NAMED),
        ROW(DUP),
        ROW(CONTIGUOUS),
        ROW(VECTOR),
        ROW(HVECTOR),
        ROW(INDEXED),
        ROW(HINDEXED),
        ROW(INDEXED_BLOCK),
        ROW(HINDEXED_BLOCK),
        ROW(STRUCT),
        ROW(SUBARRAY),
        ROW(DARRAY),
        ROW(RESIZED),
        {MPI_COMBINER_F90_REAL, DATATYPE_F90},
        {MPI_COMBINER_F90_COMPLEX, DATATYPE_F90},
        {MPI_COMBINER_F90_INTEGER, DATATYPE_F90},
    };
#undef ROW
    struct making making = {0};
    if (!ask_envelope(type, &making)) return DATATYPE_OTHER;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].mpi == making.combiner) return rows[i].own;
    }
    return DATATYPE_OTHER;
}

// --- the table

static uint32_t describe(MPI_Datatype type, const struct mpi_type *facts, const struct datatype *flat) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int name_len = 0;
    bool whole;
    uint8_t *fields = plugin_scratch();
    if (!fields) return 0;
    uint8_t *form = fields + FIELDS_BYTES;
    size_t form_len = datatype_put(flat, form, FORM_BYTES, &whole);
    struct fields_out out = {.at = fields, .end = form};
    fields_number(&out, DATATYPE_BYTES, facts->bytes);
    fields_signed(&out, DATATYPE_LOWER_BOUND, facts->lower_bound);
    fields_signed(&out, DATATYPE_EXTENT, facts->extent);
    if (plugin.mpi.Type_get_name(type, name, &name_len) == MPI_SUCCESS && name[0])
        fields_string(&out, DATATYPE_NAME, name);
    fields_number(&out, DATATYPE_COMBINER, combiner_of(type));
    fields_bytes(&out, DATATYPE_FORM, form, form_len);
    if (!whole) fields_number(&out, DATATYPE_CUT, 1);
    if (!whole) fields_number(&out, DATATYPE_HASH, flat->hash);
    return out.overflow ? 0 : plugin.core->interned_number(RECORD_DATATYPE, fields, (size_t)(out.at - fields));
}

static struct mpi_type describe_type(MPI_Datatype type) {
    struct mpi_type facts = {.bytes = size_of(type)};
    MPI_Count low = 0, extent = 0;
    struct part part;
    if (plugin.mpi.Type_get_extent_x(type, &low, &extent) == MPI_SUCCESS) {
        facts.lower_bound = low;
        facts.extent = extent;
    }
    if (flatten(type, 0, &part) == 0) {
        facts.is_contiguous = datatype_is_contiguous(&part.flat, facts.extent);
        facts.number = describe(type, &facts, &part.flat);
    }
    datatype_free(&part.flat);
    return facts;
}

struct mpi_type mpi_type_of(MPI_Datatype type) {
    uint64_t key = plugin_type_key(type);
    unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15u >> 32) % CACHE;
    struct mpi_type facts;
    spin_lock_as(&cache_lock, 1);
    bool is_known = cache[at].key == key;
    facts = cache[at].type;
    spin_unlock(&cache_lock);
    if (is_known) return facts;
    facts = describe_type(type);
    spin_lock_as(&cache_lock, 1);
    cache[at].key = key;
    cache[at].type = facts;
    spin_unlock(&cache_lock);
    return facts;
}
