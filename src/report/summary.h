// What the job did in a few numbers.
#pragma once

#include "log/visit.h"

struct summary_process {
    bool is_launcher;
    int64_t io_ns; // in calls that it made itself; those of several threads at once count once
    int64_t busy_until_ns;
    uint64_t bytes[2]; // read, written
    uint64_t calls;
};

struct summary {
    const struct log *log;
    struct summary_process *process; // by place in the log's table
    uint64_t bytes[2];
    uint64_t calls;
    int64_t transfer_ns; // during which any process was in a transfer
    int64_t transfer_until_ns;
    // Once all events are there:
    int64_t run_ns;
    uint64_t processes; // that did I/O; an exec makes no second one
    int64_t io_mean_ns;
    int64_t io_most_ns;
    double io_share; // the mean over the run time; below 0 where it is not known
};

int summary_init(struct summary *summary, const struct log *log);
struct log_consumer summary_consumer(struct summary *summary); // of each process's events
// Adds an event; they must come in the order of their starts.
void summary_add(struct summary *summary, const struct log_event *event);
int summary_finish(struct summary *summary);
void summary_free(struct summary *summary);

// Processes whose I/O is the application's: with MPI its ranks, else all but launchers.
bool summary_counts(const struct log *log, const struct log_process *process);
