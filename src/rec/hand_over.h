// At MPI_Finalize of a job without `record`: gives the counters of this process to the reduction over all ranks
// (reduce/run.h). The spill file keeps them, marked, until the job's part exists; what is counted later begins anew.
#pragma once

#include "reduce/run.h"

struct hand_over {
    struct reduce_job job;
    uint64_t patience_ns;
    uint64_t chars[2]; // of the process before it
};

// The job's directory. NULL if the counters stay here: there is `record`, or a trace without triggers.
const char *hand_over_folder(void);
// From clock units to ns since the epoch, by this host's clock. All is 0 if they stay here.
struct clock_map hand_over_clock(void);
// False if they stay here. Otherwise the thread's calls are not recorded until hand_over_end().
bool hand_over_begin(struct hand_over *hand_over);
void hand_over_end(const struct hand_over *hand_over);
