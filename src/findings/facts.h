// The facts that findings are made of. They are collected in one pass over the events; memory depends on the number of
// processes and files.
//
// A *grain* is all calls of one process on one file that have the same traits: kind, size, order and so on. Each grain
// has its part of the wall-clock time (findings/wall.h). Findings claim time from grains, and what one has claimed is
// gone for the others.
//
// A *cell* holds the times of all calls with the same traits on one storage, so that cells that differ in one trait can
// be compared.
//
// A *request* is a transfer that reached the file system: a POSIX call, made by the program or by a library.
// Asynchronous calls are left out, because their durations are not times in calls.
#pragma once

#include "base/lookup.h"
#include "findings/extents.h"
#include "findings/wall.h"
#include "log/collectives.h"
#include "log/images.h"
#include "log/visit.h"
#include "summary/call_tree.h"
#include "summary/stack.h"

enum facts_direction { FACTS_READ, FACTS_WRITE, FACTS_DIRECTIONS };

// The first two are requests, and equal to the directions.
enum facts_kind {
    KIND_READ,
    KIND_WRITE,
    KIND_OPEN,
    KIND_CLOSE,
    KIND_STAT,
    KIND_META, // other calls on names and attributes
    KIND_SYNC,
    KIND_MPI_READ,
    KIND_MPI_WRITE,
    KIND_MPI_OTHER,
    KIND_REST, // stdio, seeks, transfers without an offset
    KIND_COUNT
};

// Where a request begins, compared with the previous one of the same thread and file, or of the same process and file,
// whichever is closer: threads read parts of their own, or take the next part of a common list.
enum facts_order {
    FACTS_NEXT,    // at the end of the previous request; also the first request
    FACTS_STRIDED, // at the same distance as the previous one, or a little further
    FACTS_RANDOM,  // anywhere else
    FACTS_ORDERS
};

enum facts_below { BELOW_NONE, BELOW_INDEPENDENT, BELOW_COLLECTIVE };

enum facts_library {
    IN_NO_LIBRARY,
    IN_LIBRARY_READ,
    IN_LIBRARY_WRITE,
    IN_LIBRARY_OPEN,
    IN_LIBRARY_CLOSE, // and flush
    IN_LIBRARY_OTHER
};

enum {
    FACTS_SIZES = 16,      // size n: from 4^n bytes
    FACTS_SMALL_SIZE = 8,  // below 64 KiB
    FACTS_DURATIONS = 128, // four per power of two
    FACTS_LINES = 256,
    FACTS_STORAGES = 64,
    FACTS_ERRORS = 16,
    FACTS_MOST_USES = 1 << 20,
    FACTS_MOST_GRAINS = 1 << 22,
    FACTS_MOST_WAITS = 1 << 20,   // in all processes together
    FACTS_MOST_EXTENTS = 1 << 20, // in all uses together
};

struct facts_traits {
    uint32_t kind : 4;
    uint32_t size : 4;
    uint32_t order : 2;
    uint32_t unaligned : 1;
    uint32_t switched : 1;   // right after a request of the other direction on the same file
    uint32_t rewrite : 1;    // read, then written in the same place, again and again
    uint32_t warm : 1;       // a read of bytes that the job had moved before
    uint32_t again : 1;      // all bytes were read before; or written before, and not read since
    uint32_t failed : 1;     // with an error that means trouble, or moved less than it should
    uint32_t below : 2;      // enum facts_below: the call of MPI-IO that made it
    uint32_t sieving : 1;    // a read that MPI-IO makes in order to write
    uint32_t repeated : 1;   // opens, closes, stats, syncs: not the first of this process and file
    uint32_t collective : 1; // MPI-IO, by several processes
    uint32_t library : 3;    // enum facts_library: what the call above MPI-IO does that made it
    uint32_t uncached : 1;   // the process had opened the file with O_DIRECT, O_SYNC or O_DSYNC
};

struct facts_sum {
    uint64_t calls;
    uint64_t bytes;
    int64_t ns;
};

struct facts_cell {
    struct facts_sum sum;
    uint32_t storage;
    struct facts_traits traits;
    struct {
        uint32_t calls;
        int64_t ns;
    } duration[FACTS_DURATIONS];
};

