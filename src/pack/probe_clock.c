// Puts the times of the probes on the job's time axis. A server on another host has another clock, but its calls lie
// inside the client's calls to it (clock_fit.h).
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "pack/private.h"

// The clocks of two probes on one host are the same if the moments of their starts agree to this.
#define SAME_NS INT64_C(1000000)

struct bounds {
    struct clock_pair *pair;
    size_t count;
};

static int64_t epoch_of_clock(const struct probe_header *header) {
    return (int64_t)(header->start.epoch_ns - header->start.mono_ns);
}

// The host may have slept, or its time been set, since the stack began: either of the moments will do.
static bool is_local_at(const struct pack *pack, const struct probe_header *header, const struct probe_moment *moment) {
    return pack_is_local(pack, header->host,
                         &(struct spill_moment){.mono_ns = moment->mono_ns, .epoch_ns = moment->epoch_ns});
}

void pack_set_probe_clocks(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    const struct probe_header *client = stack->probe_count ? &stack->probe[0].file.header : NULL;
    for (size_t i = 0; i < stack->probe_count; i++) {
        struct pack_probe *probe = &stack->probe[i];
        const struct probe_header *header = &probe->file.header;
        bool is_local = is_local_at(pack, header, &header->start) || is_local_at(pack, header, &header->latest);
        probe->base_ns = is_local ? pack->start_mono_ns : pack->start_epoch_ns - (uint64_t)epoch_of_clock(header);
        uint64_t difference = (uint64_t)epoch_of_clock(header) - (uint64_t)epoch_of_clock(client);
        bool is_same = difference < SAME_NS || -difference < SAME_NS;
        bool is_server = header->layer == LAYER_SERVER || header->layer == LAYER_DISK;
        probe->is_other_clock =
            is_server && header->server < PACK_SERVERS && (!is_same || strcmp(header->host, client->host));
    }
}

static int64_t limited(uint64_t ns) {
    const int64_t limit = INT64_MAX / 8;
    if ((int64_t)ns > limit) return limit;
    return (int64_t)ns < -limit ? -limit : (int64_t)ns;
}

int64_t pack_probe_ns(const struct pack_stack *stack, const struct pack_probe *probe, uint64_t mono_ns) {
    int64_t ns = limited(mono_ns - probe->base_ns);
    if (!probe->is_other_clock) return ns;
    const struct pack_server_clock *clock = &stack->clock[probe->file.header.server];
    return clock->known ? limited((uint64_t)ns + (uint64_t)(int64_t)clock_fit_offset(&clock->fit, (double)ns)) : ns;
}

// --- from pairs of calls

static int add_bound(struct pack *pack, struct pack_probe *probe, uint64_t index, const struct probe_record *record) {
    struct pack_stack *stack = pack->stack;
    (void)index;
    if (!probe_record_is_good(record) || !record->end_ns || !record->parent) return 0;
    struct pack_tie above = pack_parent(stack, probe, record->parent);
    if (!above.root || above.is_given_up) return 0;
    const struct pack_process *process = &pack->process[stack->root[above.root - 1].cause.process - 1];
    struct clock_pair pair = {
        .start_ns = limited(record->start_ns - probe->base_ns),
        .end_ns = limited(record->end_ns - probe->base_ns),
        .from_ns = clock_map_ns(&process->clock, above.from),
        .to_ns = clock_map_ns(&process->clock, above.to),
    };
    // One that is longer than the call above went on by itself.
    if (pair.end_ns - pair.start_ns > pair.to_ns - pair.from_ns) return 0;
    return array_push(stack->bounds->pair, stack->bounds->count, pair);
}

int pack_align_server(struct pack *pack, struct pack_probe *probe) {
    struct pack_stack *stack = pack->stack;
    if (!probe->is_other_clock || stack->clock[probe->file.header.server].known) return 0;
    struct pack_server_clock *clock = &stack->clock[probe->file.header.server];
    struct bounds bounds = {0};
    stack->bounds = &bounds;
    int code = pack_each_record(pack, probe, add_bound);
    stack->bounds = NULL;
    if (code == 0 && bounds.count) {
        code = clock_fit(&clock->fit, bounds.pair, bounds.count);
        clock->known = code == 0;
        if (code == ERR_NOTHING) code = 0;
    }
    free(bounds.pair);
    return code;
}
