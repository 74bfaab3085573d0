// The files with the most time, with their counters and who used them.
#pragma once

#include "base/json_out.h"
#include "log/kept.h"

enum { FILES_SHOWN = 100, FILES_HEAT = 64 };

struct files_heat {
    uint64_t bytes[2]; // read, written
    int64_t ns;
};

struct files_row {
    const struct log_file *file;
    struct counters *of[LAYER_COUNT]; // NULL where the layer was not used
    uint64_t bytes[2];                // as `info` counts them
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // that was counted: a process's records come together
    unsigned layer;                 // the highest that the program used
    struct files_heat heat[LAYER_COUNT][FILES_HEAT];
};

struct files {
    const struct log *log;
    int64_t *own_ns;       // by place in the log's table: time in calls that the program made, filled by events
    uint32_t *row_of;      // so too: place in `row` + 1, 0 for none; once chosen
    struct files_row *row; // the most time first
    size_t rows;
    uint64_t left_out;  // files that were used and are not shown
    uint32_t *position; // of a process, by place in the log's table: its column before grouping
    uint64_t positions;
    uint64_t group;               // processes that share a column
    struct log_kept_list records; // until the files are chosen
};

int files_init(struct files *files, const struct log *log);
struct log_consumer files_consumer(struct files *files); // of the events
// Keeps a record of log_stats: which files are shown is not known before the last event.
int files_add_record(const struct log_stats_record *record, void *files);
int files_finish(struct files *files); // chooses the files
void files_free(struct files *files);

// A list of at most `most` objects.
void files_json(const struct files *files, struct json_out *json, size_t most);
