// What a host's clock lacks to rank 0's, for the counters that ranks add up: a line through what was seen in MPI_Init
// and in MPI_Finalize. Times of a clock are ns since the epoch.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fmt/clock_map.h"
#include "fmt/spill.h"

struct clock_line {
    uint64_t is_known;
    int64_t at_ns;
    int64_t offset_ns; // to be added to the clock at that time
    double drift;      // and for each ns since then
};

// What was seen of another host's clock at one of the two moments.
struct clock_seen {
    const struct clock_sample *sample;
    size_t count;
};

// The line of the host that was asked, from that of the one that asked. The maps are from clock units to times.
struct clock_line clock_line_of(const struct clock_line *asking, const struct clock_map *asks,
                                const struct clock_map *answers, struct clock_seen early, struct clock_seen late);

// Changes the time of the map's origin, and its rate.
void clock_line_move(const struct clock_line *line, uint64_t *origin_ns, struct clock_map *clock);
