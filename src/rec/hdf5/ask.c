// Questions to HDF5. The ids in them are checked first: a question that fails would print.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fmt/fields.h"
#include "rec/hdf5/hdf5.h"
#include "rec/interned.h"
#include "rec/memory.h"
#include "rec/real.h"
#include "rec/spill.h"

// Functions that the recorder calls and does not export, by the names of HDF5. The last three exist with MPI only.
// clang-format off
#define QUESTIONS(ASK) \
    ASK(herr_t, H5get_libversion, unsigned *, unsigned *, unsigned *) \
    ASK(int, H5Iget_type, hid_t) ASK(int, H5Iis_valid, hid_t) \
    ASK(ssize_t, H5Iget_name, hid_t, char *, size_t) ASK(ssize_t, H5Fget_name, hid_t, char *, size_t) \
    ASK(ssize_t, H5Aget_name, hid_t, size_t, char *) ASK(hsize_t, H5Aget_storage_size, hid_t) \
    ASK(hid_t, H5Dget_type, hid_t) ASK(hid_t, H5Dget_create_plist, hid_t) \
    ASK(herr_t, H5Dget_chunk_storage_size, hid_t, const hsize_t *, hsize_t *) \
    ASK(size_t, H5Tget_size, hid_t) ASK(int, H5Tget_class, hid_t) ASK(herr_t, H5Tclose, hid_t) \
    ASK(hid_t, H5Pget_class, hid_t) ASK(char *, H5Pget_class_name, hid_t) ASK(herr_t, H5Pclose_class, hid_t) \
    ASK(herr_t, H5free_memory, void *) ASK(hid_t, H5Pget_driver, hid_t) \
    ASK(herr_t, H5Pget_alignment, hid_t, hsize_t *, hsize_t *) \
    ASK(int, H5Pget_layout, hid_t) ASK(int, H5Pget_chunk, hid_t, int, hsize_t *) \
    ASK(herr_t, H5Pget_alloc_time, hid_t, int *) ASK(herr_t, H5Pget_fill_time, hid_t, int *) \
    ASK(int, H5Pget_nfilters, hid_t) \
    ASK(int, H5Pget_filter2, hid_t, unsigned, unsigned *, size_t *, unsigned *, size_t, char *, unsigned *) \
    ASK(int, H5Sget_simple_extent_ndims, hid_t) \
    ASK(int, H5Sget_simple_extent_dims, hid_t, hsize_t *, hsize_t *) \
    ASK(hssize_t, H5Sget_select_npoints, hid_t) \
    ASK(int, H5Sget_select_type, hid_t) ASK(int, H5Sis_regular_hyperslab, hid_t) \
    ASK(hssize_t, H5Sget_select_hyper_nblocks, hid_t) \
    ASK(herr_t, H5Sget_select_bounds, hid_t, hsize_t *, hsize_t *) \
    ASK(herr_t, H5Sget_regular_hyperslab, hid_t, hsize_t *, hsize_t *, hsize_t *, hsize_t *)
#define QUESTIONS_OF_MPI(ASK) \
    ASK(herr_t, H5Pget_dxpl_mpio, hid_t, int *) \
    ASK(herr_t, H5Pget_all_coll_metadata_ops, hid_t, unsigned *) \
    ASK(herr_t, H5Pget_coll_metadata_write, hid_t, unsigned *)
// clang-format on

struct questions {
#define POINTER(type, name, ...) type (*name)(__VA_ARGS__);
    QUESTIONS(POINTER)
    QUESTIONS_OF_MPI(POINTER)
#undef POINTER
    hid_t (*mpi_driver)(void);     // NULL without MPI
    int list_type, attribute_type; // of H5Iget_type; both differ between versions
};

enum { TYPE_FILE = 1, TYPE_GROUP = 2, TYPE_DATASPACE = 4, TYPE_DATASET = 5 };
enum { LAYOUT_CHUNKED = 2, LAYOUT_VIRTUAL = 3, SELECT_NONE = 0, SELECT_POINTS = 1, SELECT_HYPERSLABS = 2 };

static const struct questions *questions(const struct hdf5_probe *p) { return p->library->state; }
static const struct hdf5_functions *functions(const struct hdf5_probe *p) { return (const void *)p->library->function; }

// Before 1.10 an id has 32 bits. 1.12 put two types of ids between the others.
static bool set_version(struct questions *ask) {
    enum { MINORS = 1000, LEAST = 1 * MINORS + 10, MORE_TYPES = 1 * MINORS + 12 };
    unsigned major = 0, minor = 0, release = 0;
    if (ask->H5get_libversion(&major, &minor, &release) < 0) return false;
    unsigned version = major * MINORS + minor;
    ask->attribute_type = version < MORE_TYPES ? 6 : 7;
    ask->list_type = version < MORE_TYPES ? 10 : 11;
    return version >= LEAST;
}

