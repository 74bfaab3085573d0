// What the findings are made of: sums and typical times of calls, put together so that calls can be compared with
// others of the same log that are alike but for one thing. Gathered in one pass over the events; memory depends on the
// numbers of processes and files.
//
// A *request* is a transfer that reached the file system: a POSIX call, whoever made it. Requests of asynchronous calls
// are left out, as their durations are not times in calls.
#pragma once

#include "base/lookup.h"
#include "findings/extents.h"
#include "log/visit.h"

enum facts_direction { FACTS_READ, FACTS_WRITE, FACTS_DIRECTIONS };

// Where a request begins, seen from the one before it of the same process and file.
enum facts_order {
    FACTS_NEXT,    // where that one ended, or the first of all
    FACTS_STRIDED, // as far from it as that one from the one before, or a little further on
    FACTS_RANDOM,  // elsewhere
    FACTS_ORDERS
};

enum facts_meta { FACTS_OPEN, FACTS_CLOSE, FACTS_STAT, FACTS_OTHER_META, FACTS_METAS };

enum {
    FACTS_SIZES = 16,      // size n: from 4^n bytes on
    FACTS_SMALL_SIZE = 8,  // below 64 KiB
    FACTS_DURATIONS = 128, // four to each power of two
    FACTS_LINES = 256,
    FACTS_MOST_USES = 1 << 20,
    FACTS_MOST_EXTENTS = 1 << 20, // of all uses together
};

struct facts_sum {
    uint64_t calls;
    uint64_t bytes;
    int64_t ns;
};

// Requests that are alike.
struct facts_cell {
    struct facts_sum sum;
    struct {
        uint32_t calls;
        int64_t ns;
    } duration[FACTS_DURATIONS];
};

struct facts_process {
    const struct log_process *process;
    struct facts_sum own[FACTS_DIRECTIONS]; // transfers that the program made, of whatever layer
    struct facts_sum request[FACTS_DIRECTIONS];
    struct facts_sum small[FACTS_DIRECTIONS]; // of these the small ones in order
    struct facts_sum random[FACTS_DIRECTIONS];
    struct facts_sum unaligned[FACTS_DIRECTIONS];
    struct facts_sum switched[FACTS_DIRECTIONS]; // right after a request of the other direction on the same file
    struct facts_sum mpi[FACTS_DIRECTIONS][2];   // MPI-IO: independent, collective
    uint64_t pieces[FACTS_DIRECTIONS][2];        // contiguous parts of the file that these consist of
    struct facts_sum below[FACTS_DIRECTIONS][FACTS_DIRECTIONS][2]; // requests: [theirs][of the MPI-IO call][collective]
    struct facts_sum meta[FACTS_METAS];
    struct facts_sum failed; // of these
    struct facts_sum opened_again;
    struct facts_sum stat_again;
    struct facts_sum sync_again;
    struct facts_sum comm[STREAM_COMM_KINDS];
    uint32_t last_file; // that it used, place in the log's table + 1, and the place in `use`
    uint32_t last_use;
};

// While several processes, or only one, had requests under way on a file.
struct facts_together {
    int64_t until_ns; // of the time that goes on
    int64_t start_ns; // of it
    uint64_t bytes;   // in it
    uint64_t calls;
    uint32_t process; // the first in it, + 1; 0 for none
    bool several;
    struct facts_sum sum[2]; // one process; several: ns is the time during which any was
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
    uint32_t processes[FACTS_DIRECTIONS]; // that read, that wrote
    uint32_t users;                       // processes
    struct extents extents[FACTS_DIRECTIONS];
    uint64_t again[FACTS_DIRECTIONS]; // bytes that were moved in this direction before
    uint64_t read_by_itself;          // of those read again: what the same process had read before
    bool read_by_unknown;             // too many extents to tell whether it was the same
    struct facts_sum remembered;      // reads as fast as memory of what the job had read or written before
    struct facts_sum fetched;         // all other reads
    struct facts_together together[FACTS_DIRECTIONS];
};

// A process's use of a file.
struct facts_use {
    uint32_t process; // place in the log's table
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
    uint64_t view_bytes; // of an instance of the file view's type, 0 without one
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
    int64_t run_ns;                // to be set before findings are made
    uint64_t ranks;                // of the largest MPI job, 0 without MPI
    struct facts_process *process; // by place in the log's table
    size_t processes;
    struct facts_file **file; // so too; NULL where a file was not used
    size_t files;
    struct facts_use *use;
    size_t uses;
    struct lookup use_of; // process and file -> place in `use`
    uint64_t uses_left_out;
    size_t use_extents; // there is room for
    // [direction][size][order][unaligned][switched]
    struct facts_cell cell[FACTS_DIRECTIONS][FACTS_SIZES][FACTS_ORDERS][2][2];
    struct facts_line line[FACTS_LINES];
    size_t lines;
    bool *is_stat; // by call
};

int facts_init(struct facts *facts, struct log *log);
// Adds an event; they must come in the order of their starts.
int facts_add(struct facts *facts, const struct log_event *event);
struct log_consumer facts_consumer(struct facts *facts); // of the communication
void facts_finish(struct facts *facts);                  // after the last event
void facts_free(struct facts *facts);

// --- looking at them

unsigned facts_size(uint64_t bytes); // the n of FACTS_SIZES
void facts_cell_add(struct facts_cell *cell, uint64_t bytes, int64_t ns);
// What one of these takes: the mean without the longest twentieth, in which a busy machine's pauses are.
int64_t facts_typical_ns(const struct facts_cell *cell);
// What a call takes that the storage has no part in: some microseconds for the system, and a copy.
int64_t facts_memory_ns(uint64_t bytes);
bool facts_is_memory(const struct log_file *file); // its file system is in memory
// On average these took no longer than in memory: differences between them are not the storage's.
bool facts_at_memory_speed(const struct facts_sum *sum);

static inline void facts_sum_add(struct facts_sum *sum, uint64_t bytes, int64_t ns)
{
    sum->calls++;
    sum->bytes += bytes;
    sum->ns += ns;
}

static inline void facts_sum_join(struct facts_sum *sum, const struct facts_sum *more)
{
    sum->calls += more->calls;
    sum->bytes += more->bytes;
    sum->ns += more->ns;
}
