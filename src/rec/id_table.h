// What the ids of libraries above MPI-IO stand for, by library and id. Entries are used again but never freed: another
// thread may still look at one.
#pragma once

#include "rec/library.h"

enum { ID_BUCKETS = 1024 };

// At the start of an entry.
struct id_entry {
    struct id_entry *next;
    const struct library *library;
    uint64_t id;
};

struct id_table {
    const size_t bytes, cleared; // of an entry, and how many at its start are 0 when it is new
    void (*const prepare)(void *entry);
    bool (*const goes_first)(const void *entry); // if there are too many: it can be asked for again; NULL: all can
    struct id_entry *bucket[ID_BUCKETS];
    struct id_entry *unused;
    uint32_t count;
    _Atomic uint32_t lock;
};

// NULL: it is not known, or a signal handler has interrupted the recorder.
void *id_table_find(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id);
void *id_table_add(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id);
// Removes the entries of a library whose id is the same as `id` in the bits of the mask.
void id_table_remove(struct id_table *table, struct thread *thread, const struct library *library, uint64_t id,
                     uint64_t mask);
