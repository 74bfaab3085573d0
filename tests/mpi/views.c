// File views of every kind of datatype, each in a file of its own for each rank: two and a half instances are written
// through it. A memory type with gaps, and hints. test_views.py knows what the log must say.
//
//   NAME.RANK.dat    written through the view of that name; byte n of the view has value(n)
//   NAME.RANK.txt    where MPI says that each element of the view lies: MPI_File_get_byte_offset
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

enum { DISPLACEMENT = 24, IRREGULAR = 6000, REGULAR = 1000 };

struct view {
    const char *name;
    MPI_Datatype (*make)(int rank);
    MPI_Datatype element;
};

static unsigned char value(size_t place) { return (unsigned char)(place % 251 + 1); }

// --- the types

static MPI_Datatype make_plain(int rank) {
    MPI_Datatype type;
    (void)rank;
    MUST(MPI_Type_dup(MPI_INT, &type));
    return type;
}

static MPI_Datatype make_contiguous(int rank) {
    MPI_Datatype type;
    MUST(MPI_Type_contiguous(6 + rank, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_block(int rank) {
    int all[] = {4, 6, 8}, part[] = {2, 3, 4}, start[] = {1, 2, 4 - 2 * rank};
    MPI_Datatype type;
    MUST(MPI_Type_create_subarray(3, all, part, start, MPI_ORDER_C, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_fortran_block(int rank) {
    int all[] = {4, 6, 8}, part[] = {2, 6, 4}, start[] = {rank, 0, 3};
    MPI_Datatype type;
    MUST(MPI_Type_create_subarray(3, all, part, start, MPI_ORDER_FORTRAN, MPI_INT, &type));
    return type;
}

// Rows of blocks, several of them: what BT-IO calls a nested strided view.
static MPI_Datatype make_nested(int rank) {
    MPI_Datatype row, type;
    MUST(MPI_Type_vector(4, 2, 8, MPI_INT, &row));
    MUST(MPI_Type_create_hvector(3, 1, 512 + 4 * rank, row, &type));
    MUST(MPI_Type_free(&row));
    return type;
}

static MPI_Datatype make_darray(int rank) {
    int sizes[] = {10, 7, 6}, grid[] = {2, 1, 1};
    int how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    int arguments[] = {3, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype type;
    MUST(MPI_Type_create_darray(2, rank, 3, sizes, how, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_fortran_darray(int rank) {
    int sizes[] = {9, 8}, grid[] = {1, 2}, how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 5};
    MPI_Datatype type;
    MUST(MPI_Type_create_darray(2, rank, 2, sizes, how, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_indexed(int rank) {
    int lengths[] = {2, 0, 3, 1, 4}, places[] = {1, 5, 5, 8 + rank, 20};
    MPI_Datatype type;
    MUST(MPI_Type_indexed(5, lengths, places, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_hindexed(int rank) {
    int lengths[] = {1, 2};
    MPI_Aint places[] = {4, 64 + 8 * rank};
    MPI_Datatype pair, type;
    MUST(MPI_Type_vector(2, 1, 3, MPI_INT, &pair));
    MUST(MPI_Type_create_hindexed(2, lengths, places, pair, &type));
    MUST(MPI_Type_free(&pair));
    return type;
}

static MPI_Datatype make_indexed_block(int rank) {
    int places[] = {0, 4, 9, 11 + rank};
    MPI_Datatype type;
    MUST(MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_hindexed_block(int rank) {
    MPI_Aint places[] = {0, 40, 88 + 4 * rank};
    MPI_Datatype type;
    MUST(MPI_Type_create_hindexed_block(3, 3, places, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_struct(int rank) {
    int lengths[] = {2, 1, 3};
    MPI_Aint places[] = {0, 16, 120};
    MPI_Datatype strided, type;
    MUST(MPI_Type_vector(3, 1, 4 + rank, MPI_INT, &strided));
    MPI_Datatype parts[] = {MPI_INT, strided, MPI_INT};
    MUST(MPI_Type_create_struct(3, lengths, places, parts, &type));
    MUST(MPI_Type_free(&strided));
    return type;
}

static MPI_Datatype make_resized(int rank) {
    MPI_Datatype strided, type;
    MUST(MPI_Type_vector(2, 2, 3, MPI_INT, &strided));
    MUST(MPI_Type_create_resized(strided, 0, 48 + 16 * rank, &type));
    MUST(MPI_Type_free(&strided));
    return type;
}

static MPI_Datatype make_regular(int rank) {
    int places[REGULAR];
    MPI_Datatype type;
    for (int i = 0; i < REGULAR; i++) places[i] = i * (3 + rank);
    MUST(MPI_Type_create_indexed_block(REGULAR, 1, places, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_irregular(int rank) {
    int *lengths = example_memory(IRREGULAR * sizeof *lengths), *places = example_memory(IRREGULAR * sizeof *places);
    MPI_Datatype type;
    for (int i = 0, place = 0; i < IRREGULAR; i++) {
        lengths[i] = 1 + i % 3;
        places[i] = place;
        place += lengths[i] + 1 + (i * i + rank) % 7;
    }
    MUST(MPI_Type_indexed(IRREGULAR, lengths, places, MPI_INT, &type));
    free(lengths);
    free(places);
    return type;
}

static MPI_Datatype make_pairs(int rank) {
    MPI_Datatype type;
    MUST(MPI_Type_vector(3, 1, 2 + rank, MPI_SHORT_INT, &type));
    return type;
}

#if MPI_VERSION >= 4
static MPI_Datatype make_large_nested(int rank) {
    MPI_Datatype row, type;
    MUST(MPI_Type_vector_c(4, 2, 8, MPI_INT, &row));
    MUST(MPI_Type_create_hvector_c(3, 1, 512 + 4 * rank, row, &type));
    MUST(MPI_Type_free(&row));
    return type;
}

static MPI_Datatype make_large_block(int rank) {
    MPI_Count all[] = {4, 6, 8}, part[] = {2, 3, 4}, start[] = {1, 2, 4 - 2 * rank};
    MPI_Datatype type;
    MUST(MPI_Type_create_subarray_c(3, all, part, start, MPI_ORDER_C, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_large_darray(int rank) {
    MPI_Count sizes[] = {9, 8};
    int grid[] = {1, 2}, how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 5};
    MPI_Datatype type;
    MUST(MPI_Type_create_darray_c(2, rank, 2, sizes, how, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type));
    return type;
}

static MPI_Datatype make_large_struct(int rank) {
    MPI_Count lengths[] = {2, 1, 3}, places[] = {0, 16, 120}, where[] = {0, 3};
    MPI_Datatype strided, listed, type;
    MUST(MPI_Type_vector_c(3, 1, 4 + rank, MPI_INT, &strided));
    MUST(MPI_Type_indexed_c(2, lengths, where, MPI_INT, &listed));
    MPI_Datatype parts[] = {MPI_INT, strided, listed};
    MUST(MPI_Type_create_struct_c(3, lengths, places, parts, &type));
    MUST(MPI_Type_free(&strided));
    MUST(MPI_Type_free(&listed));
    return type;
}
#endif

static const struct view views[] = {
    {"plain", make_plain, MPI_INT},
    {"contiguous", make_contiguous, MPI_INT},
    {"block", make_block, MPI_INT},
    {"fortran_block", make_fortran_block, MPI_INT},
    {"nested", make_nested, MPI_INT},
    {"darray", make_darray, MPI_INT},
    {"fortran_darray", make_fortran_darray, MPI_INT},
    {"indexed", make_indexed, MPI_INT},
    {"hindexed", make_hindexed, MPI_INT},
    {"indexed_block", make_indexed_block, MPI_INT},
    {"hindexed_block", make_hindexed_block, MPI_INT},
    {"struct", make_struct, MPI_INT},
    {"resized", make_resized, MPI_INT},
    {"regular", make_regular, MPI_INT},
    {"irregular", make_irregular, MPI_INT},
};

static const struct view view_of_pairs = {"pairs", make_pairs, MPI_SHORT_INT};

// --- using them

static MPI_File open_own(const struct example *self, const char *name, MPI_Info info) {
    MPI_File file;
    char *path = example_path(self, name, self->rank);
    MUST(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    free(path);
    return file;
}

static void note_places(const struct example *self, const struct view *view, MPI_File file, int elements) {
    char name[64];
    snprintf(name, sizeof name, "%s.%d.txt", view->name, self->rank);
    FILE *out = fopen(name, "w");
    must(out, "fopen");
    for (int i = 0; i < elements; i++) {
        MPI_Offset place;
        MUST(MPI_File_get_byte_offset(file, i, &place));
        fprintf(out, "%lld\n", (long long)place);
    }
    must(fclose(out) == 0, "fclose");
}

static void use(const struct example *self, const struct view *view) {
    MPI_Datatype type = view->make(self->rank);
    int size, element_size;
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_size(type, &size));
    MUST(MPI_Type_size(view->element, &element_size));
    int elements = size / element_size * 5 / 2;
    size_t bytes = (size_t)elements * (size_t)element_size;
    unsigned char *data = example_memory(bytes);
    for (size_t i = 0; i < bytes; i++) data[i] = value(i);
    MPI_File file = open_own(self, view->name, MPI_INFO_NULL);
    MUST(MPI_File_set_view(file, DISPLACEMENT, view->element, type, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&type));
    MUST(MPI_File_write_at(file, 0, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    note_places(self, view, file, elements);
    MUST(MPI_File_close(&file));
    free(data);
}

// Every third number of an array, in all the ways of writing; then types one after the other that may have one handle.
static void use_memory_types(const struct example *self) {
    int data[64];
    MPI_Datatype type;
    MPI_Request request;
    MPI_File file = open_own(self, "memory", MPI_INFO_NULL);
    for (int i = 0; i < 64; i++) data[i] = i;
    MUST(MPI_Type_vector(5, 1, 3, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_File_write(file, data, 1, type, MPI_STATUS_IGNORE));
    MUST(MPI_File_write(file, data, 4, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_write_at_all(file, 100, data, 2, type, MPI_STATUS_IGNORE));
    MUST(MPI_File_iwrite_at(file, 200, data, 1, type, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_File_write_at_all_begin(file, 300, data, 1, type));
    MUST(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
    MUST(MPI_Type_free(&type));
    for (int gap = 2; gap < 6; gap++) {
        MUST(MPI_Type_vector(gap, 1, gap, MPI_INT, &type));
        MUST(MPI_Type_commit(&type));
        MUST(MPI_File_write_at(file, 400, data, 1, type, MPI_STATUS_IGNORE));
        MUST(MPI_Type_free(&type));
    }
    MUST(MPI_Type_contiguous(5, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_File_write_at(file, 500, data, 2, type, MPI_STATUS_IGNORE));
    MUST(MPI_Type_free(&type));
    MUST(MPI_File_close(&file));
}

#if MPI_VERSION >= 4
// Types made with large counts. MPICH 4.0 cannot return their contents: nothing is written.
static void use_large_types(const struct example *self) {
    MPI_Datatype (*const make[])(int) = {make_large_nested, make_large_block, make_large_darray, make_large_struct};
    int data[4] = {0};
    MPI_File file = open_own(self, "large", MPI_INFO_NULL);
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        MPI_Datatype type = make[i](self->rank);
        MUST(MPI_Type_commit(&type));
        MUST(MPI_File_write_at(file, 0, data, 0, type, MPI_STATUS_IGNORE));
        MUST(MPI_Type_free(&type));
    }
    MUST(MPI_File_close(&file));
}
#endif

static void use_hints(const struct example *self) {
    MPI_Info info;
    MPI_File file;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "cb_nodes", "1"));
    MUST(MPI_Info_set(info, "romio_ds_write", "disable"));
    MUST(MPI_Info_set(info, "of no MPI", "a \"value\""));
    char *path = example_path(self, "hints", -1);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file));
    free(path);
    MUST(MPI_Info_free(&info));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "cb_buffer_size", "65536"));
    MUST(MPI_File_set_info(file, info));
    MUST(MPI_Info_set(info, "cb_buffer_size", "131072"));
    MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    MUST(MPI_Info_free(&info));
    MUST(MPI_File_close(&file));
}

// A null type and a wrong file view are errors that the program gets.
static void use_mistakes(const struct example *self) {
    int data[4] = {0};
    MPI_File file = open_own(self, "mistakes", MPI_INFO_NULL);
    must(MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS, "no error");
    must(MPI_File_set_view(file, 0, MPI_INT, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL) != MPI_SUCCESS, "no error");
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv) {
    struct example self = {0};
    bool pairs = false;
    const struct example_option options[] = {
        {"pairs", OPTION_FLAG, &pairs, "also a type of MPI's own that has a gap, on which ROMIO aborts", NULL}, {0}};
    example_start(&self, &argc, &argv, "Uses file views of all kinds of datatypes.", options);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) use(&self, &views[i]);
    if (pairs) use(&self, &view_of_pairs);
    use_memory_types(&self);
#if MPI_VERSION >= 4
    use_large_types(&self);
#endif
    use_hints(&self);
    use_mistakes(&self);
    return example_end(&self);
}
