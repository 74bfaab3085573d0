// All that a report of a log is made of, gathered in one visit of the log.
// Memory depends on the numbers of processes and files, not on that of events.
#pragma once

#include "findings/facts.h"
#include "report/files.h"
#include "report/layers.h"
#include "report/space.h"
#include "report/timeline.h"

struct collect {
    struct log *log;
    int64_t transfer_ns; // during which any process was in a transfer
    int64_t transfer_until_ns;
    struct timeline timeline;
    struct layers layers;
    struct space space;
    struct files files;
    struct facts *facts;
    uint64_t own_events; // that the program made: as many operations would a model have
    uint64_t seen;       // events so far, for other threads to look at
};

enum { COLLECT_CONSUMERS = 4 };

int collect_begin(struct collect *collect, struct log *log, struct log_consumer consumer[COLLECT_CONSUMERS]);
// Adds one record of log_stats, during the visit.
int collect_record(struct collect *collect, const struct log_stats_record *record);
int collect_finish(struct collect *collect); // after the visit
void collect_free(struct collect *collect);