void hdf5_start(struct library *library) {
    struct questions *ask = memory_alloc(sizeof *ask);
    if (!ask) return;
    bool complete = true;
#define FIND(type, name, ...) *(void **)&ask->name = library_symbol(library, #name);
#define CHECK(type, name, ...) complete = complete && ask->name;
    QUESTIONS(FIND)
    QUESTIONS_OF_MPI(FIND)
    QUESTIONS(CHECK)
#undef FIND
#undef CHECK
    *(void **)&ask->mpi_driver = library_symbol(library, "H5FD_mpio_init");
    if (!complete || !set_version(ask)) {
        spill_count_loss(LOSS_OLD_LIBRARY, 1);
        return;
    }
    library->state = ask;
}

bool hdf5_is_valid(const struct hdf5_probe *p, hid_t id) { return questions(p)->H5Iis_valid(id) > 0; }

// --- property lists

// By the name of the class. Its id is a variable of the library, of which the program may have a copy.
static bool is_list(const struct hdf5_probe *p, hid_t list, const char *name) {
    const struct questions *ask = questions(p);
    if (list <= 0 || ask->H5Iget_type(list) != ask->list_type) return false;
    hid_t class = ask->H5Pget_class(list);
    char *found = class >= 0 ? ask->H5Pget_class_name(class) : NULL;
    bool is_same = found && !strcmp(found, name);
    if (found) ask->H5free_memory(found);
    if (class >= 0) ask->H5Pclose_class(class);
    return is_same;
}

bool hdf5_list_is_collective(struct hdf5_probe *p, hid_t list) {
    const struct questions *ask = questions(p);
    if (list <= 0) return false;
    struct hdf5_id *known = hdf5_find(p, HDF5_LIST, list);
    if (known) return known->mode;
    int mode = 0;
    if (is_list(p, list, "data transfer") && ask->H5Pget_dxpl_mpio && ask->H5Pget_dxpl_mpio(list, &mode) < 0) mode = 0;
    if ((known = hdf5_add(p, HDF5_LIST, list))) known->mode = mode;
    return mode;
}

void hdf5_ask_access(struct hdf5_probe *p, hid_t list, struct hdf5_access *access) {
    const struct questions *ask = questions(p);
    unsigned reads = 0, writes = 0;
    *access = (struct hdf5_access){.alignment_from = 1, .alignment = 1};
    if (!is_list(p, list, "file access")) return;
    if (ask->H5Pget_alignment(list, &access->alignment_from, &access->alignment) < 0) return;
    hid_t driver = ask->H5Pget_driver(list);
    access->by_mpi = ask->mpi_driver && driver == ask->mpi_driver();
    if (!access->by_mpi) return;
    if (ask->H5Pget_all_coll_metadata_ops) ask->H5Pget_all_coll_metadata_ops(list, &reads);
    if (ask->H5Pget_coll_metadata_write) ask->H5Pget_coll_metadata_write(list, &writes);
    access->collective_reads = reads & 1;
    access->collective_writes = writes & 1;
}

// --- objects

// The file and the path of an object that was opened by a call that the recorder does not see.
static struct file *ask_file(const struct hdf5_probe *p, hid_t id, bool is_attribute, bool has_path, bool *left_out) {
    enum { ROOM = 1024 };
    static const char unnamed[] = "(unnamed)";
    char text[ROOM];
    const struct questions *ask = questions(p);
    ssize_t len = ask->H5Fget_name(id, text, ROOM);
    if (len <= 0 || len >= ROOM) return NULL;
    char *name = files_borrow_buffer();
    if (!name) return NULL;
    size_t used = files_absolute(name, AT_FDCWD, text);
    struct file *file = NULL;
    *left_out = used && files_is_left_out(name);
    len = -1;
    if (used && !*left_out) len = has_path ? ask->H5Iget_name(id, text, ROOM) : (ssize_t)sizeof unnamed - 1;
    if (!has_path) memcpy(text, unnamed, sizeof unnamed);
    if (len >= 0 && len < ROOM && used + (size_t)len + 2 < FILES_NAME_MAX) {
        memcpy(name + used + 1, text, (size_t)len + 1);
        used += len ? (size_t)len + 1 : 0;
        ssize_t more = is_attribute ? ask->H5Aget_name(id, ROOM, text) : 0;
        if (more > 0 && more < ROOM && used + (size_t)more + 2 < FILES_NAME_MAX) {
            name[used] = '@';
            memcpy(name + used + 1, text, (size_t)more);
            used += (size_t)more + 1;
        }
        file = files_entry(name, used);
    }
    files_return_buffer();
    return file;
}

