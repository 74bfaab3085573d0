// A job while it runs, from its spill directory. Nothing here writes, and nothing waits for the job: each look reads
// what its processes have written since the one before. Memory grows with the number of processes and files, up to
// limits, and not with the number of calls.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/bytes.h"
#include "base/lookup.h"
#include "base/problem.h"
#include "base/text_list.h"
#include "fmt/call.h"
#include "fmt/spill.h"

enum {
    LIVE_HISTORY = 512, // moments
    LIVE_SLOWEST = 10,
    LIVE_HOST = 256,
};

// Calls of POSIX and stdio, and their bytes: what reaches the file system. Calls above them move the same bytes again.
struct live_sums {
    uint64_t bytes[2]; // read, written
    uint64_t calls;
    uint64_t metadata; // of these, calls that open, close, or do something to names and attributes
};

// Per second, between the last two marks (live_mark).
struct live_rates {
    double bytes[2];
    double calls;
    double metadata;
};

struct live_flow {
    struct live_sums sums; // since the job's start
    struct live_sums marked;
    struct live_rates rate;
};

struct live_file {
    char *name;
    struct live_flow flow;
};

// A chunk of a spill that may still grow.
struct live_chunk {
    uint64_t offset; // of its header
    uint32_t kind;   // enum spill_chunk_kind
    uint32_t stream;
    uint32_t used; // as it was at the beginning of this look
    uint32_t read; // bytes of these that are read
    bool is_whole; // its stream goes on in another chunk
    struct stream_decoder *decoder;
};

// A process from one exec to the next, or to its end.
struct live_process {
    int fd; // of its spill; -1 once it is read to its end
    struct spill_header header;
    bool has_ended;
    bool is_local;
    bool has_rank;
    uint32_t rank;
    char host[LIVE_HOST];
    char *program; // the name of its file; or NULL
    struct live_flow flow;
    uint64_t io_units; // in calls that it made, summed over its threads; of its clock
    uint64_t io_marked;
    double io_share;         // of the time of the threads that made calls, between the last two marks
    uint64_t untraced_units; // of io_units, after the end of the trace or beside it
    uint64_t dropped_units;  // of these, in chunks of events that are not looked at any more
    uint64_t walked;         // where the next chunk begins
    unsigned waits;          // looks for which it has been missing
    struct live_chunk *chunk;
    size_t chunks;
    uint32_t *file; // by its own number: index of the file
    size_t files;
    struct live_sums *counted; // after the end of the trace, by place in the spill
    size_t counted_count;
};

struct live_call {
    uint16_t call; // id
    uint32_t file; // index
    uint32_t pid;
    bool has_rank;
    uint32_t rank;
    uint64_t bytes;
    int64_t start_ns; // since the job's start
    int64_t duration_ns;
};

struct live_moment {
    double seconds; // since the moment before
    struct live_rates rate;
};

struct live {
    char *directory;
    int dir_fd;
    struct text_list command;
    char host[LIVE_HOST]; // where `record` runs
    char here[LIVE_HOST]; // this machine
    uint64_t start_ns;    // since the epoch
    bool has_ended;
    bool is_behind;     // there is more to read than one look reads: look again before anything is shown
    bool is_incomplete; // the directory went away, perhaps with spills that were never read
    struct live_process *process;
    size_t processes;
    uint64_t running;
    uint64_t ended;  // also those that are not in `process` any more
    uint64_t unseen; // programs that run without a recorder, and processes without a spill
    struct live_flow total;
    struct live_file *file; // the first one stands for files that are not told apart
    size_t files;
    struct live_call slowest[LIVE_SLOWEST]; // the longest first
    size_t slow_count;
    uint64_t lost_events;
    uint64_t damaged_bytes;
    struct live_moment history[LIVE_HISTORY]; // a ring; the last one is at (moments - 1) % LIVE_HISTORY
    uint64_t moments;
    int64_t marked_ns; // CLOCK_MONOTONIC; 0 before the first mark
    // for looks
    struct lookup names;   // of spill files that are known
    struct lookup by_name; // hash of a file's name -> index
    struct lookup seen;
    struct bytes payload;
    struct timespec changed; // the directory
    uint64_t left;           // bytes that this look may still read
};

// ERR_NOTHING if it is not a spill directory. live_close releases it in any case.
int live_open(struct live *live, const char *directory, struct problem *problem);
void live_close(struct live *live);

// Reads what is new. Not an error: files that vanish or cannot be read.
int live_look(struct live *live);
// Computes rates since the mark before, and adds a moment to the history.
void live_mark(struct live *live);

static inline int64_t live_run_ns(const struct live *live, uint64_t epoch_ns) {
    uint64_t ns = epoch_ns > live->start_ns ? epoch_ns - live->start_ns : 0;
    return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

// Nanoseconds of a time in the units of a process's clock.
int64_t live_ns(const struct spill_header *header, uint64_t units);

// The call on a file that a process is in just now, as "write", and the file's name; false if it is in none, or if the
// system does not say.
bool live_now(const struct live_process *process, char call[32], char file[4096]);

// live/spill_follow.c: reads what one process has written since the last look.
int live_follow_process(struct live *live, struct live_process *process);
void live_forget_process(struct live_process *process); // all but the sums
