// The places of processes in charts: with MPI their ranks, otherwise the order in which they started.
#pragma once

#include "log/images.h"

struct process_places {
    uint32_t *place; // by index in the log's table; 0 if the process does not count (summary_counts_process)
    uint64_t count;
};

int process_places_find(struct process_places *places, const struct log_images *images);
void process_places_free(struct process_places *places);
