#include "rec/id_table.h"

#include <string.h>

#include "rec/emit.h"
#include "rec/memory.h"

enum { MOST = 16384 }; // programs that never close their ids must not fill the memory

static struct id_entry **place_of(struct id_table *table, const struct library *library, uint64_t id) {
    struct id_entry **place = &table->bucket[(id ^ (uintptr_t)library) * 0x9e3779b97f4a7c15u >> 54];
    while (*place && ((*place)->id != id || (*place)->library != library)) place = &(*place)->next;
    return place;
}

static void release(struct id_table *table, struct id_entry **place) {
    struct id_entry *old = *place;
    *place = old->next;
    old->next = table->unused;
    table->unused = old;
    table->count--;
}

// Which entries go: of a library, whose id is the same in the bits of the mask; NULL: of all.
struct those {
    const struct library *library;
    uint64_t id, mask;
    bool (*go)(const void *entry); // and this is true; NULL: always
};

static bool is_one_of(const struct those *those, const struct id_entry *entry) {
    if (those->library && (entry->library != those->library || (entry->id ^ those->id) & those->mask)) return false;
    return !those->go || those->go(entry);
}

static void release_those(struct id_table *table, struct those those) {
    for (unsigned i = 0; i < ID_BUCKETS; i++) {
        for (struct id_entry **place = &table->bucket[i]; *place;) {
            if (is_one_of(&those, *place))
                release(table, place);
            else
                place = &(*place)->next;
        }
    }
}

static struct id_entry *take(struct id_table *table) {
    if (table->count >= MOST) release_those(table, (struct those){.go = table->goes_first});
    if (table->count >= MOST) release_those(table, (struct those){0});
    struct id_entry *fresh = table->unused;
    if (fresh)
        table->unused = fresh->next;
    else
        fresh = memory_alloc(table->bytes);
    table->count += fresh != NULL;
    return fresh;
}

void *id_table_find(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id) {
    if (!emit_claim(thread)) return NULL;
    spin_lock(&table->lock);
    void *found = *place_of(table, library, id);
    spin_unlock(&table->lock);
    emit_unclaim(thread);
    return found;
}

void *id_table_add(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id) {
    if (!emit_claim(thread)) return NULL;
    spin_lock(&table->lock);
    struct id_entry **place = place_of(table, library, id);
    if (*place) release(table, place);
    struct id_entry *fresh = take(table);
    if (fresh) {
        memset(fresh, 0, table->cleared);
        table->prepare(fresh);
        place = place_of(table, library, id);
        *fresh = (struct id_entry){*place, library, id};
        *place = fresh;
    }
    spin_unlock(&table->lock);
    emit_unclaim(thread);
    return fresh;
}

void id_table_remove(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id,
                     uint64_t mask) {
    if (!emit_claim(thread)) return;
    spin_lock(&table->lock);
    struct id_entry **place = mask == UINT64_MAX ? place_of(table, library, id) : NULL;
    if (!place)
        release_those(table, (struct those){library, id, mask, NULL});
    else if (*place)
        release(table, place);
    spin_unlock(&table->lock);
    emit_unclaim(thread);
}
