// Questions to PnetCDF and NetCDF.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fmt/fields.h"
#include "rec/interned.h"
#include "rec/memory.h"
#include "rec/netcdf/netcdf.h"
#include "rec/probe/probe.h"
#include "rec/real.h"
#include "rec/spill.h"

// Both libraries have the same functions. Lengths have 64 bits, but that of a path has 32 in PnetCDF. The last four are
// NetCDF's alone.
struct questions {
    int (*inq_var)(int file_id, int variable, char *name, int *type, int *rank, int *dims, int *attributes);
    int (*inq_dimlen)(int file_id, int dim, int64_t *len);
    int (*inq_unlimdim)(int file_id, int *dim);
    int (*inq_path)(int file_id, void *len, char *path);
    int (*type_size)(const void *datatype, int *bytes); // of MPI; NULL without
    const void *no_type;                                // Open MPI: the address of MPI_DATATYPE_NULL
    int (*inq_unlimdims)(int file_id, int *count, int *dims);
    int (*inq_grp_parent)(int group, int *parent);
    int (*inq_grpname_full)(int group, size_t *len, char *name);
    int (*inq_user_type)(int file_id, int type, char *name, size_t *bytes, int *base, size_t *fields, int *class);
};

enum { NAME_ROOM = 257, PATH_MOST = 1024 };
enum { NC_CHAR = 2, NC_FLOAT = 5, NC_DOUBLE = 6, NC_STRING = 12, NC_TYPES, NC_OPAQUE, NC_ENUM, NC_COMPOUND };
enum { NC_VLEN = NC_TYPES, NC_FIRST_USER_TYPE = 32 };

static const struct questions *questions(const struct nc_probe *p) { return p->library->state; }

static void *find(const struct library *library, const char *name) {
    char text[32] = "";
    strcat(text, library->layer == LAYER_NETCDF ? "nc_" : "ncmpi_");
    strcat(text, name);
    return library_symbol(library, text);
}

void nc_start(struct library *library) {
    struct questions *ask = memory_alloc(sizeof *ask);
    if (!ask) return;
    *(void **)&ask->inq_var = find(library, "inq_var");
    *(void **)&ask->inq_dimlen = find(library, "inq_dimlen");
    *(void **)&ask->inq_unlimdim = find(library, "inq_unlimdim");
    *(void **)&ask->inq_path = find(library, "inq_path");
    *(void **)&ask->inq_unlimdims = find(library, "inq_unlimdims");
    *(void **)&ask->inq_grp_parent = find(library, "inq_grp_parent");
    *(void **)&ask->inq_grpname_full = find(library, "inq_grpname_full");
    *(void **)&ask->inq_user_type = find(library, "inq_user_type");
    *(void **)&ask->type_size = library_symbol(library, "PMPI_Type_size");
    // A program that refers to it has it in its own memory.
    ask->no_type = real.dlsym ? real.dlsym(RTLD_DEFAULT, "ompi_mpi_datatype_null") : NULL;
    if (!ask->no_type) ask->no_type = library_symbol(library, "ompi_mpi_datatype_null");
    if (ask->inq_var && ask->inq_dimlen && ask->inq_unlimdim && ask->inq_path)
        library->state = ask;
    else
        spill_count_loss(LOSS_OLD_LIBRARY, 1);
}

// A question about MPI_DATATYPE_NULL would end the program.
uint64_t nc_ask_type_bytes(const struct nc_probe *p, const void *datatype) {
    enum { MPICH_NO_TYPE = 0x0c000000 };
    const struct questions *ask = questions(p);
    bool is_none = ask->no_type ? datatype == ask->no_type : (uint32_t)(uintptr_t)datatype == MPICH_NO_TYPE;
    int bytes = 0;
    if (!is_none && ask->type_size && ask->type_size(datatype, &bytes) != 0) bytes = 0;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t bytes_of(int type) {
    static const uint8_t bytes[NC_TYPES] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, sizeof(char *)};
    return type > 0 && type < NC_TYPES ? bytes[type] : 0;
}

