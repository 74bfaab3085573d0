// What the numbers of PnetCDF and NetCDF stand for. Both use the number of a file again after it was closed.
#include "rec/netcdf/netcdf.h"

static void prepare(void *entry) {
    struct nc_object *object = entry;
    object->space.kind = object->last.selection.kind = SELECTION_UNKNOWN;
}

static struct id_table objects = {
    .bytes = sizeof(struct nc_object), .cleared = offsetof(struct nc_object, space), .prepare = prepare};

static uint64_t key_of(int file_id, int id) { return (uint64_t)(uint32_t)file_id << 32 | (uint32_t)id; }

struct nc_object *nc_find(struct nc_probe *p, int file_id, int id) {
    return id_table_find(&objects, p->thread, p->library, key_of(file_id, id));
}

struct nc_object *nc_add(struct nc_probe *p, int file_id, int id) {
    struct nc_object *fresh = id_table_add(&objects, p->thread, p->library, key_of(file_id, id));
    if (fresh) {
        fresh->file_id = file_id;
        fresh->id = id;
    }
    return fresh;
}

void nc_remove_file(struct nc_probe *p, int file_id) {
    id_table_remove(&objects, p->thread, p->library, key_of(file_id, 0), (uint64_t)UINT32_MAX << 32);
}
