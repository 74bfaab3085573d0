// A log of another program has counters only, and those of files that all ranks used are sums over the ranks: what each
// rank did then is not known, what all did is.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/lookup.h"
#include "log/import.h"
#include "summary/summary.h"

static const unsigned operations[] = {COUNTER_OPENS, COUNTER_READS,  COUNTER_WRITES,  COUNTER_SEEKS,
                                      COUNTER_STATS, COUNTER_FSYNCS, COUNTER_FDSYNCS, COUNTER_FLUSHES};

// A file, with what is inside it, in one process or in all together.
struct used_file {
    const struct log_process *process; // NULL: sums over ranks
    double ns[LAYER_COUNT];
};

struct adding {
    struct summary *summary;
    struct used_file *file;
    size_t files;
    struct lookup places;
};

static int add_time(struct adding *adding, const struct log_stats_record *record) {
    struct used_file unused = {.process = record->process};
    uint32_t process = record->process ? log_process_index(adding->summary->log, record->process) + 1 : 0, place;
    uint64_t key = hash_text(process, record->file ? record->file->name : "");
    FORWARD(lookup_intern(&adding->places, key, place, adding->file, adding->files, unused));
    // Streams are not above descriptors in Darshan's logs: each module has the calls that the program made.
    unsigned layer = record->layer == LAYER_STDIO ? LAYER_POSIX : record->layer;
    adding->file[place].ns[layer] += (double)(counters_time(&record->counters) & INT64_MAX / 4);
    return 0;
}

static int add_record(const struct log_stats_record *record, void *context) {
    struct adding *adding = context;
    struct summary *summary = adding->summary;
    struct summary_imported *imported = &summary->imported;
    const uint64_t *value = record->counters.value;
    uint64_t calls = 0;
    FORWARD(add_time(adding, record));
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO)
        return 0; // what is above moves its bytes by these
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) calls += value[operations[i]];
    imported->calls += calls;
    imported->is_shared |= !record->process;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        imported->bytes[direction] += value[COUNTER_BYTES_READ + direction];
    if (!record->process) return 0;
    struct summary_process *own = &summary->process[log_process_index(summary->log, record->process)];
    own->calls += calls;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        own->bytes[direction] += value[COUNTER_BYTES_READ + direction];
    return 0;
}

// The program waits in the calls that it makes. Those of the highest layer contain the others, so they take longest.
static void add_times(struct adding *adding) {
    struct summary *summary = adding->summary;
    for (size_t i = 0; i < adding->files; i++) {
        const struct used_file *file = &adding->file[i];
        double ns = 0;
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) ns = file->ns[layer] > ns ? file->ns[layer] : ns;
        summary->imported.io_ns += ns;
        if (file->process) summary->process[log_process_index(summary->log, file->process)].io.ns += (int64_t)ns;
    }
}

int summary_add_imported(struct summary *summary) {
    struct adding adding = {.summary = summary};
    summary->imported.is_there = log_import(summary->log);
    if (!summary->imported.is_there) return 0;
    int code = log_stats_added_up(summary->log, NULL, add_record, &adding);
    if (code >= 0) add_times(&adding);
    free(adding.file);
    lookup_free(&adding.places);
    return code;
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
