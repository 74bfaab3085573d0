#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/build/build.h"

// Phases of one family have the same ranks with the same loops and sizes, and move the same number of bytes.
static uint64_t signature(const struct building *b, const struct align_phase *phase) {
    uint64_t hash = hash_add(1, phase->program);
    for (size_t i = 0; i < phase->parts; i++) {
        const struct thread_ops *thread = &b->recorded.thread[phase->part[i].thread];
        const struct segment *segment = &b->segments.segment[phase->part[i].segment];
        if (!segment->ops.count) continue;
        hash = hash_add(hash, lookup_pair(thread->rank, thread->number));
        hash = hash_add(hash, segment->sizes);
        hash = hash_add(hash, segment->bytes);
    }
    return hash;
}

// From the first start to the last end.
struct extent {
    int64_t start_ns, end_ns;
};

// The read and the write of one copy have the same times, which count once.
static int64_t extend(struct extent *extent, const struct op_time *time, size_t first, size_t end) {
    int64_t sum_ns = 0;
    for (size_t i = first; i < end; i++) {
        int64_t end_ns = time[i].start_ns + time[i].duration_ns;
        if (time[i].start_ns < extent->start_ns) extent->start_ns = time[i].start_ns;
        if (end_ns > extent->end_ns) extent->end_ns = end_ns;
        bool is_half =
            i > first && time[i].start_ns == time[i - 1].start_ns && time[i].duration_ns == time[i - 1].duration_ns;
        sum_ns += is_half ? 0 : time[i].duration_ns;
    }
    return sum_ns;
}

static void observe_gap(struct model_phase *phase, const struct thread_gap *gap) {
    if (gap->comm_ns > phase->comm_ns) phase->comm_ns = gap->comm_ns;
    if (gap->idle_ns > phase->idle_ns) phase->idle_ns = gap->idle_ns;
    phase->comm_calls += gap->moving + gap->synchronising;
    phase->comm_bytes += gap->moving_bytes;
}

static void observe_phase(const struct building *b, const struct align_phase *from, struct model_phase *phase) {
    struct extent extent = {INT64_MAX, INT64_MIN}, others = extent;
    int64_t sum_ns = 0, other_ns = 0; // of one process: its threads are in a row
    phase->tick = UINT64_MAX;
    for (size_t i = 0; i < from->parts; i++) {
        const struct thread_ops *thread = &b->recorded.thread[from->part[i].thread];
        const struct segment *segment = &b->segments.segment[from->part[i].segment];
        if (i && thread->rank != b->recorded.thread[from->part[i - 1].thread].rank) sum_ns = other_ns = 0;
        sum_ns += extend(&extent, thread->time, segment->first, segment->end);
        other_ns += extend(&others, thread->other_time, segment->other_first, segment->other_end);
        if (sum_ns > phase->duration_ns) phase->duration_ns = sum_ns;
        if (other_ns > phase->other_ns) phase->other_ns = other_ns;
        if (segment->first == segment->end) continue;
        if (thread->tick[segment->first] < phase->tick) phase->tick = thread->tick[segment->first];
        observe_gap(phase, &thread->gap[segment->first]);
    }
    if (phase->tick == UINT64_MAX) phase->tick = 0;
    if (extent.start_ns == INT64_MAX) extent = others;
    phase->start_ns = extent.start_ns == INT64_MAX ? 0 : extent.start_ns;
    phase->span_ns = extent.end_ns > extent.start_ns ? extent.end_ns - extent.start_ns : 0;
}

static int add_family(struct building *b, uint32_t program, enum model_cut cut, uint32_t *id) {
    *id = (uint32_t)b->model->families;
    FORWARD(array_room(b->family, b->model->families));
    b->family[*id] = (struct pieces){0};
    return builder_add_family(&b->builder, &(struct model_family){.program = program, .cut = cut});
}

static int add_pieces(struct building *b, struct pieces *to, const struct align_phase *from, uint32_t ph) {
    for (size_t i = 0; i < from->parts; i++) {
        const struct align_part *part = &from->part[i];
        const struct thread_ops *thread = &b->recorded.thread[part->thread];
        FORWARD(array_push(to->piece, to->count,
                           (struct piece){.ph = ph,
                                          .rank = thread->rank,
                                          .thread = thread->number,
                                          .place = part->thread,
                                          .segment = part->segment}));
    }
    return 0;
}

static int add_stays(struct building *b, const struct align_phase *from, uint32_t phase) {
    struct model *model = b->model;
    for (size_t i = 0; i < from->parts; i++) {
        const struct thread_ops *thread = &b->recorded.thread[from->part[i].thread];
        const struct segment *segment = &b->segments.segment[from->part[i].segment];
        if (segment->first == segment->end) continue;
        FORWARD(array_push(model->stay, model->stays,
                           (struct model_stay){thread->process->id, thread->tid, thread->rank, phase,
                                               thread->time[segment->first].start_ns}));
    }
    return 0;
}

static int compare_stays(const void *a, const void *b) {
    const struct model_stay *left = a, *right = b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    if (left->tid != right->tid) return left->tid < right->tid ? -1 : 1;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static enum model_cut cut_before(const struct building *b, const struct align_phase *phase) {
    for (size_t i = 0; i < phase->parts; i++) {
        const struct segment *segment = &b->segments.segment[phase->part[i].segment];
        if (segment->ops.count) return segment->cut;
    }
    return CUT_START;
}

int build_families(struct building *b) {
    struct model *model = b->model;
    SCOPED(lookup_free) struct lookup families = {0};
    SCOPED_FREE uint64_t *signatures = malloc((b->align.count + 1) * sizeof *signatures);
    RETURN_IF(!signatures, -ENOMEM);
    for (size_t i = 0; i < b->align.count; i++) signatures[i] = signature(b, &b->align.phase[i]);
    FORWARD(build_rules(b, signatures));
    for (size_t i = 0; i < b->align.count; i++) {
        const struct align_phase *from = &b->align.phase[i];
        uint64_t hash = signatures[i];
        uint32_t id = lookup_find(&families, hash);
        enum model_cut cut = cut_before(b, from);
        if (id == LOOKUP_NONE) {
            FORWARD(add_family(b, from->program, cut, &id));
            FORWARD(lookup_set(&families, hash, id));
        }
        struct model_family *family = &model->family[id];
        if (family->count == 1) family->cut = cut; // what comes before the first phase does not separate the phases
        FORWARD(builder_add_phase(&b->builder, id));
        struct model_phase *phase = &model->phase[model->phases - 1];
        family->count = phase->ph;
        observe_phase(b, from, phase);
        FORWARD(add_pieces(b, &b->family[id], from, phase->ph));
        FORWARD(add_stays(b, from, (uint32_t)model->phases - 1));
    }
    if (model->stays > 1) qsort(model->stay, model->stays, sizeof *model->stay, compare_stays);
    return 0;
}
