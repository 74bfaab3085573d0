#include "rec/file_counters.h"

#include <string.h>

#include "rec/asking.h"
#include "rec/memory.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { CHUNK_BYTES = 64 << 10 };

// Of one generation; guarded by the lock.
PER_PROCESS static struct {
    struct spill_chunk *chunk;
    uint64_t bytes; // of all chunks
    uint32_t generation;
} space;
static _Atomic uint32_t space_lock;

// What the next calls on open files are compared with, for counters that stand for several files.
PER_PROCESS static struct counters_position *positions;
static _Atomic uint32_t positions_lock;

// An eighth of the room is for directories. The last resort, one record of each layer for all files, always has room.
static bool may_grow(const struct file *file) {
    uint64_t cap = recorder.counter_cap;
    if (file->kind >= FILE_COMMON) return true;
    if (file->kind == FILE_ITSELF) cap -= cap / 8;
    return space.bytes + CHUNK_BYTES <= cap;
}

// A chunk with room for one more record; NULL: there is none.
static struct spill_chunk *chunk_for(const struct file *file) {
    enum loss_reason reason;
    if (space.generation != recorder.generation) memset(&space, 0, sizeof space);
    space.generation = recorder.generation;
    if (space.chunk && space.chunk->used + sizeof(struct spill_counters) <= CHUNK_BYTES - SPILL_CHUNK_HEADER_BYTES)
        return space.chunk;
    struct spill_chunk *chunk = may_grow(file) ? spill_claim(CHUNK_COUNTERS, CHUNK_BYTES, &reason) : NULL;
    if (!chunk) return NULL;
    space.bytes += CHUNK_BYTES;
    return space.chunk = chunk;
}

static struct counters *make_counters(struct file *file, unsigned layer) {
    struct counters *counters = NULL;
    spin_lock(&space_lock);
    struct spill_chunk *chunk = chunk_for(file);
    if (chunk) {
        uint32_t used = atomic_load(&chunk->used);
        struct spill_counters *record = (struct spill_counters *)(spill_payload(chunk) + used);
        record->file = file->id;
        record->layer = layer;
        counters = &record->counters;
        files_announce(file);
        atomic_store_explicit(&chunk->used, used + (uint32_t)sizeof *record, memory_order_release);
    }
    spin_unlock(&space_lock);
    if (!counters && file->kind == FILE_ITSELF) files_are_full();
    return counters;
}

static void add_apart(struct counters *counters, uint32_t handle, unsigned layer, const struct counters_input *input) {
    spin_lock(&positions_lock);
    if (!positions) positions = memory_pages(COUNTERS_POSITIONS * sizeof *positions);
    struct counters_position none = {0};
    counters_add_apart(counters, input, positions ? counters_position_of(positions, handle, layer) : &none);
    spin_unlock(&positions_lock);
}

static bool add(struct file *file, uint32_t handle, unsigned layer, const struct counters_input *input) {
    spin_lock(&file->counters_lock);
    if (file->counters_generation != recorder.generation) {
        memset(file->counters, 0, sizeof file->counters);
        file->counters_generation = recorder.generation;
    }
    if (!file->counters[layer]) file->counters[layer] = make_counters(file, layer);
    struct counters *counters = file->counters[layer];
    if (counters && file->kind == FILE_ITSELF)
        counters_add(counters, input);
    else if (counters)
        add_apart(counters, handle, layer, input);
    spin_unlock(&file->counters_lock);
    return counters;
}

void file_counters_add(struct file *file, uint32_t handle, unsigned layer, const struct counters_input *input) {
    while (file && !add(file, handle, layer, input)) file = files_stand_in(file);
    if (!file) spill_count_loss(LOSS_COUNTERS_FULL, 1);
}

uint64_t file_counters_end(void) {
    spin_lock(&space_lock);
    space.chunk = NULL;
    uint64_t until = atomic_load(&recorder.spill->next);
    spin_unlock(&space_lock);
    return until;
}
