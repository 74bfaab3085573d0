#include "rec/mpi/clock_line.h"

// Messages within this time are one moment, which says nothing about the drift.
#define MOMENT_NS INT64_C(100000000)

enum { SPAN_BITS = 40 };

struct knot {
    int64_t at_ns, offset_ns;
};

static int64_t offset_at(const struct clock_line *line, int64_t ns) {
    return line->offset_ns + (int64_t)(line->drift * (double)(ns - line->at_ns));
}

// Each answer was given between question and its arrival, which limits the difference from both sides.
static struct knot knot_of(const struct clock_line *asking, const struct clock_map *asks,
                           const struct clock_map *answers, struct clock_seen seen) {
    int64_t least = INT64_MIN, most = INT64_MAX, asked_ns = 0, at_ns = 0;
    for (size_t i = 0; i < seen.count; i++) {
        const struct clock_sample *sample = &seen.sample[i];
        asked_ns = clock_map_ns(asks, sample->sent);
        at_ns = clock_map_ns(answers, sample->received);
        int64_t after = asked_ns - at_ns;
        int64_t before = clock_map_ns(asks, sample->answered) - clock_map_ns(answers, sample->replied);
        if (after > least) least = after;
        if (before < most) most = before;
    }
    return (struct knot){at_ns, least + (most - least) / 2 + offset_at(asking, asked_ns)};
}

struct clock_line clock_line_of(const struct clock_line *asking, const struct clock_map *asks,
                                const struct clock_map *answers, struct clock_seen early, struct clock_seen late) {
    struct clock_line line = {0};
    if (!asking->is_known || !asks->span_units || !answers->span_units || !late.count) return line;
    struct knot end = knot_of(asking, asks, answers, late);
    line = (struct clock_line){.is_known = true, .at_ns = end.at_ns, .offset_ns = end.offset_ns};
    if (!early.count) return line;
    struct knot start = knot_of(asking, asks, answers, early);
    int64_t span = end.at_ns - start.at_ns;
    if (span > MOMENT_NS) line.drift = (double)(end.offset_ns - start.offset_ns) / (double)span;
    return line;
}

void clock_line_move(const struct clock_line *line, uint64_t *origin_ns, struct clock_map *clock) {
    double rate = clock_map_rate(clock) * (1 + line->drift);
    if (!line->is_known) return;
    *origin_ns += (uint64_t)offset_at(line, (int64_t)*origin_ns);
    clock->span_units = UINT64_C(1) << SPAN_BITS;
    clock->span_ns = (uint64_t)(rate * (double)clock->span_units);
}
