// How files were used through MPI-IO: access modes, hints and views. Equal calls of all ranks are one use.
#pragma once

#include <pthread.h>

#include "base/lookup.h"
#include "log/event.h"

enum mpi_use_kind { MPI_USE_OPEN, MPI_USE_HINTS, MPI_USE_VIEW, MPI_USE_KINDS };

struct mpi_use {
    // Two uses are equal if the fields before `count` are. All have 8 bytes, so that there is no padding.
    const struct log_file *file;
    uint64_t kind;      // enum mpi_use_kind
    uint64_t number;    // open: its access mode; hints: whether an info object was given; view: its displacement
    uint64_t comm_size; // open: processes of the communicator
    const void *first;  // hints: struct log_hints; view: the etype
    const void *second; // view: the filetype
    uint64_t count;     // of the calls
    int64_t first_ns;   // start of the first such call
    uint64_t first_id;  // and its id
};

struct mpi_files {
    struct mpi_use *use; // ordered by file once all events are added
    size_t count;
    struct lookup by_hash; // -> index of `use`
    pthread_mutex_t lock;
};

void mpi_files_init(struct mpi_files *files);
// Events may come in any order and from several threads.
int mpi_files_add(struct mpi_files *files, const struct log_event *event);
void mpi_files_sort(struct mpi_files *files); // after the last event, before the next two
void mpi_files_free(struct mpi_files *files);

// The uses of this kind of the file, in the order of their first calls.
const struct mpi_use *mpi_files_uses(const struct mpi_files *files, const struct log_file *file, enum mpi_use_kind kind,
                                     size_t *count);
bool mpi_files_has(const struct mpi_files *files, const struct log_file *file); // it was opened with MPI-IO
