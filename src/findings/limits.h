// All limits of the findings, and what they assume where a log has nothing to measure.
#pragma once

// A smaller stake is no finding.
#define LIMIT_LEAST_SHARE 0.005
#define LIMIT_LEAST_NS 1e6
// A stake below these is not ranked as medium or high.
#define LIMIT_MEDIUM_SHARE 0.01
#define LIMIT_HIGH_SHARE 0.1
#define LIMIT_MEDIUM_NS 10e6

// Assumed: a call served from memory takes at most this long, and a copy this long per byte.
#define LIMIT_MEMORY_CALL_NS 20000
#define LIMIT_COPY_BYTE_NS 1.0
// Assumed: a small request to memory takes this long.
#define LIMIT_SYSTEM_CALL_NS 2000
// Assumed: calls on names that take longer wait for storage or a server. Local file systems answer from memory, and
// write their journal later; now and then a call has to wait for it.
#define LIMIT_META_MEMORY_NS 250e3
#define LIMIT_META_LOCAL_NS 2e6

// A comparison needs this many calls on both sides, and means so many standard errors apart.
#define LIMIT_COMPARED_CALLS 16
#define LIMIT_ERRORS_APART 5.0
// Slower by less than this factor is no finding.
#define LIMIT_SLOWER 1.5
// A file or rank must be slow in so many of the 64 parts of the run: not in one bad moment.
#define LIMIT_PERIODS 4

// Fewer calls on one file are no pattern.
#define LIMIT_PATTERN_CALLS 16
// Requests served from memory cost more per call than per byte if they are smaller than this.
#define LIMIT_TINY_BYTES 1024
// Data is moved again if this part of the bytes had been moved before.
#define LIMIT_AGAIN_PART 0.4
// Many small files: so many, with at most so many bytes each.
#define LIMIT_SMALL_FILES 64
#define LIMIT_SMALL_FILE_BYTES 65536
// One rank moves all data if it moves this part.
#define LIMIT_ONE_RANK_PART 0.9
#define LIMIT_ONE_RANK_BYTES (1 << 20)
// Interrupted calls are trouble if there are this many.
#define LIMIT_INTERRUPTED 16

// The command shows files that have this part of the claimed time.
#define LIMIT_SHOWN_PART 0.9

// A process that waits this part of its run for a processor runs on a busy machine.
#define LIMIT_BUSY_PART 0.2

// So many requests, or calls, show what one of them takes. What they show of MPI-IO is right to within this part.
#define LIMIT_GAIN_CALLS 4
#define LIMIT_GAIN_ERROR 0.25
// Requests more than so many times as large as any in the log may take any time. Those with less than this part of the
// bytes do not matter.
#define LIMIT_GAIN_TIMES 4
#define LIMIT_GAIN_PART 0.01
