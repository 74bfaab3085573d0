// Puts every process on the job's time axis.
#include <stdlib.h>
#include <string.h>

#include "pack/pack_private.h"

#define NS_PER_SECOND UINT64_C(1000000000)

// Over less than this the two readings that make a moment are not close enough together for a good rate.
#define GOOD_SPAN_NS NS_PER_SECOND

// Clocks that are set while a job runs move its epoch against its monotonic clock; another boot moves it farther.
#define SAME_BOOT_NS (600 * NS_PER_SECOND)

struct span {
    uint64_t units;
    uint64_t ns;
};

static struct span span_between(const struct spill_moment *from, const struct spill_moment *to)
{
    if (to->units <= from->units || to->mono_ns <= from->mono_ns) return (struct span){0};
    return (struct span){.units = to->units - from->units, .ns = to->mono_ns - from->mono_ns};
}

static bool same_boot(const struct spill_moment *a, const struct spill_moment *b)
{
    uint64_t difference = (a->epoch_ns - a->mono_ns) - (b->epoch_ns - b->mono_ns);
    return difference < SAME_BOOT_NS || -difference < SAME_BOOT_NS;
}

static void mark_local(struct pack *pack, const struct spill_moment *there)
{
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        bool same_host = !process->host[0] || !strcmp(process->host, pack->host);
        process->is_local = same_host && same_boot(&process->spill.header.start, there);
    }
}

void pack_find_start(struct pack *pack)
{
    if (pack->job) {
        pack->start_epoch_ns = pack->job->start.epoch_ns;
        pack->start_mono_ns = pack->job->start.mono_ns;
        mark_local(pack, &pack->job->start);
        return;
    }
    // In a rescue the first process on the job's host stands for the host.
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
    mark_local(pack, start);
}

uint64_t pack_since_start(const struct pack *pack, const struct pack_process *process,
                          const struct spill_moment *moment)
{
    uint64_t now = process->is_local ? moment->mono_ns : moment->epoch_ns;
    uint64_t start = process->is_local ? pack->start_mono_ns : pack->start_epoch_ns;
    return (int64_t)(now - start) > 0 ? now - start : 0;
}

// The longest look at the CPU counter that anybody on the job's host had, in unshifted units.
static struct span best_reference(const struct pack *pack)
{
    struct span best = {0};
    if (pack->job && pack->job->complete) best = span_between(&pack->job->start, &pack->job->end);
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct spill_header *header = &pack->process[i].spill.header;
        if (!pack->process[i].is_local || header->clock_is_ns) continue;
        struct span own = span_between(&header->start, &header->latest);
        if (own.ns > best.ns && own.units <= UINT64_MAX >> header->unit_shift) {
            best = (struct span){.units = own.units << header->unit_shift, .ns = own.ns};
        }
    }
    return best;
}

static struct span rate_of(const struct pack_process *process, struct span reference)
{
    const struct spill_header *header = &process->spill.header;
    struct span by_definition = {.units = 1, .ns = UINT64_C(1) << header->unit_shift};
    if (header->clock_is_ns) return by_definition;
    struct span own = span_between(&header->start, &header->latest);
    if (own.ns >= GOOD_SPAN_NS) return own;
    reference.units >>= header->unit_shift;
    if (process->is_local && reference.units && reference.ns > own.ns) return reference;
    return own.ns ? own : by_definition; // the last is a guess of the right order
}

// As clock_map.h wants it; only a damaged header is out of reach.
static int64_t origin_ns(uint64_t start_ns, uint64_t job_start_ns)
{
    int64_t ns = (int64_t)(start_ns - job_start_ns);
    if (ns > INT64_MAX / 4) return INT64_MAX / 4;
    return ns < -(INT64_MAX / 4) ? -(INT64_MAX / 4) : ns;
}

void pack_set_clocks(struct pack *pack)
{
    struct span reference = best_reference(pack);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        const struct spill_moment *start = &process->spill.header.start;
        struct span rate = rate_of(process, reference);
        process->clock = (struct clock_map){
            .origin_units = start->units,
            .origin_ns = process->is_local ? origin_ns(start->mono_ns, pack->start_mono_ns)
                                           : origin_ns(start->epoch_ns, pack->start_epoch_ns),
            .span_units = rate.units,
            .span_ns = rate.ns,
        };
    }
}
