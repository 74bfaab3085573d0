// What `ioseer info` says of files that were opened with MPI-IO: how, with which hints and views.
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "base/lookup.h"
#include "log/iter.h"

enum info_mpi_kind { INFO_ACCESS, INFO_HINTS, INFO_VIEW };

// One way in which a file was used, and how often: calls of all ranks that were alike.
struct info_mpi_row {
    const struct log_file *file;
    enum info_mpi_kind kind;
    uint64_t number; // of an access: its mode; of hints: whether an info object was given; of a view: its displacement
    uint64_t comm_size; // of an access
    const void *first;  // of hints: struct log_hints; of a view: the etype
    const void *second; // of a view: the filetype
    uint64_t count;
    size_t order; // of the first such call
};

struct info_mpi {
    struct info_mpi_row *row; // by file once all events are there
    size_t count;
    size_t capacity;
    struct lookup by_hash; // -> place in `row`
};

int info_mpi_take(struct info_mpi *mpi, const struct log_event *event);
void info_mpi_sort(struct info_mpi *mpi);
void info_mpi_free(struct info_mpi *mpi);

bool info_mpi_has(const struct info_mpi *mpi, const struct log_file *file); // was opened with MPI-IO

// An object, or null where the file was not opened with MPI-IO.
void info_mpi_json(const struct info_mpi *mpi, struct json_out *json, struct log *log, const struct log_file *file);
// The first few of each kind unless all are wanted. Hints that were `shown` last are not repeated.
void info_mpi_text(const struct info_mpi *mpi, struct log *log, const struct log_file *file, bool all, FILE *out,
                   const struct log_hints **shown);
