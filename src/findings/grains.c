// Grains, cells, and what can be computed from them.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "findings/facts.h"
#include "findings/limits.h"

// --- computations

unsigned facts_size(uint64_t bytes) {
    unsigned bits = bytes ? 63u - (unsigned)__builtin_clzll(bytes) : 0;
    return bits / 2 < FACTS_SIZES ? bits / 2 : FACTS_SIZES - 1;
}

// Four bins per power of two of nanoseconds.
static unsigned duration_bin(int64_t ns) {
    if (ns < 4) return 0;
    unsigned bits = 63u - (unsigned)__builtin_clzll((uint64_t)ns);
    unsigned bin = bits * 4 + (unsigned)((uint64_t)ns >> (bits - 2) & 3);
    return bin < FACTS_DURATIONS ? bin : FACTS_DURATIONS - 1;
}

void facts_cell_add(struct facts_cell *cell, uint64_t bytes, int64_t ns) {
    unsigned bin = duration_bin(ns);
    facts_sum_add(&cell->sum, bytes, ns);
    cell->duration[bin].calls++;
    cell->duration[bin].ns += ns;
}

int64_t facts_typical_ns(const struct facts_cell *cell) {
    uint64_t wanted = cell->sum.calls - cell->sum.calls / 20, seen = 0;
    double sum_ns = 0;
    for (unsigned bin = 0; bin < FACTS_DURATIONS && seen < wanted; bin++) {
        uint64_t calls = cell->duration[bin].calls, left = wanted - seen;
        if (!calls) continue;
        double mean_ns = (double)cell->duration[bin].ns / (double)calls;
        sum_ns += mean_ns * (double)(calls < left ? calls : left);
        seen += calls < left ? calls : left;
    }
    return seen ? (int64_t)(sum_ns / (double)seen) : 0;
}

double facts_part_beyond(const struct facts_cell *cell, double least_ns) {
    double part = ((double)facts_typical_ns(cell) - least_ns) * (double)cell->sum.calls / (double)cell->sum.ns;
    return cell->sum.ns <= 0 || part < 0 ? 0 : part < 1 ? part : 1;
}

int64_t facts_quantile_ns(const struct facts_cell *cell, double part) {
    uint64_t wanted = (uint64_t)(part * (double)cell->sum.calls), seen = 0;
    for (unsigned bin = 0; bin < FACTS_DURATIONS; bin++) {
        seen += cell->duration[bin].calls;
        if (seen > wanted) return cell->duration[bin].ns / cell->duration[bin].calls;
    }
    return 0;
}

int64_t facts_memory_ns(uint64_t bytes) {
    double copy_ns = (double)bytes * LIMIT_COPY_BYTE_NS;
    return LIMIT_MEMORY_CALL_NS + (int64_t)(copy_ns < 1e18 ? copy_ns : 1e18);
}

bool facts_at_memory_speed(const struct facts_cell *cell) {
    return !cell->sum.calls || facts_typical_ns(cell) <= facts_memory_ns(cell->sum.bytes / cell->sum.calls);
}

void facts_spread_add(struct facts_spread *spread, double value) {
    double log_value = log(value > 1e-12 ? value : 1e-12);
    spread->count++;
    spread->sum += log_value;
    spread->square += log_value * log_value;
}

void facts_spread_join(struct facts_spread *spread, const struct facts_spread *more) {
    spread->count += more->count;
    spread->sum += more->sum;
    spread->square += more->square;
}

// Variance of the mean.
static double mean_variance(const struct facts_spread *spread) {
    double mean = spread->sum / spread->count, variance = spread->square / spread->count - mean * mean;
    return (variance > 0 ? variance : 0) / (spread->count - 1);
}

double facts_factor(const struct facts_spread *a, const struct facts_spread *b) {
    if (a->count < LIMIT_COMPARED_CALLS || b->count < LIMIT_COMPARED_CALLS) return 1;
    double difference = a->sum / a->count - b->sum / b->count;
    double error = sqrt(mean_variance(a) + mean_variance(b));
    return difference > LIMIT_ERRORS_APART * error ? exp(difference) : 1;
}

// --- tables

static uint32_t bits_of(struct facts_traits traits) {
    uint32_t bits;
    _Static_assert(sizeof traits == sizeof bits, "traits are one number");
    memcpy(&bits, &traits, sizeof bits);
    return bits;
}

