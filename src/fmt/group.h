// Processes that have one record together: ranks of an MPI program that are alike, or the images that became them. The
// record has the sums of what processes have in numbers, and these three.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// How the processes differ. Times are nanoseconds; start and end are those since the job's start.
enum group_time { GROUP_START, GROUP_END, GROUP_RUN, GROUP_IO, GROUP_COMM, GROUP_WAIT, GROUP_TIMES };

struct group_spread {
    bool is_known;
    int64_t least, most;
    uint64_t sum;                   // not of moments
    uint64_t deviation;             // the standard deviation
    uint64_t rank_least, rank_most; // of the first that has it, + 1; 0: no ranks
};

// Hosts whose names differ in a number at the end, which counts up from the first one's with as many digits.
struct group_hosts {
    uint64_t hosts;
    uint64_t each; // processes on each of them
    const char *first;
    size_t len;
};

struct group_ranks {
    uint64_t first, count;
};

// PROCESS_SPREAD: a field for each time that is known.
int group_spread_put(struct bytes *out, enum group_time time, const struct group_spread *spread);
int group_spread_get(const uint8_t *data, size_t len, struct group_spread spread[GROUP_TIMES]);

// PROCESS_HOSTS: a field for each.
int group_hosts_put(struct bytes *out, const struct group_hosts *hosts);
int group_hosts_get(const uint8_t *data, size_t len, struct group_hosts *hosts); // ERR_FORMAT if a name cannot be

// The name of one of them, without a zero byte at its end: `len` bytes.
void group_host_name(const struct group_hosts *hosts, uint64_t i, char *out);
// Whether the name is that of the one behind the last: then it may be counted among them.
bool group_host_follows(const struct group_hosts *hosts, const char *name, size_t len);

// PROCESS_RANKS: those of all ranges, in order. `at` begins at 0 and ends at 0.
int group_ranks_put(struct bytes *out, const struct group_ranks *range, uint64_t behind);
// Returns 1 with the next, 0 at the end, or ERR_FORMAT.
int group_ranks_next(const uint8_t **at, const uint8_t *end, struct group_ranks *range);
