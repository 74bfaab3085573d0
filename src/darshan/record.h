// What a Darshan log says, in the form that the reader gives and the writer takes.
#pragma once

#include "darshan/format.h"
#include "darshan/modules.h"

struct darshan_mount {
    const char *point;
    const char *type;
};

struct darshan_job {
    int64_t user;
    int64_t start_s, start_ns; // since the epoch; nanoseconds are 0 in logs before 3.41
    int64_t end_s, end_ns;     // 0: it did not end in order
    int64_t processes;
    int64_t id;           // of the batch system
    const char *metadata; // lines KEY=VALUE
    const char *command;
    const struct darshan_mount *mounts;
    size_t mount_count;
};

// The mount with the longest path that the name begins with; NULL: none.
const struct darshan_mount *darshan_mount_of(const struct darshan_job *job, const char *name);
// From start to end; 0 if the end is not known. Logs before 3.41 (`is_old`) have whole seconds, and Darshan adds one.
double darshan_run_seconds(const struct darshan_job *job, bool is_old);

// A record of a module, as the newest version has it: what an older one lacks is -1, or 0 where Darshan says so.
struct darshan_record {
    unsigned module;  // enum darshan_module_id
    unsigned version; // of the record in its log
    uint64_t id;      // a hash of the name
    int64_t rank;     // -1: of all ranks together
    int64_t number[DARSHAN_MAX_NUMBERS];
    double real[DARSHAN_MAX_REALS];
    uint64_t file; // DARSHAN_OF_FILE: record id of the file; 0: not known
    // The rest of it, by shape. DARSHAN_OF_POOL: 4 words, the bytes of two UUIDs. DARSHAN_OF_OBJECT: 2 more, the
    // object. DARSHAN_OF_SERVERS: number[4] words. DARSHAN_LAYOUT: number[0] parts of 9 words each (enum
    // darshan_layout, then the bytes of the pool's name), then number[1] servers. DARSHAN_BINS: bytes written by bin,
    // then as many of bytes read.
    int64_t *more;
    size_t more_count;
};

enum { DARSHAN_PART_WORDS = DARSHAN_LAYOUT_PART_BYTES / 8 };

// A record of DXT: what one rank did to one file.
struct darshan_trace {
    unsigned module;
    unsigned version;
    uint64_t id;
    int64_t rank;
    char host[DARSHAN_TRACE_HOST_BYTES + 1];
    uint64_t segments[2]; // reads, writes
    bool has_offsets;
    bool has_threads;
};

struct darshan_segment {
    bool is_write;
    int64_t offset; // -1: not known
    int64_t length;
    double start, end; // seconds since the start of the rank
    uint64_t thread;   // 0: not known
};
