// A SYSTEM profile (doc/system.md): what an I/O subsystem can do, for any application.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json_in.h"
#include "target/system/storage.h"

enum { SYSTEM_VERSION = 1 };

enum system_mode { MODE_SEQUENTIAL, MODE_STRIDED, MODE_RANDOM, MODE_COUNT };

struct system_point {
    bool write;
    uint64_t size;
    enum system_mode mode;
    uint32_t np;
    bool shared;
    bool collective;
    bool warm;          // the page cache had the data, or took it
    double pause;       // before each request, seconds; as long as a request takes without one
    double bandwidth;   // bytes per second of all processes together: median
    double low, high;   // 95 % interval
    double latency_p50; // of one request, seconds
    double latency_p99;
    unsigned runs;
    bool stable; // the interval is narrow
};

struct system_metadata {
    uint32_t np;
    double create, stat, open, unlink; // per second
};

struct system_messages {
    char name[STORAGE_TEXT]; // of MPI; empty: none
    uint32_t np;
    double latency;   // seconds
    double bandwidth; // bytes per second
};

// A line through the times of messages, or of parts of a call, over their bytes.
struct system_line {
    double start;    // seconds of one, however small
    double per_byte; // seconds
};

// What the parts of a collective call cost besides the storage, measured with files in memory. A call of all ranks
// moves pieces, in rounds of one buffer.
struct system_collective {
    double per_call;  // seconds: ranks agree on who wants what
    double per_round; // ranks meet once for each buffer of the aggregators
    double per_byte;  // of what is exchanged and copied, all ranks together, one aggregator
    double per_piece; // contiguous piece of one rank's data in the file
    double error;     // mean error of the fit, as a fraction
};

// MPI-IO with `np` processes, on this machine and storage.
struct system_mpiio {
    char name[STORAGE_TEXT]; // of MPI; empty: none
    char library[16];        // romio or ompio
    uint32_t np, nodes;
    struct system_line within, between; // messages between two ranks of one node, and of two nodes; all 0: not measured
    double sequential[2];               // bytes per second of large requests in order, reading and writing
    double random[2];                   // the same of requests of `random_size` in random order
    uint64_t random_size;
    struct system_collective collective[2]; // reading, writing
    double per_piece[2]; // of an independent call: seconds of each contiguous piece of a file view, without the storage
    double per_call[2];  // and of each call
};

// A server of a parallel file system, by its own profile.
struct system_node {
    char name[2 * STORAGE_TEXT]; // HOST:DIRECTORY
    double peak_read, peak_write;
};

struct system {
    struct storage storage;
    char cache[STORAGE_TEXT]; // how cold points bypassed the page cache: direct, dropped or none
    struct system_point *point;
    size_t points;
    struct system_metadata metadata;
    struct system_messages messages;
    struct system_mpiio *mpiio; // by np
    size_t mpiios;
    double peak_read, peak_write;
    struct system_node
        *node; // if there are any, the system's peaks are the sums of theirs, else those of its own points
    size_t nodes;
};

const char *system_mode_name(enum system_mode mode);
bool system_mode_of(const char *name, enum system_mode *mode);

int system_write(const struct system *system, FILE *out);
// On failure returns a negative code, with the reason in `error`, and leaves nothing to free.
int system_read(struct system *system, const char *path, struct json_in_error *error);
void system_free(struct system *system);

// Sets the peaks: the best of all cold and stable points; if there are none, of all cold ones, or of all.
void system_set_peaks(struct system *system);

// The peak of a parallel file system is the sum over its servers. Call it with the profile of each.
int system_add_node(struct system *system, const struct system *node);