static void ask_type(const struct questions *ask, struct nc_object *variable) {
    size_t bytes = 0;
    int class = 0;
    variable->bytes = bytes_of(variable->type);
    if (variable->type < NC_FIRST_USER_TYPE || !ask->inq_user_type) return;
    if (ask->inq_user_type(variable->file_id, variable->type, NULL, &bytes, NULL, NULL, &class)) return;
    variable->bytes = bytes;
    variable->type = class;
}

// A dimension may belong to a group around that of the variable.
static bool is_unlimited(const struct questions *ask, int file_id, int dim) {
    enum { MOST = 64 };
    int known[MOST], count = 0, one = -1;
    if (!ask->inq_unlimdims || !ask->inq_grp_parent) return !ask->inq_unlimdim(file_id, &one) && one == dim;
    do {
        if (ask->inq_unlimdims(file_id, &count, NULL) || count > MOST) return false;
        if (ask->inq_unlimdims(file_id, &count, known)) return false;
        for (int i = 0; i < count; i++) {
            if (known[i] == dim) return true;
        }
    } while (!ask->inq_grp_parent(file_id, &file_id));
    return false;
}

static void ask_space(const struct questions *ask, struct nc_object *variable) {
    struct selection *space = &variable->space;
    int dims[SELECTION_MAX_RANK];
    if (space->rank && ask->inq_var(variable->file_id, variable->id, NULL, NULL, NULL, dims, NULL)) return;
    variable->grows = 0;
    for (unsigned i = 0; i < space->rank; i++) {
        int64_t len = 0;
        if (ask->inq_dimlen(variable->file_id, dims[i], &len)) return;
        space->dims[i] = (unsigned long long)len;
        if (is_unlimited(ask, variable->file_id, dims[i])) variable->grows |= 1u << i;
    }
    space->can_grow = variable->grows & 1;
    space->points = space->rank ? 0 : 1;
    space->blocks = 0;
    space->kind = SELECTION_ALL;
}

// What must be as before after an answer. NetCDF calls HDF5 and PnetCDF for it.
struct before {
    uint32_t inside;
    int error;
};

static struct before begin_questions(const struct nc_probe *p) {
    struct before before = {p->thread->inside, errno};
    p->thread->inside |= 1u << LAYER_HDF5 | 1u << LAYER_PNETCDF;
    return before;
}

static void end_questions(const struct nc_probe *p, struct before before) {
    p->thread->inside = before.inside;
    errno = before.error;
}

void nc_ask_space(struct nc_probe *p, struct nc_object *variable) {
    struct before before = begin_questions(p);
    ask_space(questions(p), variable);
    end_questions(p, before);
}

// The path of a variable, from the root: "group/variable". Returns false if it is too long.
static bool ask_name(const struct questions *ask, int file_id, const char *variable, char name[PATH_MOST]) {
    enum { GROUP = 0xffff };
    size_t len = 0;
    name[0] = 0;
    if (ask->inq_grpname_full && file_id & GROUP) {
        if (ask->inq_grpname_full(file_id, &len, NULL) || !len || len + NAME_ROOM + 2 > PATH_MOST) return false;
        if (ask->inq_grpname_full(file_id, &len, name)) return false;
        memmove(name, name + 1, len); // without the slash, but with the zero
        strcat(name, "/");
    }
    strcat(name, variable);
    return true;
}

// The entry of a variable: the name of the file, a zero byte, the path of the variable.
static struct file *file_of(const struct file *whole, const char *variable) {
    char *name = whole ? files_borrow_buffer() : NULL;
    if (!name) return NULL;
    size_t start = strlen(whole->name) + 1, len = strlen(variable);
    struct file *file = NULL;
    if (start + len < FILES_NAME_MAX) {
        memcpy(name, whole->name, start);
        memcpy(name + start, variable, len + 1);
        file = files_entry(name, start + len);
    }
    files_return_buffer();
    return file;
}

