// Reads Darshan's logs of versions 3.00 to 3.41, from machines of either byte order. Nothing in a log is trusted. What
// is damaged ends its region; the others are read.
#pragma once

#include "base/arena.h"
#include "base/lookup.h"
#include "base/problem.h"
#include "darshan/record.h"
#include "darshan/region.h"

struct darshan_name {
    uint64_t id;
    const char *text; // bytes as in the log
};

struct darshan_log {
    int fd;
    uint64_t size;
    char version[DARSHAN_VERSION_BYTES + 1]; // "3.41"
    bool is_swapped;                         // written by a machine of the other byte order
    bool is_old;                             // before 3.41
    unsigned codec;                          // enum darshan_codec
    uint64_t partial;                        // bit i: some rank had no room for more records of module i
    struct darshan_place job_place, names_place;
    struct darshan_place place[DARSHAN_SLOTS]; // by enum darshan_module_id
    uint32_t module_version[DARSHAN_SLOTS];
    struct darshan_job job;
    struct darshan_name *names;
    size_t name_count;
    int names_damage; // a negative code if names are missing
    struct lookup name_by_id;
    struct arena arena;
};

// Whether the file begins as a Darshan log of any version 3 does.
bool darshan_is_log(const char *path);

// Reads everything but the records.
int darshan_open(struct darshan_log **log, const char *path, struct problem *problem);
void darshan_close(struct darshan_log *log);

// The name of a record; NULL: the log has none.
const char *darshan_name(const struct darshan_log *log, uint64_t id);

// --- records of one module

struct darshan_records {
    const struct darshan_log *log;
    unsigned module;
    struct darshan_region *region;
    const struct darshan_version *layout;
    uint64_t spoilt; // records that were passed over: they count what cannot be told apart
    struct bytes words;
    size_t first_bins; // of the first heat map
    double first_width;
    struct darshan_trace trace; // the current one
    uint64_t unread[2];         // segments of it: reads, writes
};

// ERR_VERSION: the module's records are of a version that is not known, or of none.
int darshan_records_open(struct darshan_records *records, const struct darshan_log *log, unsigned module);
void darshan_records_close(struct darshan_records *records);
// Return 1, 0 at the end, or a negative code at damage. What they point to is valid until the next call.
int darshan_next_record(struct darshan_records *records, struct darshan_record *record);
int darshan_next_trace(struct darshan_records *records, struct darshan_trace *trace);       // of DXT
int darshan_next_segment(struct darshan_records *records, struct darshan_segment *segment); // of the current trace
