// The facts that findings compare: sums and typical times of calls, grouped so that calls can be compared with others
// of the same log that differ in one property. They are collected in one pass over the events; memory depends on the
// number of processes and files.
//
// A *request* is a transfer that reached the file system: a POSIX call, made by the program or by a library. Requests
// of asynchronous calls are left out, because their durations are not times in calls.
#pragma once

#include "base/lookup.h"
#include "findings/extents.h"
#include "log/visit.h"

enum facts_direction { FACTS_READ, FACTS_WRITE, FACTS_DIRECTIONS };

// Where a request begins, compared with the previous one of the same process and file.
enum facts_order {
    FACTS_NEXT,    // at the end of the previous request; also the first request
    FACTS_STRIDED, // at the same distance as the previous one, or a little further
    FACTS_RANDOM,  // anywhere else
    FACTS_ORDERS
};

enum facts_meta { FACTS_OPEN, FACTS_CLOSE, FACTS_STAT, FACTS_OTHER_META, FACTS_METAS };

enum {
    FACTS_SIZES = 16,      // size n: from 4^n bytes
    FACTS_SMALL_SIZE = 8,  // below 64 KiB
    FACTS_DURATIONS = 128, // four per power of two
    FACTS_LINES = 256,
    FACTS_MOST_USES = 1 << 20,
    FACTS_MOST_EXTENTS = 1 << 20, // in all uses together
};

struct facts_sum {
    uint64_t calls;
    uint64_t bytes;
    int64_t ns;
};

// Requests with the same properties.
struct facts_cell {
    struct facts_sum sum;
    struct {
        uint32_t calls;
        int64_t ns;
    } duration[FACTS_DURATIONS];
};

struct facts_process {
    const struct log_process *process;
    struct facts_sum own[FACTS_DIRECTIONS]; // transfers that the program made, in any layer
    struct facts_sum request[FACTS_DIRECTIONS];
    struct facts_sum small[FACTS_DIRECTIONS]; // the small ones of these that are in order
    struct facts_sum random[FACTS_DIRECTIONS];
    struct facts_sum unaligned[FACTS_DIRECTIONS];
    struct facts_sum switched[FACTS_DIRECTIONS]; // right after a request of the other direction on the same file
    struct facts_sum mpi[FACTS_DIRECTIONS][2];   // MPI-IO: independent, collective
    uint64_t pieces[FACTS_DIRECTIONS][2];        // contiguous parts of the file in these calls
    struct facts_sum below[FACTS_DIRECTIONS][FACTS_DIRECTIONS]
                          [2]; // requests: [their direction][direction of the MPI-IO call][collective]
    struct facts_sum meta[FACTS_METAS];
    struct facts_sum failed; // those that failed
    struct facts_sum opened_again;
    struct facts_sum stat_again;
    struct facts_sum sync_again;
    struct facts_sum comm[STREAM_COMM_KINDS];
    uint32_t last_file; // the last file it used (index in the log's table + 1), and the index in `use`
    uint32_t last_use;
};

// Times at which one process, or several, had active requests on a file.
struct facts_together {
    int64_t until_ns; // end of the current period
    int64_t start_ns; // its start
    uint64_t bytes;   // moved in it
    uint64_t calls;
    uint32_t process; // the first process in it, + 1; 0: none
    bool several;
    struct facts_sum sum[2]; // one process; several. ns is the time with at least one active request
};

struct facts_file {
    const struct log_file *file;
    struct facts_sum request[FACTS_DIRECTIONS];
    struct facts_sum small[FACTS_DIRECTIONS];
    struct facts_sum random[FACTS_DIRECTIONS];
    struct facts_sum unaligned[FACTS_DIRECTIONS];
    struct facts_sum switched[FACTS_DIRECTIONS];
    struct facts_sum below[2]; // requests below MPI-IO: independent, collective
    struct facts_sum meta;
    struct facts_sum sync;
    uint32_t processes[FACTS_DIRECTIONS]; // number that read, number that wrote
    uint32_t users;                       // number of processes
    struct extents extents[FACTS_DIRECTIONS];
    uint64_t again[FACTS_DIRECTIONS]; // bytes that were moved in this direction before
    uint64_t read_by_itself;          // bytes read again that the same process had read before
    bool read_by_unknown;             // too many extents to know whether it was the same process
    struct facts_sum remembered;      // reads at memory speed of bytes that the job had read or written before
    struct facts_sum fetched;         // all other reads
    struct facts_together together[FACTS_DIRECTIONS];
};

// The use of a file by a process.
struct facts_use {
    uint32_t process; // index in the log's table
    uint32_t file;
    bool moved[FACTS_DIRECTIONS];
    bool begun[FACTS_DIRECTIONS];
    uint64_t end[FACTS_DIRECTIONS];   // of the last request
    uint64_t start[FACTS_DIRECTIONS]; // and its start
    int64_t displacement[FACTS_DIRECTIONS];
    uint8_t last; // direction of the last request + 1
    uint32_t opens;
    uint32_t stats;
    uint32_t syncs;
    uint64_t view_bytes; // bytes per instance of the file view's type; 0: no view
    uint64_t view_pieces;
    struct extents read;
};

struct facts_line {
    const char *line;
    unsigned class;
    struct facts_sum sum;
};

struct facts {
    struct log *log;
    int64_t run_ns;                // set it before findings_make
    uint64_t ranks;                // of the largest MPI job; 0 without MPI
    struct facts_process *process; // by index in the log's table
    size_t processes;
    struct facts_file **file; // by index in the log's table; NULL: the file was not used
    size_t files;
    struct facts_use *use;
    size_t uses;
    struct lookup use_of; // process and file -> index in `use`
    uint64_t uses_left_out;
    size_t use_extents; // number of extents that may still be added
    // [direction][size][order][unaligned][switched]
    struct facts_cell cell[FACTS_DIRECTIONS][FACTS_SIZES][FACTS_ORDERS][2][2];
    struct facts_line line[FACTS_LINES];
    size_t lines;
    bool *is_stat; // by call
};

int facts_init(struct facts *facts, struct log *log);
// Adds an event. Events must come in the order of their starts.
int facts_add(struct facts *facts, const struct log_event *event);
struct log_consumer facts_consumer(struct facts *facts); // for the communication
void facts_finish(struct facts *facts);                  // call it after the last event
void facts_free(struct facts *facts);

// --- queries

unsigned facts_size(uint64_t bytes); // the n of FACTS_SIZES
void facts_cell_add(struct facts_cell *cell, uint64_t bytes, int64_t ns);
// Typical time of one request: the mean without the longest 5 %, which contain the pauses of a busy machine.
int64_t facts_typical_ns(const struct facts_cell *cell);
// Time of a call served from memory: some microseconds for the system, and a copy.
int64_t facts_memory_ns(uint64_t bytes);
// On average these took no longer than in memory, so differences between them do not come from the storage.
bool facts_at_memory_speed(const struct facts_sum *sum);

static inline void facts_sum_add(struct facts_sum *sum, uint64_t bytes, int64_t ns) {
    sum->calls++;
    sum->bytes += bytes;
    sum->ns += ns;
}

static inline void facts_sum_join(struct facts_sum *sum, const struct facts_sum *more) {
    sum->calls += more->calls;
    sum->bytes += more->bytes;
    sum->ns += more->ns;
}
