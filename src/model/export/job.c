#include "model/export/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"

// With more sizes than this in a file, their mean must do.
enum { MOST_SIZES = 8 };

// Pieces of one size that a lane moves in one file.
struct strand {
    const struct op_kind *kind;
    uint32_t member;
    uint64_t size;
    uint64_t count;
    int64_t first, low, high, last_end;
    uint64_t run, current; // pieces one behind the other: before the first jump, since the last
    int64_t jump;
    bool has_jump, is_irregular;
    double think_ns; // sum
    unsigned notes;
    size_t tally;
};

// All sizes together.
struct tally {
    uint64_t sizes, count, bytes;
    int64_t low, high;
    double think_ns;
    unsigned notes;
    bool done;
};

struct syncs {
    uint64_t count;
    bool only_data;
};

// What one thread does in the phase.
struct lane_load {
    struct load *load;
    struct lookup strand_of; // class, set, member and size
    struct lookup tally_of;  // class, set and member
    struct strand *strand;
    size_t strands;
    struct tally *tally;
    size_t tallies;
    struct lookup syncs_of; // set -> place in `syncs`
    struct syncs *syncs;
    size_t synced;
    struct lookup job_of; // what jobs have in common -> job
    size_t last;          // strand of the transfer before
    uint64_t turns;       // changes from one to another
};

// --- operations into strands

static unsigned notes_of(const struct op_kind *kind)
{
    unsigned notes = 0;
    if (kind->layer == LAYER_STDIO) notes |= LOAD_STDIO;
    if (kind->layer == LAYER_MPIIO) notes |= LOAD_MPIIO;
    if (kind->has_view) notes |= LOAD_VIEW;
    if (kind->collective) notes |= LOAD_COLLECTIVE;
    if (kind->nonblocking) notes |= LOAD_NONBLOCKING;
    if (kind->memory) notes |= LOAD_MEMORY;
    if (!kind->has_offset) notes |= LOAD_PLACELESS;
    return notes;
}

static uint64_t file_key(const struct op_kind *kind, uint32_t member)
{
    return hash_add(hash_add(hash_add(1, kind->class), kind->set), member);
}

static int find_tally(struct lane_load *lane, uint64_t key, size_t *place)
{
    uint32_t at = lookup_find(&lane->tally_of, key);
    if (at == LOOKUP_NONE) {
        FORWARD(array_room(lane->tally, lane->tallies));
        FORWARD(lookup_set(&lane->tally_of, key, (uint32_t)lane->tallies));
        at = (uint32_t)lane->tallies++;
        lane->tally[at] = (struct tally){.low = INT64_MAX};
    }
    *place = at;
    return 0;
}

static int find_strand(struct lane_load *lane, const struct op_kind *kind, uint32_t member, uint64_t size,
                       struct strand **strand)
{
    uint64_t key = hash_add(file_key(kind, member), size);
    uint32_t at = lookup_find(&lane->strand_of, key);
    if (at == LOOKUP_NONE) {
        size_t tally;
        FORWARD(find_tally(lane, file_key(kind, member), &tally));
        FORWARD(array_room(lane->strand, lane->strands));
        FORWARD(lookup_set(&lane->strand_of, key, (uint32_t)lane->strands));
        at = (uint32_t)lane->strands++;
        lane->strand[at] = (struct strand){.kind = kind, .member = member, .size = size, .tally = tally};
        lane->tally[tally].sizes++;
    }
    *strand = &lane->strand[at];
    return 0;
}

static void follow(struct strand *strand, int64_t offset)
{
    if (strand->count == 0) {
        strand->first = strand->low = offset;
    } else if (offset == strand->last_end) {
        strand->is_irregular |= strand->has_jump && strand->current == strand->run;
    } else {
        int64_t jump = offset - strand->last_end;
        strand->is_irregular |= strand->has_jump && (strand->current != strand->run || strand->jump != jump);
        if (!strand->has_jump) strand->run = strand->current;
        strand->has_jump = true;
        strand->jump = jump;
        strand->current = 0;
    }
    strand->current++;
    strand->count++;
    strand->last_end = offset + (int64_t)strand->size;
    if (offset < strand->low) strand->low = offset;
    if (strand->last_end > strand->high) strand->high = strand->last_end;
}

static void count_on(struct tally *tally, const struct strand *strand, int64_t offset, double think_ns)
{
    int64_t end = offset + (int64_t)strand->size;
    tally->count++;
    tally->bytes += strand->size;
    if (offset < tally->low) tally->low = offset;
    if (end > tally->high) tally->high = end;
    tally->think_ns += think_ns;
    tally->notes |= strand->notes;
}

