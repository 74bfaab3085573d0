// Puts every process on the job's time axis.
#include <string.h>

#include "pack/private.h"

#define NS_PER_SECOND UINT64_C(1000000000)

// Two moments closer than this do not give an exact rate, because a moment reads its clocks one after the other.
#define GOOD_SPAN_NS NS_PER_SECOND

// Setting the clock moves the epoch relative to the monotonic clock; another boot moves it farther than this.
#define SAME_BOOT_NS (600 * NS_PER_SECOND)

struct span {
    uint64_t units;
    uint64_t ns;
};

// Two readings of the CPU's counter, in unshifted units.
struct reference {
    uint64_t units; // at its start
    uint64_t mono_ns;
    struct span span;
};

static struct span span_between(const struct spill_moment *from, const struct spill_moment *to) {
    if (to->units <= from->units || to->mono_ns <= from->mono_ns) return (struct span){0};
    return (struct span){.units = to->units - from->units, .ns = to->mono_ns - from->mono_ns};
}

bool pack_is_local(const struct pack *pack, const char *host, const struct spill_moment *moment) {
    uint64_t difference = (moment->epoch_ns - moment->mono_ns) - (pack->start_epoch_ns - pack->start_mono_ns);
    bool same_boot = difference < SAME_BOOT_NS || -difference < SAME_BOOT_NS;
    return same_boot && (!host[0] || !strcmp(host, pack->host));
}

static void find_start(struct pack *pack) {
    if (pack->job) {
        pack->start_epoch_ns = pack->job->start.epoch_ns;
        pack->start_mono_ns = pack->job->start.mono_ns;
        return;
    }
    // Without `record` the first process on the job's host stands for the host.
    const struct pack_process *first = NULL;
    for (size_t i = 0; i < pack->process_count && !first; i++) {
        if (!pack->host[0] || !strcmp(pack->process[i].host, pack->host)) first = &pack->process[i];
    }
    if (!first && pack->process_count) first = &pack->process[0];
    if (!first) return;
    if (!pack->host[0]) strcpy(pack->host, first->host);
    const struct spill_moment *start = &first->spill.header.start;
    if (!pack->start_epoch_ns) pack->start_epoch_ns = start->epoch_ns;
    pack->start_mono_ns = start->mono_ns - (start->epoch_ns - pack->start_epoch_ns);
}

uint64_t pack_since_start(const struct pack *pack, bool is_local, int64_t moved_ns, const struct spill_moment *moment) {
    uint64_t now = is_local ? moment->mono_ns : moment->epoch_ns + (uint64_t)moved_ns;
    uint64_t start = is_local ? pack->start_mono_ns : pack->start_epoch_ns;
    return (int64_t)(now - start) > 0 ? now - start : 0;
}

static void keep_longer(struct reference *best, const struct spill_moment *from, const struct spill_moment *to,
                        uint32_t shift) {
    struct span span = span_between(from, to);
    if (span.ns <= best->span.ns || to->units > UINT64_MAX >> shift) return;
    *best = (struct reference){
        .units = from->units << shift,
        .mono_ns = from->mono_ns,
        .span = {.units = span.units << shift, .ns = span.ns},
    };
}

// The two readings on the job's host that are farthest apart.
static struct reference best_reference(const struct pack *pack) {
    struct reference best = {0};
    if (pack->job && pack->job->complete) keep_longer(&best, &pack->job->start, &pack->job->end, 0);
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct spill_header *header = &pack->process[i].spill.header;
        if (!pack->process[i].is_local || header->clock_is_ns) continue;
        keep_longer(&best, &header->start, &header->latest, header->unit_shift);
    }
    return best;
}

static struct span rate_of(const struct pack_process *process, struct span reference) {
    const struct spill_header *header = &process->spill.header;
    struct span by_definition = {.units = 1, .ns = UINT64_C(1) << header->unit_shift};
    if (header->clock_is_ns) return by_definition;
    struct span own = span_between(&header->start, &header->latest);
    if (own.ns >= GOOD_SPAN_NS) return own;
    reference.units >>= header->unit_shift;
    if (process->is_local && reference.units && reference.ns > own.ns) return reference;
    return own.ns ? own : by_definition; // right to an order of magnitude
}

// Within the range of clock_map.h; only a damaged header is outside.
static int64_t origin_ns(uint64_t start_ns, uint64_t job_start_ns) {
    int64_t ns = (int64_t)(start_ns - job_start_ns);
    if (ns > INT64_MAX / 4) return INT64_MAX / 4;
    return ns < -(INT64_MAX / 4) ? -(INT64_MAX / 4) : ns;
}

static bool agrees(const struct pack *pack, const struct clock_map *clock, const struct spill_moment *moment) {
    uint64_t expected = (uint64_t)origin_ns(moment->mono_ns, pack->start_mono_ns);
    uint64_t difference = (uint64_t)clock_map_ns(clock, moment->units) - expected;
    return difference < PACK_SAME_CLOCK_NS || -difference < PACK_SAME_CLOCK_NS;
}

// The clock of the job's host, for a process that ran there; false if the process's own readings differ from it.
static bool host_clock(const struct pack *pack, const struct pack_process *process, const struct reference *reference,
                       struct clock_map *clock) {
    const struct spill_header *header = &process->spill.header;
    *clock = (struct clock_map){
        .origin_units = reference->units >> header->unit_shift,
        .origin_ns = origin_ns(reference->mono_ns, pack->start_mono_ns),
        .span_units = reference->span.units >> header->unit_shift,
        .span_ns = reference->span.ns,
    };
    return process->is_local && !header->clock_is_ns && clock->span_units && agrees(pack, clock, &header->start) &&
           agrees(pack, clock, &header->latest);
}

static struct clock_map own_clock(const struct pack *pack, const struct pack_process *process, struct span reference) {
    const struct spill_moment *start = &process->spill.header.start;
    struct span rate = rate_of(process, reference);
    return (struct clock_map){
        .origin_units = start->units,
        .origin_ns = process->is_local ? origin_ns(start->mono_ns, pack->start_mono_ns)
                                       : origin_ns(start->epoch_ns, pack->start_epoch_ns),
        .span_units = rate.units,
        .span_ns = rate.ns,
    };
}

void pack_align_clocks(struct pack *pack) {
    find_start(pack);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        process->is_local = pack_is_local(pack, process->host, &process->spill.header.start);
    }
    struct reference reference = best_reference(pack);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        if (!host_clock(pack, process, &reference, &process->clock)) {
            process->clock = own_clock(pack, process, reference.span);
        }
    }
}
