// The files with the most time, with their counters and the processes that used them.
#pragma once

#include "base/json_out.h"
#include "log/images.h"
#include "log/record_store.h"

enum { FILES_SHOWN = 100, FILES_HEAT = 64 };

struct files_heat {
    uint64_t bytes[2]; // read, written
    int64_t ns;
};

// MPI-IO uses the layers below it; what the program did to a file is in one of the two.
enum files_of { FILES_OF_MPIIO, FILES_OF_OTHERS, FILES_OF };

struct files_row {
    const struct log_file *file;
    struct counters *of[LAYER_COUNT]; // NULL: the layer was not used
    uint64_t bytes[2];                // as `info` counts them
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // the last image counted: its records are adjacent
    unsigned layer;                 // the highest layer that the program used
    struct files_heat heat[FILES_OF][FILES_HEAT];
};

struct files {
    const struct log *log;
    int64_t (*time_ns)[FILES_OF]; // by index in the log's table: of the counters; -1: not used
    uint32_t *row_of;      // by index in the log's table: index in `row` + 1, 0: none; set when the files are selected
    struct files_row *row; // most time first
    size_t rows;
    uint64_t left_out;  // number of used files that are not shown
    uint32_t *position; // by index in the log's table: column of a process before grouping
    uint64_t positions;
    uint64_t group;                  // processes per column
    struct log_record_store records; // until the files are selected
    struct log_images images;
    struct lookup users; // of the files
};

int files_init(struct files *files, const struct log *log);
// Stores a record of log_stats: the files to show are not known before the last one.
int files_add_record(const struct log_stats_record *record, void *files);
int files_finish(struct files *files); // selects the files
void files_free(struct files *files);

// A sum of times (COUNTER_READ_TIME and so on) of the calls that the program made, as `stats` counts them.
int64_t files_row_ns(const struct files_row *row, unsigned counter);
int64_t files_row_time_ns(const struct files_row *row); // reading, writing and metadata

// The same of any file, by its index in the log's table; -1: it was not used.
int64_t files_time_ns(const struct files *files, size_t index);

// A list of at most `most` objects.
void files_json(const struct files *files, struct json_out *json, size_t most);

// All used files, the most time first, each as a list of a few values.
struct summary;
int file_list_json(const struct files *files, const struct summary *summary, struct json_out *json, size_t most);
