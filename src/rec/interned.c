#include "rec/interned.h"

#include <string.h>

#include "fmt/fields.h"
#include "rec/emit.h"
#include "rec/memory.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { BUCKETS = 256, MOST = 16384, MOST_BYTES = 16 << 20, KEY_ID = 1, HEAD_BYTES = 32 };

struct interned {
    struct interned *next;
    uint64_t hash;
    unsigned kind;
    uint32_t number;
    uint32_t announced; // in the spill file of this generation + 1
    uint32_t len;
    uint8_t fields[];
};

static struct interned *bucket[BUCKETS];
static uint32_t count;
// Programs may select something else at each step: that must not use up the room for datatypes and hints.
static struct {
    uint32_t count;
    uint64_t bytes;
} used[2];
static _Atomic uint32_t lock;

static uint64_t hash_of(unsigned kind, const uint8_t *fields, size_t len) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ kind;
    for (size_t i = 0; i < len; i++) hash = (hash ^ fields[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static struct interned *find(unsigned kind, const uint8_t *fields, size_t len, uint64_t hash) {
    struct interned *own = bucket[hash % BUCKETS];
    while (own &&
           (own->hash != hash || own->kind != kind || own->len != len || memcmp(own->fields, fields, len) != 0)) {
        own = own->next;
    }
    return own;
}

static struct interned *add(unsigned kind, const uint8_t *fields, size_t len, uint64_t hash) {
    bool is_above = kind == RECORD_SELECTION || kind == RECORD_DATASET;
    if (used[is_above].count >= MOST || used[is_above].bytes + len > MOST_BYTES) return NULL;
    struct interned *own = memory_alloc(sizeof *own + len);
    if (!own) return NULL;
    used[is_above].count++;
    used[is_above].bytes += len;
    *own = (struct interned){
        .next = bucket[hash % BUCKETS], .hash = hash, .kind = kind, .number = ++count, .len = (uint32_t)len};
    memcpy(own->fields, fields, len);
    bucket[hash % BUCKETS] = own;
    return own;
}

// A forked child has a spill file of its own.
static void announce(struct interned *own) {
    struct fields_out out;
    if (own->announced == recorder.generation + 1 || !spill_begin_record(&out, HEAD_BYTES + own->len)) return;
    fields_begin(&out, own->kind);
    fields_number(&out, KEY_ID, own->number);
    fields_copy(&out, (struct fields_in){.at = own->fields, .end = own->fields + own->len});
    fields_end(&out);
    spill_end_record(&out);
    own->announced = recorder.generation + 1;
}

uint32_t interned_number(unsigned kind, const uint8_t *fields, size_t len) {
    struct thread *thread = recorder_thread();
    if (!thread || thread->trace_ended || !recorder.trace_cap || len > INTERNED_MAX_FIELDS) return 0;
    if (!emit_claim(thread)) return 0;
    spin_lock(&lock);
    uint64_t hash = hash_of(kind, fields, len);
    struct interned *own = find(kind, fields, len, hash);
    if (!own) own = add(kind, fields, len, hash);
    if (own) {
        announce(own);
    } else {
        spill_count_loss(LOSS_TABLE_FULL, 1);
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
    return own ? own->number : 0;
}