// Who called, and what the same process had done before, does not change how long the storage takes.
static uint32_t cell_bits(struct facts_traits traits) {
    traits.rewrite = traits.again = traits.below = traits.repeated = traits.library = 0;
    return bits_of(traits);
}

static uint64_t cell_key(uint32_t storage, struct facts_traits traits) {
    return lookup_pair(storage, cell_bits(traits));
}

bool facts_are_alike(struct facts_traits a, struct facts_traits b) { return cell_bits(a) == cell_bits(b); }

const struct facts_cell *facts_cell_find(const struct facts *facts, uint32_t storage, struct facts_traits traits) {
    uint32_t at = lookup_find(&facts->cell_of, cell_key(storage, traits));
    return at == LOOKUP_NONE ? NULL : &facts->cell[at];
}

static int cell_of(struct facts *facts, uint32_t storage, struct facts_traits traits, uint32_t *at) {
    uint64_t key = cell_key(storage, traits);
    *at = lookup_find(&facts->cell_of, key);
    if (*at != LOOKUP_NONE) return 0;
    FORWARD(array_room(facts->cell, facts->cells));
    FORWARD(lookup_set(&facts->cell_of, key, (uint32_t)facts->cells));
    *at = (uint32_t)facts->cells++;
    memset(&facts->cell[*at], 0, sizeof *facts->cell);
    facts->cell[*at].storage = storage;
    facts->cell[*at].traits = traits;
    return 0;
}

int facts_use_of(struct facts *facts, const struct log_event *event, struct facts_file *file, struct facts_use **out) {
    uint32_t process = (uint32_t)log_process_index(facts->log, event->process);
    uint32_t number = file ? (uint32_t)log_file_index(facts->log, file->file) : (uint32_t)facts->files;
    struct facts_process *own = &facts->process[process];
    uint64_t key = lookup_pair(process, number);
    uint32_t at = own->last_file == number + 1 ? own->last_use : lookup_find(&facts->use_of, key);
    *out = NULL;
    if (at == LOOKUP_NONE) {
        if (facts->uses == FACTS_MOST_USES) {
            facts->left_out++;
            return 0;
        }
        FORWARD(array_room(facts->use, facts->uses));
        FORWARD(lookup_set(&facts->use_of, key, (uint32_t)facts->uses));
        at = (uint32_t)facts->uses++;
        facts->use[at] = (struct facts_use){.process = process, .file = number};
        int is_new = file ? log_images_add_user(&facts->images, &facts->users, event->process, number) : 0;
        FORWARD(is_new);
        if (file) file->users += (unsigned)is_new;
    }
    own->last_file = number + 1;
    own->last_use = at;
    *out = &facts->use[at];
    return 0;
}

int facts_grain_of(struct facts *facts, struct facts_use *use, struct facts_traits traits, uint32_t storage,
                   uint32_t *at) {
    uint32_t number = (uint32_t)(use - facts->use), bits = bits_of(traits);
    struct facts_process *process = &facts->process[use->process];
    *at = process->last_grain - 1;
    if (process->last_grain && facts->grain[*at].use == number && bits_of(facts->grain[*at].traits) == bits) return 0;
    *at = lookup_find(&facts->grain_of, lookup_pair(number, bits));
    if (*at == LOOKUP_NONE) {
        if (facts->grains == FACTS_MOST_GRAINS) {
            facts->left_out++;
            *at = WALL_NO_GRAIN;
            return 0;
        }
        FORWARD(array_room(facts->grain, facts->grains));
        FORWARD(lookup_set(&facts->grain_of, lookup_pair(number, bits), (uint32_t)facts->grains));
        *at = (uint32_t)facts->grains++;
        facts->grain[*at] = (struct facts_grain){.traits = traits, .use = number};
        FORWARD(cell_of(facts, storage, traits, &facts->grain[*at].cell));
    }
    process->last_grain = *at + 1;
    return 0;
}

void facts_grain_add(struct facts *facts, uint32_t at, uint64_t bytes, int64_t ns) {
    struct facts_grain *grain = &facts->grain[at];
    facts_sum_add(&grain->sum, bytes, ns);
    facts_spread_add(&grain->spread, (double)ns);
    facts_cell_add(&facts->cell[grain->cell], bytes, ns);
}
