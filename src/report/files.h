// The files with the most time, with their counters and the processes that used them.
#pragma once

#include "base/json_out.h"
#include "log/images.h"
#include "log/record_store.h"
#include "report/file_times.h"
#include "report/process_places.h"

enum { FILES_SHOWN = 100, FILES_HEAT = 64 };

struct files_heat {
    uint64_t bytes[2]; // read, written
};

// MPI-IO uses the layers below it; what the program moved is in one of the two.
enum files_of { FILES_OF_MPIIO, FILES_OF_OTHERS, FILES_OF };

struct files_sum {
    bool is_used;
    bool by_program; // the program made calls on it; otherwise a library did
    bool by_mpi;     // MPI-IO
    int64_t ns[FILE_TIME_KINDS];
    uint64_t ranks; // whose counters were added up at MPI_Finalize
};

struct files_row {
    const struct log_file *file;
    struct counters *of[LAYER_COUNT]; // NULL: the layer was not used
    uint64_t bytes[2];                // as `info` counts them
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    unsigned layer; // the highest layer that the program used
    struct files_heat heat[FILES_OF][FILES_HEAT];
    int64_t heat_ns[FILES_HEAT];
};

struct files {
    struct log *log;
    struct file_times times;
    struct files_sum *sum; // by index in the log's table
    uint32_t *row_of;      // by index in the log's table: index in `row` + 1, 0: none; set when the files are selected
    struct files_row *row; // most time first
    size_t rows;
    uint64_t left_out;               // number of used files that are not shown
    struct process_places places;    // columns of the heat map before grouping
    uint64_t group;                  // processes per column
    struct log_record_store records; // until the files are selected
    struct log_images images;
    struct lookup users; // of the files
};

int files_init(struct files *files, struct log *log);
// Stores a record of log_stats: the files to show are not known before the last one.
int files_add_record(const struct log_stats_record *record, void *files);
int files_finish(struct files *files); // selects the files
void files_free(struct files *files);

// Time in calls of the program on a file, by its index in the log's table: summed over all processes.
int64_t files_time_ns(const struct files *files, size_t index);

// A list of at most `most` objects.
void files_json(const struct files *files, struct json_out *json, size_t most);

// All used files, the most time first, each as a list of a few values.
struct summary;
int file_list_json(const struct files *files, const struct summary *summary, struct json_out *json, size_t most);
