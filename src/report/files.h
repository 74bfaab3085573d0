// The files with the most time, with their counters and the processes that used them.
#pragma once

#include "base/json_out.h"
#include "log/record_store.h"

enum { FILES_SHOWN = 100, FILES_HEAT = 64 };

struct files_heat {
    uint64_t bytes[2]; // read, written
    int64_t ns;
};

struct files_row {
    const struct log_file *file;
    struct counters *of[LAYER_COUNT]; // NULL: the layer was not used
    uint64_t bytes[2];                // as `info` counts them
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // the last process counted: the records of a process are adjacent
    unsigned layer;                 // the highest layer that the program used
    struct files_heat heat[LAYER_COUNT][FILES_HEAT];
};

struct files {
    const struct log *log;
    int64_t *own_ns;       // by index in the log's table: time in calls that the program made, from the events
    uint32_t *row_of;      // by index in the log's table: index in `row` + 1, 0: none; set when the files are selected
    struct files_row *row; // most time first
    size_t rows;
    uint64_t left_out;  // number of used files that are not shown
    uint32_t *position; // by index in the log's table: column of a process before grouping
    uint64_t positions;
    uint64_t group;                  // processes per column
    struct log_record_store records; // until the files are selected
};

int files_init(struct files *files, const struct log *log);
struct log_consumer files_consumer(struct files *files); // for the events
// Stores a record of log_stats: the files to show are not known before the last event.
int files_add_record(const struct log_stats_record *record, void *files);
int files_finish(struct files *files); // selects the files
void files_free(struct files *files);

// A list of at most `most` objects.
void files_json(const struct files *files, struct json_out *json, size_t most);
