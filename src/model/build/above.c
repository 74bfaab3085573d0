// What a model of a layer above MPI-IO has instead of bytes in files: objects and selections.
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "fmt/records.h"
#include "model/build/recorded.h"

int recorded_name_objects(struct recorded *recorded, const struct log *log, const char **names) {
    static const char mark[] = {MODEL_OBJECT_MARK, 0};
    for (size_t i = 0; i < log_file_count(log); i++) {
        const struct log_file *file = log_file_at(log, i);
        if (!file->object) continue;
        size_t len = strlen(file->name) + strlen(file->object) + sizeof mark;
        char *name = arena_alloc(&recorded->arena, len);
        RETURN_IF(!name, -ENOMEM);
        stpcpy(stpcpy(stpcpy(name, file->name), mark), file->object);
        names[i] = name;
    }
    return 0;
}

static bool same_list(const uint64_t *a, const uint64_t *b, unsigned count) {
    return !count || !memcmp(a, b, count * sizeof *a);
}

// Selections without a rule are one if only their points differ: each transfer would be a kind of its own otherwise.
static bool is_same(const struct log_selection *a, const struct log_selection *b) {
    if (a->kind != b->kind || a->rank != b->rank || !same_list(a->dims, b->dims, a->rank)) return false;
    return a->kind != SELECTION_REGULAR ||
           (same_list(a->stride, b->stride, a->rank) && same_list(a->count, b->count, a->rank) &&
            same_list(a->block, b->block, a->rank));
}

static int copy_list(struct arena *arena, const uint64_t **list, unsigned count) {
    if (!*list) return 0;
    *list = arena_copy(arena, *list, count * sizeof **list);
    return *list ? 0 : -ENOMEM;
}

// The model outlives the log.
static int add_selection(struct recorded *recorded, const struct log_selection *from) {
    struct arena *arena = &recorded->arena;
    struct log_selection *own = arena_copy(arena, from, sizeof *from);
    RETURN_IF(!own, -ENOMEM);
    FORWARD(copy_list(arena, &own->dims, own->rank));
    FORWARD(copy_list(arena, &own->stride, own->rank));
    FORWARD(copy_list(arena, &own->count, own->rank));
    FORWARD(copy_list(arena, &own->block, own->rank));
    return array_push(recorded->selection, recorded->selections, own);
}

static uint64_t hash_of(const struct log_selection *selection) {
    size_t bytes = selection->rank * sizeof *selection->dims;
    uint64_t hash = hash_bytes(selection->kind, selection->dims, bytes);
    if (selection->kind != SELECTION_REGULAR) return hash;
    hash = hash_bytes(hash, selection->stride, bytes);
    hash = hash_bytes(hash, selection->count, bytes);
    return hash_bytes(hash, selection->block, bytes);
}

int recorded_add_selection(struct recorded *recorded, const struct log_selection *from, uint32_t *id) {
    for (uint64_t hash = hash_of(from);; hash++) {
        *id = lookup_find(&recorded->selection_of, hash);
        if (*id == LOOKUP_NONE) {
            FORWARD(add_selection(recorded, from));
            return lookup_set(&recorded->selection_of, hash, *id = (uint32_t)recorded->selections);
        }
        struct log_selection *own = recorded->selection[*id - 1];
        if (!is_same(own, from)) continue;
        if (own->points != from->points) own->points_known = false;
        return 0;
    }
}
