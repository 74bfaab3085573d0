// Questions to PnetCDF and NetCDF.
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

#include "fmt/fields.h"
#include "rec/interned.h"
#include "rec/memory.h"
#include "rec/netcdf/netcdf.h"
#include "rec/probe/probe.h"
#include "rec/real.h"
#include "rec/spill.h"

// Both libraries have the same functions. Lengths have 64 bits, but that of a path has 32 in PnetCDF.
struct questions {
    int (*inq_var)(int file_id, int variable, char *name, int *type, int *rank, int *dims, int *attributes);
    int (*inq_dimlen)(int file_id, int dim, int64_t *len);
    int (*inq_unlimdim)(int file_id, int *dim);
    int (*inq_path)(int file_id, void *len, char *path);
    int (*type_size)(const void *datatype, int *bytes); // of MPI; NULL without
    const void *no_type;                                // Open MPI: the address of MPI_DATATYPE_NULL
};

enum { NAME_ROOM = 257, PATH_MOST = 1024 };
enum { NC_CHAR = 2, NC_FLOAT = 5, NC_DOUBLE = 6, NC_STRING = 12, NC_TYPES };

static const struct questions *questions(const struct nc_probe *p) { return p->library->state; }

static void *find(const struct library *library, const char *name) {
    char text[32] = "ncmpi_";
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

void nc_ask_space(struct nc_probe *p, struct nc_object *variable) {
    const struct questions *ask = questions(p);
    struct selection *space = &variable->space;
    int dims[SELECTION_MAX_RANK], unlimited = -1;
    if (space->rank && ask->inq_var(variable->file_id, variable->id, NULL, NULL, NULL, dims, NULL)) return;
    if (ask->inq_unlimdim(variable->file_id, &unlimited)) unlimited = -1;
    for (unsigned i = 0; i < space->rank; i++) {
        int64_t len = 0;
        if (ask->inq_dimlen(variable->file_id, dims[i], &len)) return;
        space->dims[i] = (unsigned long long)len;
    }
    space->can_grow = space->rank && dims[0] == unlimited;
    space->points = space->rank ? 0 : 1;
    space->blocks = 0;
    space->kind = SELECTION_ALL;
}

// The entry of a variable: the name of the file, a zero byte, the name of the variable.
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
    object->serial = handles_new_serial();
    return object;
}

static struct nc_object *ask_variable(struct nc_probe *p, int file_id, int id) {
    char name[NAME_ROOM] = "";
    int type = 0, rank = 0;
    if (questions(p)->inq_var(file_id, id, name, &type, &rank, NULL, NULL)) return NULL;
    const struct nc_object *whole = nc_object(p, file_id, NC_WHOLE_FILE);
    bool left_out = whole && whole->left_out;
    struct file *file = whole ? file_of(whole->file, name) : NULL;
    struct nc_object *variable = nc_add(p, file_id, id);
    if (!variable) return NULL;
    variable->file = file;
    variable->left_out = left_out;
    variable->serial = handles_new_serial();
    variable->type = type;
    variable->bytes = bytes_of(type);
    variable->space.rank = (uint8_t)(rank <= SELECTION_MAX_RANK ? rank : 0);
    if (rank <= SELECTION_MAX_RANK) nc_ask_space(p, variable);
    return variable;
}

struct nc_object *nc_object(struct nc_probe *p, int file_id, int id) {
    struct nc_object *known = nc_find(p, file_id, id);
    if (LIKELY(known)) return known;
    return id == NC_WHOLE_FILE ? ask_file(p, file_id) : ask_variable(p, file_id, id);
}

uint32_t nc_describe(const struct nc_object *variable) {
    enum { INTEGER = 1, FLOAT = 2, STRING = 4 }; // as HDF5 numbers them, + 1
    uint8_t fields[1024];
    struct fields_out out = {.at = fields, .end = fields + sizeof fields};
    const struct selection *space = &variable->space;
    int type = variable->type;
    if (space->kind != SELECTION_ALL) return 0;
    for (unsigned i = 0; i < space->rank; i++) fields_number(&out, DATASET_DIMS, space->dims[i]);
    for (unsigned i = 0; i < space->rank; i++)
        fields_number(&out, DATASET_MAX_DIMS, i == 0 && space->can_grow ? UINT64_MAX : space->dims[i]);
    fields_number(&out, DATASET_CLASS,
                  type == NC_FLOAT || type == NC_DOUBLE  ? FLOAT
                  : type == NC_CHAR || type == NC_STRING ? STRING
                                                         : INTEGER);
    fields_number(&out, DATASET_BYTES, variable->bytes);
    fields_number(&out, DATASET_MPI, 1);
    return out.overflow ? 0 : interned_number(RECORD_DATASET, fields, (size_t)(out.at - fields));
}