// A file that was opened by a call that the recorder does not see.
static struct nc_object *ask_file(struct nc_probe *p, int file_id) {
    char path[PATH_MOST];
    int64_t len = 0;
    bool left_out = false;
    if (questions(p)->inq_path(file_id, &len, NULL) || len <= 0 || len >= PATH_MOST) return NULL;
    if (questions(p)->inq_path(file_id, NULL, path)) return NULL;
    struct file *file = probe_file(AT_FDCWD, path, &left_out);
    struct nc_object *object = nc_add(p, file_id, NC_WHOLE_FILE);
    if (!object) return NULL;
    object->file = file;
    object->left_out = left_out;
    object->by_mpi = p->library->layer == LAYER_PNETCDF;
    object->serial = handles_new_serial();
    return object;
}

static struct nc_object *ask_variable(struct nc_probe *p, int file_id, int id) {
    const struct questions *ask = questions(p);
    char name[NAME_ROOM] = "", path[PATH_MOST];
    int type = 0, rank = 0;
    if (ask->inq_var(file_id, id, name, &type, &rank, NULL, NULL)) return NULL;
    const struct nc_object *known = nc_object(p, file_id, NC_WHOLE_FILE);
    const struct nc_object whole = known ? *known : (struct nc_object){0};
    struct file *file = ask_name(ask, file_id, name, path) ? file_of(whole.file, path) : NULL;
    struct nc_object *variable = nc_add(p, file_id, id);
    if (!variable) return NULL;
    variable->file = file;
    variable->left_out = whole.left_out;
    variable->by_mpi = whole.by_mpi;
    variable->is_collective = whole.is_collective;
    variable->serial = handles_new_serial();
    variable->type = type;
    ask_type(ask, variable);
    variable->space.rank = (uint8_t)(rank <= SELECTION_MAX_RANK ? rank : 0);
    if (rank <= SELECTION_MAX_RANK) ask_space(ask, variable);
    return variable;
}

struct nc_object *nc_object(struct nc_probe *p, int file_id, int id) {
    struct nc_object *known = nc_find(p, file_id, id);
    if (LIKELY(known)) return known;
    struct before before = begin_questions(p);
    known = id == NC_WHOLE_FILE ? ask_file(p, file_id) : ask_variable(p, file_id, id);
    end_questions(p, before);
    return known;
}

// As HDF5 numbers them, + 1.
static unsigned class_of(int type) {
    enum { INTEGER = 1, FLOAT = 2, STRING = 4, OPAQUE = 6, COMPOUND = 7, ENUM = 9, LISTS = 10 };
    switch (type) {
    case NC_FLOAT:
    case NC_DOUBLE: return FLOAT;
    case NC_CHAR:
    case NC_STRING: return STRING;
    case NC_OPAQUE: return OPAQUE;
    case NC_COMPOUND: return COMPOUND;
    case NC_ENUM: return ENUM;
    case NC_VLEN: return LISTS;
    default: return INTEGER;
    }
}

uint32_t nc_describe(struct nc_object *variable) {
    uint8_t fields[1024];
    struct fields_out out = {.at = fields, .end = fields + sizeof fields};
    const struct selection *space = &variable->space;
    variable->is_described = true;
    if (space->kind != SELECTION_ALL) return 0;
    for (unsigned i = 0; i < space->rank; i++) fields_number(&out, DATASET_DIMS, space->dims[i]);
    for (unsigned i = 0; i < space->rank; i++)
        fields_number(&out, DATASET_MAX_DIMS, variable->grows >> i & 1 ? UINT64_MAX : space->dims[i]);
    fields_number(&out, DATASET_CLASS, class_of(variable->type));
    fields_number(&out, DATASET_BYTES, variable->bytes);
    if (variable->by_mpi) fields_number(&out, DATASET_MPI, 1);
    return out.overflow ? 0 : interned_number(RECORD_DATASET, fields, (size_t)(out.at - fields));
}
