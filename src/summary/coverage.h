// How much of the job's I/O is in the log: what was captured against what the kernel counted.
#pragma once

#include "log/stats.h"

enum { DIRECTION_READ, DIRECTION_WRITE, DIRECTION_COUNT };

struct coverage {
    bool known;                         // the kernel's count is
    uint64_t total[DIRECTION_COUNT];    // bytes that the kernel counted (/proc/PID/io)
    uint64_t captured[DIRECTION_COUNT]; // on recorded files, through calls that the kernel counts; stdio's too
    // What the files' bytes are besides: all of them are captured + uncounted + stdio_asked - stdio_kernel.
    uint64_t uncounted[DIRECTION_COUNT];    // through asynchronous calls, which the kernel does not count
    uint64_t stdio_asked[DIRECTION_COUNT];  // by the program of stdio
    uint64_t stdio_kernel[DIRECTION_COUNT]; // by stdio of the kernel: it reads ahead, and gives from its buffers
    uint64_t left_out[DIRECTION_COUNT][LEFT_OUT_COUNT];
    uint64_t left_out_sum[DIRECTION_COUNT];
    uint64_t loading[DIRECTION_COUNT]; // before the recorder was there
    uint64_t raw_rings;                // io_urings made without liburing: the same
    uint64_t mappings;                 // file mappings made: what goes through them nobody counts
};

// Adds one record's bytes; to be called for all records of log_stats before coverage_finish.
void coverage_add(struct coverage *coverage, const struct log_stats_record *record);
int coverage_finish(struct coverage *coverage, struct log *log);

// The fraction that is accounted for, as it is: over 1 where more was captured than counted. False where unknown.
bool coverage_fraction(const struct coverage *coverage, unsigned direction, double *fraction);

// What no part of the above explains; 0 where nothing is missing.
uint64_t coverage_remainder(const struct coverage *coverage, unsigned direction);

#define COVERAGE_LOADING "loading the programs, and the recorder itself"
#define COVERAGE_REMAINDER                                                                                             \
    "libc's own (locales, semaphores), programs without the recorder, libraries loaded later, direct system calls"
#define COVERAGE_REMAINDER_DAMAGED "damaged parts that could not be read, and " COVERAGE_REMAINDER
#define COVERAGE_UNCOUNTED "in this log, asynchronously, which the kernel does not count: in no share above"
#define COVERAGE_RINGS "io_uring without liburing, which nobody counts"
#define COVERAGE_MAPPINGS "memory accesses to mapped files (mmap), which nobody counts"
