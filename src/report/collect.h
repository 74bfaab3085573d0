// All that a report of a log is made of, gathered while the log is read: first all events, then all counters.
// Memory depends on the numbers of processes and files, not on that of events.
#pragma once

#include "findings/facts.h"
#include "report/files.h"
#include "report/layers.h"
#include "report/space.h"
#include "report/summary.h"
#include "report/timeline.h"

struct collect {
    struct log *log;
    struct summary summary;
    struct timeline timeline;
    struct layers layers;
    struct space space;
    struct files files;
    struct facts *facts;
    uint64_t own_events; // that the program made: as many operations would a model have
    uint64_t seen;       // events so far, for other threads to look at
};

int collect_init(struct collect *collect, struct log *log);
// Reads all events.
int collect_events(struct collect *collect);
// Takes one record of log_stats; to be called for all of them after the events.
int collect_record(struct collect *collect, const struct log_stats_record *record);
void collect_free(struct collect *collect);
