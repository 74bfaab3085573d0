// IOPro's questions about the latency, throughput, energy and calls of processes, their calls, and servers:
//
//     Latency Breakdown Inclusive|Exclusive        [process] [mpi_call]
//     Latency Operation List|Max|Min|Avg           [process] [mpi_call] [pvfs_call] [server]
//     Throughput                                   [process] [mpi_call] [pvfs_call] [server]
//     Energy [active_watts] [inactive_watts]       [process] [mpi_call] [pvfs_call] [server]
//     Call                                         [process] [mpi_call] [pvfs_call] [server]
//
// A field is a number, a range 0-4, a list 0,3,5-7, or - for all, with or without brackets. Fields that are missing at
// the end mean all. Each question is a statement of SQL over the tables of src/sql.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/log.h"

enum query_kind {
    QUERY_INCLUSIVE,
    QUERY_EXCLUSIVE,
    QUERY_LIST,
    QUERY_MAX,
    QUERY_MIN,
    QUERY_AVG,
    QUERY_THROUGHPUT,
    QUERY_ENERGY,
    QUERY_CALL,
};

enum query_place { QUERY_PROCESS, QUERY_MPI_CALL, QUERY_PVFS_CALL, QUERY_SERVER, QUERY_PLACES };
enum { QUERY_MOST_RANGES = 64 };

struct query_field {
    size_t ranges; // 0: all
    struct {
        uint64_t from, to;
    } range[QUERY_MOST_RANGES];
};

struct query {
    enum query_kind kind;
    double active_watts, inactive_watts;
    struct query_field field[QUERY_PLACES];
};

struct query_error {
    size_t at, len; // of the wrong word, in bytes; at the end of the text `len` is 0
    char why[256];  // and what may stand there
};

int query_parse(struct query *query, const char *text, struct query_error *error); // ERR_USAGE with the error

enum query_unit { QUERY_SECONDS, QUERY_BYTES_PER_SECOND, QUERY_JOULES, QUERY_CALLS };

struct query_statement {
    char *text;
    char *chart;          // its columns: label, series, value; rows with the same label are neighbours
    bool is_stacked;      // the series of a label are parts of one bar
    enum query_unit unit; // of the chart's values
    const char *note;     // what the log lacks, and what is answered instead; NULL: nothing
};

// What the statement is depends on the layers that the log has.
int query_to_sql(struct query_statement *statement, const struct query *query, const struct log *log);
void query_statement_free(struct query_statement *statement);
