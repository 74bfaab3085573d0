// A log of another program has counters only, and those of files that all ranks used are sums over the ranks: what each
// rank did then is not known, what all did is.
#include "log/import.h"
#include "summary/summary.h"

static const unsigned operations[] = {COUNTER_OPENS, COUNTER_READS,  COUNTER_WRITES,  COUNTER_SEEKS,
                                      COUNTER_STATS, COUNTER_FSYNCS, COUNTER_FDSYNCS, COUNTER_FLUSHES};

static int add_record(const struct log_stats_record *record, void *context) {
    struct summary *summary = context;
    struct summary_imported *imported = &summary->imported;
    const uint64_t *value = record->counters.value;
    uint64_t calls = 0;
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO)
        return 0; // what is above moves its bytes by these
    int64_t io_ns = (int64_t)(counters_time(&record->counters) & INT64_MAX / 4);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) calls += value[operations[i]];
    imported->io_ns += (double)io_ns;
    imported->calls += calls;
    imported->is_shared |= !record->process;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        imported->bytes[direction] += value[COUNTER_BYTES_READ + direction];
    if (!record->process) return 0;
    struct summary_process *own = &summary->process[log_process_index(summary->log, record->process)];
    own->io.ns += io_ns;
    own->calls += calls;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        own->bytes[direction] += value[COUNTER_BYTES_READ + direction];
    return 0;
}

int summary_add_imported(struct summary *summary) {
    summary->imported.is_there = log_import(summary->log);
    return summary->imported.is_there ? log_stats_added_up(summary->log, NULL, add_record, summary) : 0;
}

void summary_imported_totals(const struct summary *summary, struct summary_totals *totals) {
    const struct summary_imported *imported = &summary->imported;
    int64_t processes = log_import(summary->log)->job.processes, ranks = processes > 0 ? processes : 1;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        totals->bytes[direction] = imported->bytes[direction];
    totals->calls = imported->calls;
    if (!imported->is_shared) return;
    totals->processes = (uint64_t)ranks;
    totals->busiest = NULL;
    totals->io_ns = (int64_t)(imported->io_ns / (double)ranks);
}
