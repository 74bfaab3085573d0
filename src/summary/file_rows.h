// The counters of files in a few columns: joined by directory or by pattern of the name, sorted, with totals.
#pragma once

#include "base/arena.h"
#include "log/stats.h"

// Times and bytes are larger units of what the counters of that name are.
enum file_column {
    COLUMN_OPENS,
    COLUMN_READS,
    COLUMN_WRITES,
    COLUMN_BYTES_READ,
    COLUMN_BYTES_WRITTEN,
    COLUMN_READ_TIME,
    COLUMN_WRITE_TIME,
    COLUMN_META_TIME,
    FILE_COLUMNS
};

enum file_grouping { GROUP_NONE, GROUP_DIRECTORY, GROUP_PATTERN };

struct file_row {
    unsigned layer;
    const char *name;                  // of the file, or of what it was joined by; NULL: a file without a name
    uint64_t files;                    // joined here. Of the rows of one file and layer only the first has it
    const char *who;                   // rank or process of a row that is not joined, "" if there is none to name
    bool has_rank;                     // false if it is joined
    int64_t rank;                      // -1: of all ranks
    const struct log_process *process; // NULL: of several
    uint64_t value[FILE_COLUMNS];
};

struct file_rows {
    struct file_row *row; // by layer
    size_t count;
    struct arena texts;
};

// Reads the log. `per_rank` is as in log_reduce.
int file_rows_make(struct file_rows *rows, struct log *log, bool per_rank, enum file_grouping grouping);
void file_rows_free(struct file_rows *rows);

// Writes numbers in the name as *, so that dump.1 and dump.2 are the same.
void file_rows_pattern(char *name);

// Sorts the rows of each layer by name, opens, reads, writes, read, written, bytes or time; the largest first, names in
// their order. ERR_NOTHING: there is no such key.
int file_rows_sort(struct file_rows *rows, const char *key);

// The first row of another layer.
size_t file_rows_layer_end(const struct file_rows *rows, size_t first);
struct file_row file_rows_total(const struct file_rows *rows, size_t first, size_t end);
