#include "summary/mpi_files.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

static int add_use(struct mpi_files *files, struct mpi_use use, const struct log_event *event) {
    enum { KEY_BYTES = offsetof(struct mpi_use, count) };
    uint64_t key = hash_bytes(0, &use, KEY_BYTES);
    uint32_t at;
    for (; (at = lookup_find(&files->by_hash, key)) != LOOKUP_NONE; key++) {
        struct mpi_use *known = &files->use[at];
        if (memcmp(known, &use, KEY_BYTES) != 0) continue;
        known->count++;
        if (event->start_ns < known->first_ns || (event->start_ns == known->first_ns && event->id < known->first_id)) {
            known->first_ns = event->start_ns;
            known->first_id = event->id;
        }
        return 0;
    }
    RETURN_IF(files->count >= LOOKUP_NONE, ERR_LIMIT);
    FORWARD(array_room(files->use, files->count));
    use.count = 1;
    use.first_ns = event->start_ns;
    use.first_id = event->id;
    files->use[files->count] = use;
    return lookup_set(&files->by_hash, key, (uint32_t)files->count++);
}

static bool has_attribute(const struct log_event *event, enum event_attribute attribute) {
    return event->raw.attribute_mask & 1u << attribute;
}

static int add_uses(struct mpi_files *files, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    if (event->call->class == CLASS_OPEN && has_attribute(event, ATTRIBUTE_FLAGS)) {
        struct mpi_use use = {.file = event->file, .kind = MPI_USE_OPEN, .number = raw->attribute[ATTRIBUTE_FLAGS]};
        if (has_attribute(event, ATTRIBUTE_COMM_SIZE)) use.comm_size = raw->attribute[ATTRIBUTE_COMM_SIZE];
        FORWARD(add_use(files, use, event));
    }
    if (event->hints) {
        struct mpi_use use = {.file = event->file, .kind = MPI_USE_HINTS, .first = event->hints};
        use.number = has_attribute(event, ATTRIBUTE_HINTS);
        FORWARD(add_use(files, use, event));
    }
    if (event->etype || event->filetype) {
        struct mpi_use use = {.file = event->file, .kind = MPI_USE_VIEW, .number = raw->offset};
        use.first = event->etype;
        use.second = event->filetype;
        FORWARD(add_use(files, use, event));
    }
    return 0;
}

int mpi_files_add(struct mpi_files *files, const struct log_event *event) {
    if (event->call->layer != LAYER_MPIIO || !event->raw.attribute_mask || !event->file || event->raw.error) return 0;
    pthread_mutex_lock(&files->lock);
    int code = add_uses(files, event);
    pthread_mutex_unlock(&files->lock);
    return code;
}

// By file, in the order of the log's table, and kind.
static int compare_place(const struct mpi_use *use, const struct log_file *file, enum mpi_use_kind kind) {
    if (use->file != file) return use->file < file ? -1 : 1;
    return (use->kind > kind) - (use->kind < kind);
}

static int compare_uses(const void *a, const void *b) {
    const struct mpi_use *left = a, *right = b;
    int order = compare_place(left, right->file, right->kind);
    if (order) return order;
    if (left->first_ns != right->first_ns) return left->first_ns < right->first_ns ? -1 : 1;
    return left->first_id < right->first_id ? -1 : left->first_id > right->first_id;
}

void mpi_files_sort(struct mpi_files *files) {
    if (files->count > 1) qsort(files->use, files->count, sizeof *files->use, compare_uses);
}

void mpi_files_init(struct mpi_files *files) {
    *files = (struct mpi_files){0};
    pthread_mutex_init(&files->lock, NULL);
}

void mpi_files_free(struct mpi_files *files) {
    free(files->use);
    lookup_free(&files->by_hash);
}

// The index of the first use that does not come before this place.
static size_t place_of(const struct mpi_files *files, const struct log_file *file, enum mpi_use_kind kind) {
    size_t from = 0, to = files->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_place(&files->use[middle], file, kind) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

const struct mpi_use *mpi_files_uses(const struct mpi_files *files, const struct log_file *file, enum mpi_use_kind kind,
                                     size_t *count) {
    size_t first = place_of(files, file, kind);
    *count = place_of(files, file, kind + 1) - first;
    return *count ? &files->use[first] : NULL;
}

bool mpi_files_has(const struct mpi_files *files, const struct log_file *file) {
    size_t count;
    return mpi_files_uses(files, file, MPI_USE_OPEN, &count);
}
