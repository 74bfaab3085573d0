// What `ioseer info` knows about a log: job, processes, ranks, files, devices, coverage and losses. The verb prints it,
// the report contains it.
#pragma once

#include "base/arena.h"
#include "base/json_out.h"
#include "log/images.h"
#include "log/visit.h"
#include "summary/call_tree.h"
#include "summary/collectives.h"
#include "summary/communicators.h"
#include "summary/coverage.h"
#include "summary/mpi_files.h"
#include "summary/stack.h"

// An open log and where it comes from.
struct summary_source {
    struct log *log;
    const char *path;
    bool from_spills; // `path` is a directory of spill files, packed on the fly
};

struct summary_file {
    const struct log_file *file;
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t mapped[MAPPED_KINDS]; // through mappings: an estimate
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // the last image counted: its records are adjacent
};

// Time with at least one call under way. Calls are added in the order of their starts.
struct summary_busy {
    int64_t ns;
    int64_t until_ns;
};

// Sums over the events of a program image, up to the end of its trace.
struct summary_process {
    struct summary *summary;
    struct summary_busy io; // in calls that the program made
    int64_t last_end_ns;
    int64_t comm_ns;
    uint64_t calls; // that the program made
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t uncounted[DIRECTION_COUNT];             // bytes of calls that the kernel does not count
    uint64_t untraced[LAYER_COUNT][DIRECTION_COUNT]; // bytes that were counted after the end of the trace
};

// A process with all programs that it executed one after the other.
struct summary_row {
    const struct log_process *process; // the program with the most time in I/O; of equal ones the last
    const struct log_process *last;
    uint64_t images;
    uint64_t members; // processes: more than one if many ranks have one record; then times, bytes and calls are sums
    int64_t run_ns;
    int64_t io_ns;
    bool io_known;
    bool bytes_known; // false: an imported log has them for all ranks together only
    uint64_t calls;   // that it made itself
    uint64_t bytes[DIRECTION_COUNT];
    bool counts; // it belongs to the application
};

// How a rank spent the time of its run.
enum rank_time { RANK_RUN, RANK_IO, RANK_COMMUNICATION, RANK_REST, RANK_TIMES };

struct summary_rank {
    const struct log_process *process;
    int64_t ns[RANK_TIMES]; // of a group of ranks: the mean
    bool comm_known;        // an imported log has no communication
    bool known; // I/O and rest, not just RANK_RUN; a log of an early version lacks them past the end of the trace
};

// The application's I/O in a few numbers.
struct summary_totals {
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t calls;
    uint64_t processes; // that did I/O; a process that executes another program counts once
    int64_t run_ns;
    int64_t io_ns;                     // with MPI: mean of the ranks; otherwise: with any process in I/O
    const struct summary_row *busiest; // NULL if no process did I/O
    double io_share;                   // io_ns divided by run time; negative: unknown
};

// The counters of another program's log.
struct summary_imported {
    bool is_there;
    bool is_shared; // some are sums over ranks: what each of them did is not known
    double io_ns;   // summed over the ranks, of the highest layer of each file
    uint64_t calls;
    uint64_t bytes[DIRECTION_COUNT];
};

struct summary_host {
    const char *name;
    uint64_t processes;
    bool is_reference;            // the job's host, or one whose clock others follow
    const struct log_host *clock; // NULL: not aligned
};

struct summary {
    struct summary_source source;
    struct log *log;            // source.log
    struct summary_file *files; // the files that were used, most bytes first
    size_t file_count;
    struct log_images images;
    struct lookup users;                  // of the files
    struct summary_process *process;      // by index in the log's table
    const struct log_process **processes; // ranks first
    struct summary_row *rows; // the application, then others, then launchers; of each, the most time in I/O first
    size_t row_count;
    struct summary_busy job;    // filled by a consumer that sees the events of all processes in order
    struct summary_rank *ranks; // by world, then rank
    size_t rank_count;          // entries; many ranks that are alike have one
    uint64_t rank_total;        // ranks
    struct summary_totals totals;
    struct summary_imported imported;
    struct mpi_files mpi_files;
    struct summary_comms comms;
    struct collectives collectives;
    bool layer_used[LAYER_COUNT];
    uint64_t lost_events;
    uint64_t spill_damaged_bytes; // of the spill files that the log was made from
    bool may_lack_events;         // damage may hide events that cannot be counted
    bool origin_damaged;          // the log of another program that it was made from
    bool is_damaged;              // something in the log or in its spill files cannot be read
    const char *mpi;              // or NULL
    uint64_t nprocs;
    struct summary_host *hosts; // by name
    size_t host_count;
    struct arena arena; // their names
    struct coverage coverage;
    struct call_tree tree;
    struct summary_stack stack;
    log_stats_callback *also; // or NULL
    void *also_context;
    struct log_stats_request stats;
};

// Files past the recorder's caps, as each process counted its own, and the records that stand for them.
struct summary_past_cap {
    uint64_t files;
    uint64_t records;
};
struct summary_past_cap summary_past_cap(const struct summary *summary);
int summary_hosts_find(struct summary *summary); // hosts.c

// Reads all events and counters. Call summary_free in any case.
int summary_gather(struct summary *summary, const struct summary_source *source);

// The same as part of a visit with other consumers (log/visit.h). summary_begin makes consumers, summary_finish
// follows the visit. `also` (or NULL) gets the counters, too.
enum { SUMMARY_CONSUMERS = 5 };
int summary_begin(struct summary *summary, const struct summary_source *source, log_stats_callback *also, void *context,
                  struct log_consumer consumer[SUMMARY_CONSUMERS]);
int summary_finish(struct summary *summary);

// For a consumer that sees the events of all processes in order: fills `job`.
void summary_job_add(struct summary *summary, const struct log_event *event);

// Reads no events: files, the times of the ranks and most totals stay unknown.
int summary_gather_index(struct summary *summary, const struct summary_source *source);
void summary_free(struct summary *summary);

// Adds a program image to the row of its process, which is 0 before the first one.
void summary_row_add(const struct summary *summary, struct summary_row *row, const struct log_process *image);
int summary_add_imported(struct summary *summary); // imported.c
void summary_imported_totals(const struct summary *summary, struct summary_totals *totals);
// The least or the most of a time in the ranks of the entry. Of a group the rest is not known: the mean.
int64_t summary_rank_extreme(const struct summary_rank *rank, enum rank_time time, bool is_most);
int64_t summary_row_most_io_ns(const struct summary_row *row); // of one process of the row
double summary_row_share(const struct summary_row *row);       // of its run time in I/O, 0 to 1
void summary_busy_add(struct summary_busy *busy, const struct log_event *event);
// The program's name without its folders; never NULL.
const char *summary_program(const struct log_process *process);

// Whether the process belongs to the application: with MPI its ranks do, without MPI all processes but launchers.
bool summary_counts_process(const struct log *log, const struct log_process *process);

// One object. No list has more than `most` members; with SIZE_MAX long words are not cut either.
int summary_json(const struct summary *summary, struct json_out *json, size_t most);

// Members that objects in other documents also have: "counters", and the "name", "host" and "number" of a device.
void summary_key_counters(struct json_out *json, const struct counters *counters, const struct counters_module *module);
void summary_key_device(struct json_out *json, const struct log_device *device);

// The part of summary_begin and summary_finish that is about processes (processes.c).
int summary_begin_processes(struct summary *summary, struct log_consumer *consumer);
int summary_finish_processes(struct summary *summary);
