// Darshan's heat maps: how many bytes each rank read and wrote through one module, in intervals of equal length.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "log/import.h"
#include "report/timeline.h"

// MPI-IO moves its bytes through POSIX.
static bool counts(const struct log_imported *imported) {
    return imported->record.module == DARSHAN_HEATMAP && imported->name &&
           (strstr(imported->name, ":POSIX") || strstr(imported->name, ":STDIO"));
}

// The last interval may be longer than the run.
static void add_bins(struct timeline *timeline, const struct darshan_record *record, int64_t run_ns) {
    size_t bins = record->more_count / 2;
    double width_ns = record->real[0] * 1e9;
    if (!(width_ns >= 1)) return;
    for (size_t i = 0; i < 2 * bins; i++) {
        bool is_write = i < bins;
        double start_ns = (double)(is_write ? i : i - bins) * width_ns, end_ns = start_ns + width_ns;
        if (record->more[i] <= 0 || start_ns >= (double)run_ns) continue;
        timeline_add_bytes(timeline, is_write, (int64_t)start_ns, end_ns < (double)run_ns ? (int64_t)end_ns : run_ns,
                           (uint64_t)record->more[i]);
    }
}

int timeline_add_heat(struct timeline *timeline, struct log *log) {
    struct log_imported imported = {0};
    int64_t run_ns = timeline_whole(log).to_ns;
    int code = 0;
    if (log_has_trace(log)) return 0;
    timeline->source = TIMELINE_NOTHING;
    for (size_t i = 0; i < log_imported_count(log) && code != -ENOMEM; i++) {
        code = log_imported_at(log, i, &imported);
        if (code < 0 || !counts(&imported)) continue;
        timeline->source = TIMELINE_HEAT_MAP;
        add_bins(timeline, &imported.record, run_ns);
    }
    log_imported_free(&imported);
    return code == -ENOMEM ? code : 0; // a damaged record is left out
}
