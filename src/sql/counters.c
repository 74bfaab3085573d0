// The table of counters: those of `ioseer stats --json`, one row per counter.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "log/stats.h"
#include "sql/table.h"

enum counter_column {
    COUNTER_ROW_LAYER,
    COUNTER_ROW_RANK,
    COUNTER_ROW_WORLD,
    COUNTER_ROW_FILE,
    COUNTER_ROW_OBJECT,
    COUNTER_ROW_COUNTER,
    COUNTER_ROW_VALUE,
};

static const struct sql_column columns[] = {
    [COUNTER_ROW_LAYER] = {"layer", SQL_TEXT, "posix, stdio, mpiio ...", true},
    [COUNTER_ROW_RANK] = {"rank", SQL_INTEGER, "-1: of all ranks, as in Darshan; NULL without MPI", true},
    [COUNTER_ROW_WORLD] = {"world", SQL_INTEGER, "number of the MPI job that the rank belongs to", true},
    [COUNTER_ROW_FILE] = {"file", SQL_TEXT, "name of the file", true},
    [COUNTER_ROW_OBJECT] = {"object", SQL_TEXT, "dataset, variable ... in the file", true},
    [COUNTER_ROW_COUNTER] = {"counter", SQL_TEXT, "as in Darshan: POSIX_OPENS ...", true},
    [COUNTER_ROW_VALUE] = {"value", SQL_REAL, "count, bytes or seconds", true},
    {0},
};

struct counter_record {
    const struct log_file *file; // or NULL
    int64_t rank;
    uint32_t world;
    bool has_rank;
    uint8_t layer;
};

struct counter_row {
    const char *name;
    uint32_t record;
    bool is_real, is_unknown;
    union {
        int64_t integer;
        double real;
    };
};

struct counter_rows {
    const struct log *log;
    struct counter_record *record;
    size_t records;
    struct counter_row *row;
    size_t rows;
};

static int add_record(const struct log_stats_record *record, void *context) {
    struct counter_rows *all = context;
    struct counters_value value[COUNTERS_MAX_VALUES];
    const struct counters_module module = log_stats_module(all->log, record);
    size_t count = counters_list(&record->counters, &module, value);
    struct counter_record kept = {.file = record->file,
                                  .rank = record->rank,
                                  .world = record->world,
                                  .has_rank = record->has_rank,
                                  .layer = (uint8_t)record->layer};
    for (size_t i = 0; i < count; i++) {
        struct counter_row row = {.name = value[i].name,
                                  .record = (uint32_t)all->records,
                                  .is_real = value[i].is_real,
                                  .is_unknown = value[i].is_unknown};
        if (row.is_real)
            row.real = value[i].real;
        else
            row.integer = value[i].integer;
        FORWARD(array_push(all->row, all->rows, row));
    }
    return array_push(all->record, all->records, kept);
}

static void free_rows(struct sql_bound *bound) {
    struct counter_rows *all = bound->data;
    if (!all) return;
    free(all->record);
    free(all->row);
    free(all);
    bound->data = NULL;
    bound->count = 0;
}

static int gather(struct sql_bound *bound, uint64_t set) {
    (void)set;
    if (bound->data) return 0;
    struct counter_rows *all = calloc(1, sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    bound->data = all;
    all->log = sql_log(bound->sql);
    int code = log_reduce(sql_log(bound->sql), NULL, false, add_record, all);
    bound->count = all->rows;
    if (code < 0) free_rows(bound);
    return code;
}

static struct sql_value value_of(const struct counter_rows *all, const struct counter_row *row,
                                 enum counter_column column) {
    const struct counter_record *record = &all->record[row->record];
    switch (column) {
    case COUNTER_ROW_LAYER: return sql_text(call_layer_name(record->layer));
    case COUNTER_ROW_RANK: return sql_if(record->has_rank, sql_integer(record->rank));
    case COUNTER_ROW_WORLD: return sql_if(record->has_rank, sql_integer(record->world));
    case COUNTER_ROW_FILE: return sql_text(record->file ? record->file->name : NULL);
    case COUNTER_ROW_OBJECT: return sql_text(record->file ? record->file->object : NULL);
    case COUNTER_ROW_COUNTER: return sql_text(row->name);
    case COUNTER_ROW_VALUE:
        return sql_if(!row->is_unknown, row->is_real ? sql_real(row->real) : sql_integer(row->integer));
    }
    return SQL_NULL_VALUE;
}

static void value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *out) {
    const struct counter_rows *all = bound->data;
    *out = value_of(all, &all->row[row], (enum counter_column)column);
}

const struct sql_table sql_table_counters = {
    .about = {"counters", "Darshan's counters, per layer and file, as stats --json prints them", columns},
    .gather = gather,
    .value = value,
    .free = free_rows,
};
