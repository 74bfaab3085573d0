// What the numbers of PnetCDF and NetCDF stand for. Both use the number of a file again after it was closed. The lower
// half of NetCDF's is the number of a group: its variables are numbered by themselves, but the file is the same.
#include "rec/netcdf/netcdf.h"

static void prepare(void *entry) {
    struct nc_object *object = entry;
    object->space.kind = object->last.selection.kind = SELECTION_UNKNOWN;
}

static struct id_table objects = {
    .bytes = sizeof(struct nc_object), .cleared = offsetof(struct nc_object, space), .prepare = prepare};

static uint32_t file_mask(const struct nc_probe *p) {
    return p->library->layer == LAYER_NETCDF ? 0xffff0000 : UINT32_MAX;
}

static uint64_t key_of(const struct nc_probe *p, int file_id, int id) {
    uint32_t file = id == NC_WHOLE_FILE ? (uint32_t)file_id & file_mask(p) : (uint32_t)file_id;
    return (uint64_t)file << 32 | (uint32_t)id;
}

struct nc_object *nc_find(struct nc_probe *p, int file_id, int id) {
    return id_table_find(&objects, p->thread, p->library, key_of(p, file_id, id));
}

struct nc_object *nc_add(struct nc_probe *p, int file_id, int id) {
    struct nc_object *fresh = id_table_add(&objects, p->thread, p->library, key_of(p, file_id, id));
    if (fresh) {
        fresh->file_id = file_id;
        fresh->id = id;
    }
    return fresh;
}

void nc_remove(struct nc_probe *p, int file_id, int id) {
    id_table_remove(&objects, p->thread, p->library, key_of(p, file_id, id), UINT64_MAX);
}

void nc_forget_variables(struct nc_probe *p, int file_id) {
    const struct nc_object *known = nc_find(p, file_id, NC_WHOLE_FILE);
    if (!known) return;
    const struct nc_object whole = *known;
    nc_remove_file(p, file_id);
    struct nc_object *again = nc_add(p, file_id, NC_WHOLE_FILE);
    if (!again) return;
    again->file = whole.file;
    again->serial = whole.serial;
    again->left_out = whole.left_out;
    again->by_mpi = whole.by_mpi;
    again->is_collective = whole.is_collective;
}

void nc_remove_file(struct nc_probe *p, int file_id) {
    id_table_remove(&objects, p->thread, p->library, key_of(p, file_id, 0), (uint64_t)file_mask(p) << 32);
}
