// The collective calls of a log, summed up per file and operation (log/collectives.h).
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "log/collectives.h"

struct mpi_files;

struct collectives_part {
    uint64_t count;
    int64_t ns;     // sum
    double squares; // sum of those of the seconds
};

// A rank that accesses the file for others.
struct collectives_aggregator {
    uint32_t row;
    const struct log_process *process;
    uint64_t calls;
};

struct collectives_row {
    const struct log_file *file; // or NULL
    const struct log_call *call;
    uint32_t world; // of the ranks, or LOG_NO_WORLD
    uint64_t calls; // of all ranks; matched. All that follows is about these
    uint64_t unmatched;
    uint64_t bytes;
    uint64_t two_phase;                         // calls with aggregators
    uint64_t rounds;                            // sum over these calls of all ranks
    uint32_t ranks;                             // the most that made one call together
    struct collectives_part part[INSIDE_PARTS]; // of each call of each rank
    struct collectives_part round[INSIDE_REST]; // of each round of each aggregator: who has file access and exchange
    size_t first_aggregator, aggregators;       // in the list; set at the end
};

struct collectives {
    struct log_collectives in;
    struct collectives_row *row; // those with matched calls, the most time first, then the others
    size_t rows, divided;        // with matched calls
    struct lookup row_of;        // file, call and world -> index in `row`
    struct collectives_aggregator *aggregator;
    size_t aggregators;
    struct lookup aggregator_of;     // row and process -> index in `aggregator`
    const struct log_process **late; // that came last to calls, the longest waited for first
    size_t lates;
    uint64_t ended; // ranks whose trace ended early: their later calls are not here
};

int collectives_begin(struct collectives *collectives, struct log *log, struct log_consumer *consumer);
int collectives_finish(struct collectives *collectives);
void collectives_free(struct collectives *collectives);

static inline int64_t collectives_time_ns(const struct collectives_row *row) {
    return row->part[INSIDE_WAIT].ns + row->part[INSIDE_EXCHANGE].ns + row->part[INSIDE_IO].ns +
           row->part[INSIDE_REST].ns;
}
double collectives_mean(const struct collectives_part *part); // seconds
double collectives_variance(const struct collectives_part *part);
double collectives_deviation(const struct collectives_part *part);
static inline bool collectives_has(const struct collectives *all) {
    return all->in.calls || all->in.unmatched || all->in.nonblocking;
}
// How much of the time is the exchange of data between ranks (the shuffle).
struct collectives_shuffle {
    bool known;       // there was some exchange or file access
    double of_moving; // exchange / (exchange + file access)
    double of_all;    // of the whole time
};
struct collectives_shuffle collectives_shuffle(int64_t exchange_ns, int64_t io_ns, int64_t all_ns);
// A hint in force for the file, such as "cb_nodes"; NULL if it is not known.
const char *collectives_hint(const struct mpi_files *files, const struct log_file *file, const char *name);
// The aggregators as a list: "0,4", or "0-3" for ranks in a row.
void collectives_ranks(const struct collectives *collectives, const struct collectives_row *row, struct bytes *text);

// A table for people: at most `most` operations.
int collectives_text(const struct collectives *collectives, const struct mpi_files *files, size_t most, FILE *out);
// The value of "collectives"; its lists have at most `most` members.
void collectives_json(const struct collectives *collectives, const struct mpi_files *files, struct json_out *json,
                      size_t most);