static int take_transfer(struct lane_load *lane, const struct model_step *step)
{
    const struct op_kind *kind = step->kind;
    const int64_t *at = step->op->at;
    int64_t moved = at[AT_SIZE] - at[AT_SHORT], offset = kind->has_offset ? at[AT_OFFSET] : 0;
    if (moved <= 0 || offset < 0 || offset > INT64_MAX - moved) return 0;
    const struct model_pause *pause = step->think;
    double think_ns = pause && pause->count ? (double)pause->total_ns / (double)pause->count : 0;
    struct strand *strand;
    FORWARD(find_strand(lane, kind, (uint32_t)at[AT_MEMBER], (uint64_t)moved, &strand));
    strand->notes |= notes_of(kind) | (at[AT_SHORT] ? LOAD_SHORT : 0);
    strand->think_ns += think_ns;
    follow(strand, offset);
    count_on(&lane->tally[strand->tally], strand, offset, think_ns);
    lane->load->bytes[kind->class == CLASS_WRITE] += (uint64_t)moved;
    lane->turns += (size_t)(strand - lane->strand) != lane->last;
    lane->last = (size_t)(strand - lane->strand);
    return 0;
}

static int take_sync(struct lane_load *lane, const struct op_kind *kind)
{
    uint32_t at = lookup_find(&lane->syncs_of, kind->set);
    if (at == LOOKUP_NONE) {
        FORWARD(array_room(lane->syncs, lane->synced));
        FORWARD(lookup_set(&lane->syncs_of, kind->set, (uint32_t)lane->synced));
        at = (uint32_t)lane->synced++;
        lane->syncs[at] = (struct syncs){.only_data = true};
    }
    lane->syncs[at].count++;
    lane->syncs[at].only_data &= call_table[kind->call_id].count == COUNT_FDSYNC;
    return 0;
}

static int take(const struct model_step *step, void *context)
{
    struct lane_load *lane = context;
    const struct op_kind *kind = step->kind;
    bool transfers = (kind->class == CLASS_READ || kind->class == CLASS_WRITE) && !kind->error;
    if (transfers && kind->set != OP_NO_SET) return take_transfer(lane, step);
    lane->load->others += kind->class != CLASS_NONE;
    // Without a file it is all of them, of which no job knows.
    return kind->class == CLASS_SYNC && !kind->error && kind->set != OP_NO_SET ? take_sync(lane, kind) : 0;
}

// --- strands into jobs

bool load_repeats(const struct load_job *job)
{
    return !job->is_random && job->run < job->count && job->jump == -(int64_t)(job->run * job->size);
}

// Whether a job may go through several files: a generator must see when it is done with one.
static bool ends_by_itself(const struct load_job *job)
{
    return !job->is_random && (job->run == job->count || (job->run == 1 && job->jump > 0));
}

static uint64_t shape_of(const struct load_job *job)
{
    uint64_t hash = hash_add(hash_add(hash_add(hash_add(2, job->class), job->kind->set), job->size), job->count);
    hash = hash_add(hash_add(hash_add(hash, job->run), (uint64_t)job->jump), (uint64_t)job->first);
    return hash_add(hash, job->notes);
}

static int add_member(struct load_job *job, uint32_t member)
{
    return array_push(job->member, job->members, member);
}

static int add_job(struct lane_load *lane, const struct load_job *job, uint32_t member)
{
    struct load *load = lane->load;
    uint64_t shape = shape_of(job);
    uint32_t at = ends_by_itself(job) ? lookup_find(&lane->job_of, shape) : LOOKUP_NONE;
    if (at != LOOKUP_NONE) return add_member(&load->job[at], member);
    FORWARD(array_room(load->job, load->jobs));
    FORWARD(lookup_set(&lane->job_of, shape, (uint32_t)load->jobs));
    load->job[load->jobs] = *job;
    return add_member(&load->job[load->jobs++], member);
}

static int job_of_strand(struct lane_load *lane, const struct strand *strand, struct load_job job)
{
    job.size = strand->size;
    job.count = strand->count;
    job.run = strand->has_jump ? strand->run : strand->count;
    job.jump = strand->has_jump ? strand->jump : 0;
    job.first = strand->first;
    job.low = strand->low;
    job.high = strand->high;
    job.think_ns = (int64_t)(strand->think_ns / (double)strand->count);
    job.notes = strand->notes;
    bool backwards = strand->has_jump && strand->jump < 0 && !load_repeats(&job);
    job.is_random = strand->is_irregular || backwards;
    if (job.is_random) job.notes |= LOAD_PLACES;
    return add_job(lane, &job, strand->member);
}

// Pieces of the mean size one behind the other, and the rest as one more. Where they leave gaps or lie over each other,
// they may be anywhere.
static int jobs_of_tally(struct lane_load *lane, const struct tally *tally, uint32_t member, struct load_job job)
{
    uint64_t span = (uint64_t)(tally->high - tally->low);
    job.size = tally->bytes / tally->count;
    job.count = job.run = tally->bytes / job.size;
    job.is_random = tally->bytes != span;
    job.first = job.low = tally->low;
    job.high = job.is_random ? tally->high : tally->low + (int64_t)(job.size * job.count);
    job.think_ns = (int64_t)(tally->think_ns / (double)tally->count);
    job.notes = tally->notes | LOAD_SIZES | (job.is_random ? LOAD_PLACES : 0);
    FORWARD(add_job(lane, &job, member));
    uint64_t rest = tally->bytes - job.size * job.count;
    if (!rest) return 0;
    job.first = job.low = tally->high - (int64_t)rest;
    job.high = tally->high;
    job.size = rest;
    job.count = job.run = 1;
    job.is_random = false;
    return add_job(lane, &job, member);
}