static struct hdf5_id *add_unseen(struct hdf5_probe *p, hid_t id, bool has_path) {
    const struct questions *ask = questions(p);
    struct hdf5_id *object;
    int type = ask->H5Iget_type(id);
    bool is_attribute = type == ask->attribute_type, left_out = false;
    if (type != TYPE_FILE && type != TYPE_GROUP && type != TYPE_DATASET && !is_attribute) return NULL;
    struct file *file = ask_file(p, id, is_attribute, has_path, &left_out);
    if (!(object = hdf5_add(p, HDF5_OBJECT, id))) return NULL;
    object->file = file;
    object->left_out = left_out;
    object->serial = handles_new_serial();
    if (type == TYPE_DATASET) hdf5_describe(p, object, false);
    if (is_attribute) hdf5_ask_attribute(p, id, NULL, 0, &object->bytes);
    return object;
}

struct hdf5_id *hdf5_object(struct hdf5_probe *p, hid_t id) {
    struct hdf5_id *object = hdf5_find(p, HDF5_OBJECT, id);
    return LIKELY(object) ? object : add_unseen(p, id, true);
}

void hdf5_add_unnamed(struct hdf5_probe *p, hid_t id) { add_unseen(p, id, false); }

bool hdf5_ask_attribute(const struct hdf5_probe *p, hid_t attribute, char *name, size_t room, uint64_t *bytes) {
    const struct questions *ask = questions(p);
    *bytes = ask->H5Aget_storage_size(attribute);
    ssize_t len = name ? ask->H5Aget_name(attribute, room, name) : -1;
    return len > 0 && (size_t)len < room;
}

uint64_t hdf5_ask_chunk_bytes(const struct hdf5_probe *p, hid_t dataset, const hsize_t *at) {
    hsize_t bytes = 0;
    return questions(p)->H5Dget_chunk_storage_size(dataset, at, &bytes) >= 0 ? bytes : 0;
}

// --- dataspaces

static void ask_hyperslab(const struct questions *ask, hid_t space, struct selection *out) {
    hsize_t start[HDF5_MAX_RANK];
    out->kind = SELECTION_IRREGULAR;
    if (ask->H5Sis_regular_hyperslab(space) > 0 &&
        ask->H5Sget_regular_hyperslab(space, start, out->stride, out->count, out->block) >= 0) {
        out->kind = SELECTION_REGULAR;
        return;
    }
    hssize_t blocks = ask->H5Sget_select_hyper_nblocks(space);
    out->blocks = blocks > 0 ? (uint64_t)blocks : 0;
}

// The bounds include the offset of H5Soffset_simple.
static void ask_bounds(const struct questions *ask, hid_t space, struct selection *out) {
    hsize_t last[HDF5_MAX_RANK];
    if (ask->H5Sget_select_bounds(space, out->start, last) < 0) memset(out->start, 0, sizeof out->start);
    for (unsigned i = 0; i < out->rank && out->kind != SELECTION_REGULAR; i++) {
        out->stride[i] = out->count[i] = 1;
        out->block[i] = last[i] - out->start[i] + 1;
    }
}

void hdf5_ask_space(const struct hdf5_probe *p, hid_t space, struct selection *out) {
    const struct questions *ask = questions(p);
    out->kind = SELECTION_UNKNOWN;
    if (ask->H5Iget_type(space) != TYPE_DATASPACE) return;
    int rank = ask->H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > HDF5_MAX_RANK || ask->H5Sget_simple_extent_dims(space, out->dims, NULL) < 0) return;
    hssize_t points = ask->H5Sget_select_npoints(space);
    out->rank = (uint8_t)rank;
    out->can_grow = false;
    out->points = points > 0 ? (uint64_t)points : 0;
    out->blocks = 0;
    switch (ask->H5Sget_select_type(space)) {
    case SELECT_NONE: out->kind = SELECTION_NONE; return;
    case SELECT_POINTS: out->kind = SELECTION_ELEMENTS; break;
    case SELECT_HYPERSLABS: ask_hyperslab(ask, space, out); break;
    default: out->kind = SELECTION_ALL; break;
    }
    if (out->kind == SELECTION_ALL ? rank > 0 : out->kind == SELECTION_REGULAR) out->points = 0;
    if (out->kind == SELECTION_ALL) return;
    if (points > 0)
        ask_bounds(ask, space, out);
    else
        out->kind = SELECTION_NONE;
}

// --- datasets

static void put_list(struct fields_out *out, unsigned key, const hsize_t *list, unsigned rank) {
    for (unsigned i = 0; i < rank; i++) fields_number(out, key, list[i]);
}

