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
