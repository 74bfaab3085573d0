// How much of the job's I/O is in the log: the captured bytes compared with the bytes that the kernel counted.
#pragma once

#include "log/stats.h"

enum { DIRECTION_READ, DIRECTION_WRITE, DIRECTION_COUNT };

// All in bytes, by direction. The bytes of all files together are captured + uncounted + stdio_asked - stdio_kernel.
struct coverage {
    bool known;                             // the kernel's count is known
    uint64_t total[DIRECTION_COUNT];        // counted by the kernel (/proc/PID/io)
    uint64_t captured[DIRECTION_COUNT];     // on recorded files, by calls that the kernel counts, including stdio's
    uint64_t uncounted[DIRECTION_COUNT];    // by asynchronous calls, which the kernel does not count
    uint64_t stdio_asked[DIRECTION_COUNT];  // that the program asked stdio for
    uint64_t stdio_kernel[DIRECTION_COUNT]; // that stdio asked the kernel for: it reads ahead and has buffers
    uint64_t left_out[DIRECTION_COUNT][LEFT_OUT_COUNT];
    uint64_t left_out_sum[DIRECTION_COUNT];
    uint64_t loading[DIRECTION_COUNT]; // before the recorder was loaded
    uint64_t raw_rings;                // io_urings made without liburing: nothing counts their bytes
    uint64_t mappings;                 // file mappings: nothing counts the bytes accessed through them
    uint64_t mapped[MAPPED_KINDS];     // an estimate of these
    bool mapped_unknown;               // some are not in the estimate
};

// Adds the bytes of one record. The caller adds all records of log_stats before coverage_finish.
void coverage_add(struct coverage *coverage, const struct log_stats_record *record);
// Subtracts the bytes of calls that the kernel does not count (CALL_UNCOUNTED). Call it when all records are added.
void coverage_subtract(struct coverage *coverage, const uint64_t uncounted[DIRECTION_COUNT]);
int coverage_finish(struct coverage *coverage, const struct log *log);

// The accounted fraction, unrounded: over 1 if more was captured than counted. Returns false if it is unknown.
bool coverage_fraction(const struct coverage *coverage, unsigned direction, double *fraction);

// Bytes that the kernel counted and nothing above explains; 0 if nothing is missing.
uint64_t coverage_remainder(const struct coverage *coverage, unsigned direction);

enum coverage_kind { COVERAGE_RECORDED, COVERAGE_LEFT_OUT, COVERAGE_UNSEEN, COVERAGE_ESTIMATED };

struct coverage_part {
    enum coverage_kind kind;
    int direction; // -1: both, and the number of bytes is unknown
    uint64_t bytes;
    const char *reason;
};

struct coverage_parts {
    struct coverage_part part[DIRECTION_COUNT * (LEFT_OUT_COUNT + 5) + 2 + MAPPED_KINDS];
    size_t count;
    char stdio_reason[DIRECTION_COUNT][160];
};

// The bytes by where they went: parts that are not empty, reads first. `is_damaged`: the log could not be read
// completely.
void coverage_list(const struct coverage *coverage, bool is_damaged, struct coverage_parts *parts);

#define COVERAGE_REMAINDER                                                                                             \
    "libc's own (locales, semaphores), programs without the recorder, libraries loaded later, direct system calls"