static void describe_filters(struct fields_out *out, const struct questions *ask, hid_t list) {
    enum { MOST = 32, NAME_ROOM = 64 };
    int count = ask->H5Pget_nfilters(list);
    for (int i = 0; i < count && i < MOST; i++) {
        char text[NAME_ROOM + 16], name[NAME_ROOM] = "";
        unsigned flags = 0, configuration = 0;
        size_t values = 0;
        int filter = ask->H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, NAME_ROOM, name, &configuration);
        if (filter < 0) return;
        name[NAME_ROOM - 1] = 0;
        snprintf(text, sizeof text, "%d %s", filter, name);
        fields_string(out, DATASET_FILTER, text);
    }
}

// Returns the layout.
static int describe_list(struct fields_out *out, const struct questions *ask, hid_t list) {
    hsize_t chunk[HDF5_MAX_RANK];
    int layout = ask->H5Pget_layout(list), time = 0;
    if (layout >= 0) fields_number(out, DATASET_LAYOUT, (uint64_t)layout + 1);
    if (layout == LAYOUT_CHUNKED) {
        int rank = ask->H5Pget_chunk(list, HDF5_MAX_RANK, chunk);
        put_list(out, DATASET_CHUNK, chunk, rank > 0 && rank <= HDF5_MAX_RANK ? (unsigned)rank : 0);
    }
    if (ask->H5Pget_alloc_time(list, &time) >= 0 && time > 0)
        fields_number(out, DATASET_ALLOCATION_TIME, (unsigned)time);
    if (ask->H5Pget_fill_time(list, &time) >= 0) fields_number(out, DATASET_FILL_TIME, (unsigned)time + 1);
    describe_filters(out, ask, list);
    return layout;
}

static void describe_space(struct fields_out *out, const struct hdf5_probe *p, struct hdf5_id *object) {
    hsize_t most[HDF5_MAX_RANK];
    hid_t space = functions(p)->H5Dget_space((hid_t)object->entry.id);
    if (space < 0) return;
    hdf5_ask_space(p, space, &object->space);
    if (object->space.kind == SELECTION_ALL && object->space.rank) {
        questions(p)->H5Sget_simple_extent_dims(space, object->space.dims, most);
        object->space.can_grow = most[0] != object->space.dims[0];
        put_list(out, DATASET_DIMS, object->space.dims, object->space.rank);
        put_list(out, DATASET_MAX_DIMS, most, object->space.rank);
    }
    functions(p)->H5Sclose(space);
}

static void describe_type(struct fields_out *out, const struct hdf5_probe *p, struct hdf5_id *object) {
    hid_t type = questions(p)->H5Dget_type((hid_t)object->entry.id);
    if (type < 0) return;
    object->bytes = questions(p)->H5Tget_size(type);
    fields_number(out, DATASET_CLASS, (uint64_t)questions(p)->H5Tget_class(type) + 1);
    fields_number(out, DATASET_BYTES, object->bytes);
    questions(p)->H5Tclose(type);
}

static void describe_access(struct fields_out *out, const struct hdf5_access *access) {
    if (access->alignment > 1) {
        fields_number(out, DATASET_ALIGNMENT_FROM, access->alignment_from);
        fields_number(out, DATASET_ALIGNMENT, access->alignment);
    }
    if (access->by_mpi) fields_number(out, DATASET_MPI, 1);
    if (access->collective_reads) fields_number(out, DATASET_COLLECTIVE_READS, 1);
    if (access->collective_writes) fields_number(out, DATASET_COLLECTIVE_WRITES, 1);
}

uint32_t hdf5_describe(struct hdf5_probe *p, struct hdf5_id *object, bool old_call) {
    const struct questions *ask = questions(p);
    uint8_t fields[4096];
    struct fields_out out = {.at = fields, .end = fields + sizeof fields};
    if (ask->H5Iget_type((hid_t)object->entry.id) != TYPE_DATASET) return 0;
    if (object->file) object->extents = atomic_load_explicit(&object->file->extents, memory_order_relaxed);
    hid_t list = ask->H5Dget_create_plist((hid_t)object->entry.id);
    int layout = list >= 0 ? describe_list(&out, ask, list) : -1;
    if (list >= 0) functions(p)->H5Pclose(list);
    // The extent of a virtual dataset depends on other files, which HDF5 would open.
    if (layout != LAYOUT_VIRTUAL) describe_space(&out, p, object);
    describe_type(&out, p, object);
    describe_access(&out, &object->access);
    if (old_call) fields_number(&out, DATASET_OLD_CALL, 1);
    object->is_dataset = true;
    return out.overflow ? 0 : interned_number(RECORD_DATASET, fields, (size_t)(out.at - fields));
}
