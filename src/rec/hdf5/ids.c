// What the ids of HDF5 stand for. HDF5 does not use an id again after it was closed, so an entry that is out of date
// does no harm.
#include "rec/hdf5/hdf5.h"

static void prepare(void *entry) {
    struct hdf5_id *id = entry;
    id->space.kind = id->last.selection.kind = SELECTION_UNKNOWN;
}

static bool is_no_object(const void *entry) { return ((const struct hdf5_id *)entry)->kind != HDF5_OBJECT; }

static struct id_table ids = {.bytes = sizeof(struct hdf5_id),
                              .cleared = offsetof(struct hdf5_id, space),
                              .prepare = prepare,
                              .goes_first = is_no_object};

struct hdf5_id *hdf5_find(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id) {
    struct hdf5_id *found = id_table_find(&ids, p->thread, p->library, (uint64_t)id);
    return found && found->kind == kind ? found : NULL;
}

struct hdf5_id *hdf5_add(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id) {
    struct hdf5_id *fresh = id_table_add(&ids, p->thread, p->library, (uint64_t)id);
    if (fresh) fresh->kind = kind;
    return fresh;
}

void hdf5_remove(struct hdf5_probe *p, hid_t id) {
    id_table_remove(&ids, p->thread, p->library, (uint64_t)id, UINT64_MAX);
}

void hdf5_remove_all(struct hdf5_probe *p) { id_table_remove(&ids, p->thread, p->library, 0, 0); }
