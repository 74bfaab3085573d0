// What the ids of HDF5 stand for, by library and id. HDF5 does not use an id again after it was closed, so an entry
// that is out of date does no harm.
#include <string.h>

#include "rec/hdf5/hdf5.h"
#include "rec/memory.h"

enum { BUCKETS = 1024, MOST = 16384 };

static struct hdf5_id *bucket[BUCKETS];
static struct hdf5_id *unused;
static uint32_t count;
static _Atomic uint32_t lock;

static struct hdf5_id **place_of(const struct library *library, hid_t id) {
    uint64_t key = ((uint64_t)id ^ (uintptr_t)library) * 0x9e3779b97f4a7c15u;
    struct hdf5_id **place = &bucket[key >> 54];
    while (*place && ((*place)->id != id || (*place)->library != library)) place = &(*place)->next;
    return place;
}

static void release(struct hdf5_id **place) {
    struct hdf5_id *old = *place;
    *place = old->next;
    old->kind = HDF5_FREE;
    old->next = unused;
    unused = old;
    count--;
}

// Those of a library, or NULL: all; without objects, or with them.
static void release_all(const struct library *library, bool with_objects) {
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct hdf5_id **place = &bucket[i]; *place;) {
            bool goes = with_objects || (*place)->kind != HDF5_OBJECT;
            if (goes && (!library || (*place)->library == library))
                release(place);
            else
                place = &(*place)->next;
        }
    }
}

struct hdf5_id *hdf5_find(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id) {
    if (!emit_claim(p->thread)) return NULL;
    spin_lock(&lock);
    struct hdf5_id *found = *place_of(p->library, id);
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    return found && found->kind == kind ? found : NULL;
}

// Programs that never close their ids must not fill the memory: if there are too many, they are asked for again.
static struct hdf5_id *take(void) {
    if (count >= MOST) release_all(NULL, false);
    if (count >= MOST) release_all(NULL, true);
    struct hdf5_id *fresh = unused;
    if (fresh)
        unused = fresh->next;
    else
        fresh = memory_alloc(sizeof *fresh);
    count += fresh != NULL;
    return fresh;
}

struct hdf5_id *hdf5_add(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id) {
    if (!emit_claim(p->thread)) return NULL;
    spin_lock(&lock);
    struct hdf5_id **place = place_of(p->library, id);
    if (*place) release(place);
    struct hdf5_id *fresh = take();
    if (fresh) {
        memset(fresh, 0, offsetof(struct hdf5_id, space));
        fresh->space.kind = fresh->last.selection.kind = SELECTION_UNKNOWN;
        fresh->library = p->library;
        fresh->id = id;
        fresh->kind = kind;
        place = place_of(p->library, id);
        fresh->next = *place;
        *place = fresh;
    }
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    return fresh;
}

void hdf5_remove(struct hdf5_probe *p, hid_t id) {
    if (!emit_claim(p->thread)) return;
    spin_lock(&lock);
    struct hdf5_id **place = place_of(p->library, id);
    if (*place) release(place);
    spin_unlock(&lock);
    emit_unclaim(p->thread);
}

void hdf5_remove_all(struct hdf5_probe *p) {
    if (!emit_claim(p->thread)) return;
    spin_lock(&lock);
    release_all(p->library, true);
    spin_unlock(&lock);
    emit_unclaim(p->thread);
}
