#include "rec/hand_over.h"

#include <string.h>

#include "base/settings.h"
#include "rec/emit.h"
#include "rec/file_counters.h"
#include "rec/files.h"
#include "rec/job.h"
#include "rec/process_info.h"
#include "rec/recorder.h"
#include "rec/spill.h"

// --- names

struct search {
    uint32_t number;
    const struct file *found;
};

static int compare(void *context, struct file *file) {
    struct search *search = context;
    if (file->id == search->number) search->found = file;
    return 0;
}

static const char *name_of(void *context, uint32_t number, size_t *len) {
    struct search search = {.number = number};
    (void)context;
    files_each(compare, &search);
    *len = search.found ? search.found->name_len : 0;
    return search.found ? search.found->name : NULL;
}

// --- counters

struct giving {
    uint64_t until; // in the spill file
    reduce_take *take;
    void *context;
};

static bool is_before(const struct counters *counters, uint64_t until) {
    return counters && (uint64_t)((const char *)counters - (const char *)recorder.spill) < until;
}

static void add_bytes(const struct spill_counters *given) {
    for (unsigned i = 0; i < 2; i++)
        recorder.spill->handed_bytes[i][given->layer] += given->counters.value[COUNTER_BYTES_READ + i];
}

// Other threads may be counting: what they count from here on has a new place.
static size_t take_layers(struct file *file, uint64_t until, struct spill_counters given[LAYER_COUNT]) {
    size_t layers = 0;
    spin_lock(&file->counters_lock);
    for (unsigned layer = 0; layer < LAYER_COUNT && file->counters_generation == recorder.generation; layer++) {
        struct counters **counters = &file->counters[layer];
        if (!is_before(*counters, until)) continue;
        given[layers++] = (struct spill_counters){.file = file->id, .layer = layer, .counters = **counters};
        *counters = NULL;
    }
    spin_unlock(&file->counters_lock);
    return layers;
}

static int give_file(void *context, struct file *file) {
    const struct giving *giving = context;
    struct spill_counters given[LAYER_COUNT];
    size_t layers = take_layers(file, giving->until, given);
    for (size_t i = 0; i < layers; i++) add_bytes(&given[i]);
    if (!layers) return 0;
    const struct reduce_file what = {.name = file->name,
                                     .name_len = file->name_len,
                                     .device = file->device,
                                     .inode = file->inode,
                                     .block_bytes = file->block_bytes,
                                     .type = file->type};
    return giving->take(giving->context, &what, given, layers);
}

static int give_all(void *context, uint64_t part, reduce_take *take, void *take_context) {
    struct giving giving = {file_counters_end(), take, take_context};
    (void)context;
    recorder.spill->handed_until = giving.until;
    atomic_store(&recorder.spill->part, part);
    return files_each(give_file, &giving);
}

// --- the job

static struct clock_map own_clock(const struct spill_header *spill) {
    uint64_t units = spill->latest.units - spill->start.units, ns = spill->latest.mono_ns - spill->start.mono_ns;
    bool is_known = !spill->clock_is_ns && units && units < INT64_MAX && ns && ns < INT64_MAX;
    return (struct clock_map){.origin_units = spill->start.units,
                              .span_units = is_known ? units : 1,
                              .span_ns = is_known ? ns : UINT64_C(1) << spill->unit_shift};
}

// Readers count the events of a trace together with what was counted after it. If triggers choose the events, these do
// not count.
const char *hand_over_folder(void) {
    if (!recorder_thread() || (recorder.trace_cap && !recorder.selects)) return NULL;
    return job_is_alone() ? recorder.job : NULL;
}

struct clock_map hand_over_clock(void) {
    struct clock_map clock = {0};
    if (!hand_over_folder()) return clock;
    spill_update_clock();
    clock = own_clock(recorder.spill);
    clock.origin_ns = (int64_t)recorder.spill->start.epoch_ns;
    return clock;
}

bool hand_over_begin(struct hand_over *hand_over) {
    if (!hand_over_folder()) return false;
    spill_update_clock();
    *hand_over = (struct hand_over){.job = {.folder = recorder.job,
                                            .epoch_ns = recorder.spill->start.epoch_ns,
                                            .clock = own_clock(recorder.spill),
                                            .hand_over = give_all,
                                            .name_of = name_of},
                                    .patience_ns = recorder_number(SETTING_PATIENCE) * 1000000000u};
    process_info_chars(hand_over->chars);
    recorder_pause();
    return true;
}

// What the kernel counted meanwhile is not the program's.
void hand_over_end(const struct hand_over *hand_over) {
    uint64_t chars[2] = {hand_over->chars[0], hand_over->chars[1]};
    recorder_end_pause();
    process_info_chars(chars);
    for (unsigned i = 0; i < 2; i++)
        current_thread->tally->left_out[i][LEFT_OUT_OTHER] += chars[i] - hand_over->chars[i];
}