// A sync is with the last job that wrote.
static void place_syncs(struct lane_load *lane, size_t first)
{
    for (size_t i = lane->load->jobs; i > first; i--) {
        struct load_job *job = &lane->load->job[i - 1];
        uint32_t at = job->class == CLASS_WRITE ? lookup_find(&lane->syncs_of, job->kind->set) : LOOKUP_NONE;
        if (at == LOOKUP_NONE) continue;
        job->syncs = lane->syncs[at].count;
        job->syncs_data = lane->syncs[at].only_data;
        lane->syncs[at].count = 0;
    }
}

static int make_jobs(struct lane_load *lane, uint32_t rank)
{
    struct load *load = lane->load;
    size_t first = load->jobs;
    for (size_t i = 0; i < lane->strands; i++) {
        const struct strand *strand = &lane->strand[i];
        struct tally *tally = &lane->tally[strand->tally];
        struct load_job job = {.class = strand->kind->class, .kind = strand->kind, .rank = rank, .processes = 1};
        if (tally->sizes <= MOST_SIZES) {
            FORWARD(job_of_strand(lane, strand, job));
        } else if (!tally->done) {
            tally->done = true;
            FORWARD(jobs_of_tally(lane, tally, strand->member, job));
        }
    }
    place_syncs(lane, first);
    for (size_t i = first; i < load->jobs; i++) {
        load->job[i].wave = (uint32_t)(i - first);
        load->job[i].order = i;
        load->notes |= load->job[i].notes;
    }
    // Strands that each came once are in order as long as none of them joined another.
    size_t jobs = load->jobs - first;
    if (jobs > 1 && (lane->turns >= lane->strands || jobs < lane->strands)) load->notes |= LOAD_TURNS;
    return 0;
}

static int add_lane(struct load *load, const struct model *model, uint32_t phase, uint32_t rank, uint32_t thread)
{
    struct lane_load lane = {.load = load};
    int code = model_expand_phase(model, phase, rank, thread, take, &lane);
    if (code == 0) code = make_jobs(&lane, rank);
    lookup_free(&lane.strand_of);
    lookup_free(&lane.tally_of);
    lookup_free(&lane.syncs_of);
    lookup_free(&lane.job_of);
    free(lane.strand);
    free(lane.tally);
    free(lane.syncs);
    return code;
}

// --- jobs of several processes into one

static int compare_jobs(const void *a, const void *b)
{
    const struct load_job *left = a, *right = b;
    if (left->wave != right->wave) return left->wave < right->wave ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

// Whether the next process does the same, as much further on as those before it.
static bool goes_on(const struct load_job *job, const struct load_job *next)
{
    int64_t increment = next->first - (job->first + (int64_t)(job->processes - 1) * job->increment);
    return next->wave == job->wave && next->rank == job->rank + job->processes && next->kind == job->kind &&
           next->size == job->size && next->count == job->count && next->run == job->run && next->jump == job->jump &&
           next->is_random == job->is_random && next->notes == job->notes && next->syncs == job->syncs &&
           next->first - next->low == job->first - job->low && next->high - next->low == job->high - job->low &&
           (job->processes == 1 ? increment >= 0 : increment == job->increment) && next->members == job->members &&
           !memcmp(next->member, job->member, job->members * sizeof *job->member);
}

static void join_processes(struct load *load)
{
    size_t kept = 0;
    if (load->jobs) qsort(load->job, load->jobs, sizeof *load->job, compare_jobs);
    for (size_t i = 0; i < load->jobs; i++) {
        struct load_job *last = kept ? &load->job[kept - 1] : NULL, *next = &load->job[i];
        if (last && goes_on(last, next)) {
            if (last->processes == 1) last->increment = next->first - last->first;
            last->processes++;
            free(next->member);
        } else {
            load->job[kept++] = *next;
        }
    }
    load->jobs = kept;
}

int load_make(struct load *load, const struct model *model, uint32_t phase)
{
    uint32_t program = model->family[model->phase[phase].family].program;
    uint32_t threads = model_threads(model, program);
    *load = (struct load){0};
    for (uint32_t rank = 0; rank < model->program[program].np; rank++) {
        for (uint32_t thread = 0; thread < threads; thread++) FORWARD(add_lane(load, model, phase, rank, thread));
    }
    join_processes(load);
    return 0;
}

void load_free(struct load *load)
{
    for (size_t i = 0; i < load->jobs; i++) free(load->job[i].member);
    free(load->job);
    *load = (struct load){0};
}

int64_t load_end(const struct load_job *job)
{
    return job->high + (int64_t)(job->processes - 1) * job->increment;
}