// Logarithms of times or rates: their mean is not moved by a few pauses of a busy machine.
struct facts_spread {
    double count, sum, square;
};

struct facts_grain {
    struct facts_traits traits;
    uint32_t use;  // index
    uint32_t cell; // index
    struct facts_sum sum;
    double wall_ns; // its part of the wall-clock time
    double late_ns; // of that: waiting for ranks that came later to the collective call
    double left_ns; // not claimed yet
    struct facts_spread spread;
};

struct facts_wait {
    int64_t until_ns; // start of the next call; INT64_MAX after the last one
    double ns;
};

struct facts_waits {
    struct facts_wait *wait;
    size_t count;
};

struct facts_process {
    const struct log_process *process;
    struct facts_sum own[FACTS_DIRECTIONS];    // transfers that the program made, in any layer
    struct facts_sum mpi[FACTS_DIRECTIONS][2]; // MPI-IO: independent, collective
    uint64_t pieces[FACTS_DIRECTIONS][2];      // contiguous parts of the file in these calls
    int64_t io_ns;                             // in calls that the program made; simultaneous calls count once
    int64_t busy_until_ns;
    struct facts_sum comm;
    struct facts_waits comm_waits; // time in communication, between two calls
    struct facts_waits io_waits;   // time between two calls in which another process was in a call
    uint32_t in_progress;
    bool has_alone;       // collective calls on a file that MPI-IO opened for this process only: they wait for nobody
    uint64_t alone;       // the id of the last one
    double idle_since_ns; // of wall.any_ns
    uint32_t last_file;   // the last file it used (index in the log's table + 1), and the index in `use`
    uint32_t last_use;
    uint32_t last_grain;  // + 1
    uint64_t mpi_call;    // the last call of MPI-IO inside a call above MPI-IO
    unsigned mpi_library; // enum facts_library of that one
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
    struct facts_spread rate[2];
};

struct facts_file {
    const struct log_file *file;
    struct facts_sum request[FACTS_DIRECTIONS];
    uint64_t stdio_bytes;
    uint64_t async_bytes;                     // of POSIX
    struct facts_sum small[FACTS_DIRECTIONS]; // below FACTS_SMALL_SIZE
    struct facts_sum unaligned[FACTS_DIRECTIONS];
    struct facts_sum switched[FACTS_DIRECTIONS];
    uint32_t processes[FACTS_DIRECTIONS]; // number that read, number that wrote
    uint32_t users;                       // number of processes
    uint32_t storage;
    uint64_t periods[FACTS_DIRECTIONS]; // one bit per 64th of the run with requests
    struct extents extents[FACTS_DIRECTIONS];
    struct extents unread;            // written, and not read since
    uint64_t again[FACTS_DIRECTIONS]; // bytes that were moved in this direction before
    uint64_t for_nothing;             // bytes that were overwritten before anybody read them
    uint64_t read_by_itself;          // bytes read again that the same process had read before
    bool read_by_unknown;             // too many extents to know whether it was the same process
    uint64_t remembered;              // bytes read at memory speed that the job had read or written before
    struct facts_together together[FACTS_DIRECTIONS];
};

// The last requests of one thread, or of all threads, in a use.
struct facts_trail {
    bool begun[FACTS_DIRECTIONS];
    uint64_t end[FACTS_DIRECTIONS];   // of the last request
    uint64_t start[FACTS_DIRECTIONS]; // and its start
    int64_t displacement[FACTS_DIRECTIONS];
    uint8_t last;   // direction of the last request + 1
    bool rewriting; // the last request wrote what the one before it had read
};

// The use of a file by a process.
struct facts_use {
    uint32_t process; // index in the log's table
    uint32_t file;    // the same; `files` of the facts if there is no file, or its name is not known
    bool moved[FACTS_DIRECTIONS];
    bool uncached;
    bool has_threads;         // several make requests
    uint32_t thread;          // that made the first request, + 1; 0: none
    struct facts_trail trail; // of that thread
    struct facts_trail all;   // of all threads, if there are several
    uint32_t count[KIND_COUNT];
    uint64_t view_bytes; // bytes per instance of the file view's type; 0: no view
    uint64_t view_pieces;
    struct extents read;
};

