// What the numbers of PnetCDF and NetCDF stand for. Both use the number of a file again after it was closed.
#include <string.h>

#include "rec/memory.h"
#include "rec/netcdf/netcdf.h"

enum { BUCKETS = 1024, MOST = 16384 };

static struct nc_object *bucket[BUCKETS];
static struct nc_object *unused;
static uint32_t count;
static _Atomic uint32_t lock;

static struct nc_object **place_of(const struct library *library, int file_id, int id) {
    uint64_t key = ((uint64_t)(uint32_t)file_id << 32 | (uint32_t)id) ^ (uintptr_t)library;
    struct nc_object **place = &bucket[key * 0x9e3779b97f4a7c15u >> 54];
    while (*place && ((*place)->id != id || (*place)->file_id != file_id || (*place)->library != library))
        place = &(*place)->next;
    return place;
}

static void release(struct nc_object **place) {
    struct nc_object *old = *place;
    *place = old->next;
    old->next = unused;
    unused = old;
    count--;
}

// NULL: of all libraries.
static void release_file(const struct library *library, int file_id) {
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct nc_object **place = &bucket[i]; *place;) {
            if (!library || ((*place)->library == library && (*place)->file_id == file_id))
                release(place);
            else
                place = &(*place)->next;
        }
    }
}

struct nc_object *nc_find(struct nc_probe *p, int file_id, int id) {
    if (!emit_claim(p->thread)) return NULL;
    spin_lock(&lock);
    struct nc_object *found = *place_of(p->library, file_id, id);
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    return found;
}

// If there are too many, all are asked for again.
static struct nc_object *take(void) {
    if (count >= MOST) release_file(NULL, 0);
    struct nc_object *fresh = unused;
    if (fresh)
        unused = fresh->next;
    else
        fresh = memory_alloc(sizeof *fresh);
    count += fresh != NULL;
    return fresh;
}

struct nc_object *nc_add(struct nc_probe *p, int file_id, int id) {
    if (!emit_claim(p->thread)) return NULL;
    spin_lock(&lock);
    struct nc_object **place = place_of(p->library, file_id, id);
    if (*place) release(place);
    struct nc_object *fresh = take();
    if (fresh) {
        memset(fresh, 0, offsetof(struct nc_object, space));
        fresh->space.kind = fresh->last.selection.kind = SELECTION_UNKNOWN;
        fresh->library = p->library;
        fresh->file_id = file_id;
        fresh->id = id;
        place = place_of(p->library, file_id, id);
        fresh->next = *place;
        *place = fresh;
    }
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    return fresh;
}

void nc_remove_file(struct nc_probe *p, int file_id) {
    if (!emit_claim(p->thread)) return;
    spin_lock(&lock);
    release_file(p->library, file_id);
    spin_unlock(&lock);
    emit_unclaim(p->thread);
}
