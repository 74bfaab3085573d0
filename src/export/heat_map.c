#include "export/heat_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/intern.h"
#include "fmt/record_id.h"

enum { MOST_BINS = 200, LEAST_WIDTH_NS = 100000000 };

// As in Darshan: bins are wide enough for the job to have no more than 200 of them.
void heat_begin(struct heat_maps *maps, int64_t run_ns) {
    *maps = (struct heat_maps){.width_ns = LEAST_WIDTH_NS};
    if (run_ns < 0) run_ns = 0;
    while (run_ns / maps->width_ns >= MOST_BINS) maps->width_ns *= 2;
    maps->bins = (unsigned)(run_ns / maps->width_ns) + 1;
}

static unsigned bin_of(const struct heat_maps *maps, int64_t ns) {
    int64_t bin = ns > 0 ? ns / maps->width_ns : 0;
    return bin < maps->bins ? (unsigned)bin : maps->bins - 1;
}

// Spreads bytes evenly over the time of a call. What is rounded off in a bin goes to the next one.
static void spread(uint64_t *bin, const struct heat_maps *maps, const struct log_event *event) {
    uint64_t bytes = log_event_bytes(event), done = 0;
    unsigned at = bin_of(maps, event->start_ns), last = bin_of(maps, event->start_ns + event->duration_ns);
    for (; at < last; at++) {
        double share = (double)((at + 1) * maps->width_ns - event->start_ns) / (double)event->duration_ns;
        uint64_t until = (uint64_t)((double)bytes * share);
        if (until > bytes) until = bytes;
        bin[at] += until - done;
        done = until;
    }
    bin[at] += bytes - done;
}

int heat_add(struct heat *heat, const struct heat_maps *maps, const struct log_event *event) {
    if (!heat->bytes) heat->bytes = calloc(2 * (size_t)maps->bins, sizeof *heat->bytes);
    RETURN_IF(!heat->bytes, -ENOMEM);
    bool is_read = call_table[event->call->build_id].count == COUNT_READ;
    spread(heat->bytes + (is_read ? maps->bins : 0), maps, event);
    return 0;
}

int heat_join(struct heat_maps *maps, struct heat *heat, unsigned kind, int64_t rank) {
    uint32_t at;
    if (!heat->bytes) return 0;
    FORWARD(lookup_intern(&maps->by_rank, lookup_pair(kind, (uint32_t)rank), at, maps->row, maps->rows,
                          (struct heat_row){.kind = kind, .rank = rank}));
    struct heat *sum = &maps->row[at].heat;
    if (!sum->bytes) {
        *sum = *heat;
        heat->bytes = NULL;
        return 0;
    }
    for (unsigned i = 0; i < 2 * maps->bins; i++) sum->bytes[i] += heat->bytes[i];
    free(heat->bytes);
    heat->bytes = NULL;
    return 0;
}

int heat_write(const struct heat_maps *maps, struct darshan_writer *writer) {
    static const char *const names[HEAT_KINDS] = {"heatmap:POSIX", "heatmap:MPIIO", "heatmap:STDIO"};
    for (size_t i = 0; i < maps->rows; i++) {
        const struct heat_row *row = &maps->row[i];
        struct {
            uint64_t id;
            int64_t rank;
            double width_s;
            int64_t bins;
            uint64_t unused[2];
        } head = {.rank = row->rank, .width_s = (double)maps->width_ns / 1e9, .bins = maps->bins};
        _Static_assert(sizeof head == DARSHAN_BASE_BYTES + DARSHAN_BINS_HEAD_BYTES, "a head is as in the log");
        head.id = record_id(names[row->kind], strlen(names[row->kind]), NULL, 0);
        FORWARD(darshan_write_name(writer, head.id, names[row->kind], NULL));
        FORWARD(darshan_write_bytes(writer, DARSHAN_HEATMAP, &head, sizeof head));
        FORWARD(darshan_write_bytes(writer, DARSHAN_HEATMAP, row->heat.bytes,
                                    2 * (size_t)maps->bins * sizeof *row->heat.bytes));
    }
    return 0;
}

void heat_free(struct heat_maps *maps) {
    for (size_t i = 0; i < maps->rows; i++) free(maps->row[i].heat.bytes);
    free(maps->row);
    lookup_free(&maps->by_rank);
}