struct facts_line {
    const char *line;
    unsigned class;
    struct facts_sum sum;
};

struct facts_error {
    int error; // 0: fewer bytes than asked for
    unsigned class;
    uint64_t calls;
};

struct facts {
    struct log *log;
    int64_t run_ns;
    uint64_t ranks;                // of the largest MPI job; 0 without MPI
    struct facts_process *process; // by index in the log's table
    size_t processes;
    struct facts_file **file; // by index in the log's table; NULL: the file was not used
    size_t files;
    struct facts_use *use;
    size_t uses;
    struct lookup use_of; // process and file -> index in `use`
    struct log_images images;
    struct lookup users, movers[FACTS_DIRECTIONS]; // of the files: processes that use, read, write them
    struct facts_grain *grain;
    size_t grains;
    struct lookup grain_of;    // use and traits -> index in `grain`
    struct facts_trail *trail; // of threads that are not the first of their use
    size_t trails;
    struct lookup trail_of;   // use and thread -> index in `trail`
    struct meetings meetings; // of the collective calls
    struct facts_cell *cell;
    size_t cells;
    struct lookup cell_of;            // storage and traits -> index in `cell`
    uint64_t storage[FACTS_STORAGES]; // device numbers
    size_t storages;
    uint64_t left_out;  // calls beyond the limits
    size_t use_extents; // number of extents in all uses
    size_t waits;       // of the processes, as far as the visit's one thread adds them
    struct wall wall;
    struct facts_error error[FACTS_ERRORS];
    size_t errors;
    struct facts_line line[FACTS_LINES];
    size_t lines;
    bool *is_stat;                             // by call
    const struct log_collectives *collectives; // what happened inside collective calls; NULL: not known
    const struct call_tree *tree;              // of layers above MPI-IO; NULL: not known
    const struct summary_stack *stack;         // below the system call; NULL: not known
};

int facts_init(struct facts *facts, struct log *log);
// Adds an event. Events must come in the order of their starts.
int facts_add(struct facts *facts, const struct log_event *event);
struct log_consumer facts_consumer(struct facts *facts); // for the communication
int facts_finish(struct facts *facts);                   // call it after the last event
void facts_free(struct facts *facts);

// --- grains and cells (grains.c)

int facts_use_of(struct facts *facts, const struct log_event *event, struct facts_file *file, struct facts_use **use);
// The index of the grain, or WALL_NO_GRAIN beyond the limit.
int facts_grain_of(struct facts *facts, struct facts_use *use, struct facts_traits traits, uint32_t storage,
                   uint32_t *grain);
void facts_grain_add(struct facts *facts, uint32_t grain, uint64_t bytes, int64_t ns);
unsigned facts_size(uint64_t bytes); // the n of FACTS_SIZES
void facts_cell_add(struct facts_cell *cell, uint64_t bytes, int64_t ns);

// --- queries

// The cell with these traits; NULL if there is none. Traits that do not belong to a cell do not count.
const struct facts_cell *facts_cell_find(const struct facts *facts, uint32_t storage, struct facts_traits traits);
// Whether calls with these traits can be compared across storages.
bool facts_are_alike(struct facts_traits a, struct facts_traits b);
// Typical time of one call: the mean without the longest 5 %, which contain the pauses of a busy machine.
int64_t facts_typical_ns(const struct facts_cell *cell);
// The part of the time of these calls that exceeds `least_ns` each, without those pauses.
double facts_part_beyond(const struct facts_cell *cell, double least_ns);
// The time below which this part of the calls lies.
int64_t facts_quantile_ns(const struct facts_cell *cell, double part);
// Time of a call served from memory: some microseconds for the system, and a copy.
int64_t facts_memory_ns(uint64_t bytes);
bool facts_at_memory_speed(const struct facts_cell *cell);

void facts_spread_add(struct facts_spread *spread, double value);
void facts_spread_join(struct facts_spread *spread, const struct facts_spread *more);
// By which factor the values of `a` are larger than those of `b`; 1 if that may be chance.
double facts_factor(const struct facts_spread *a, const struct facts_spread *b);

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
