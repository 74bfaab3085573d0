#include "model/export/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"

// If a file has more sizes than this, the mean is used.
enum { MOST_SIZES = 8 };

// Pieces of one size that a thread moves in one file.
struct sequence {
    const struct op_kind *kind;
    uint32_t member;
    uint64_t size;
    uint64_t count;
    int64_t first, low, high, last_end;
    uint64_t run, current; // consecutive pieces: before the first jump, since the last jump
    int64_t jump;
    bool has_jump, is_irregular;
    double think_ns; // sum
    unsigned notes;
    size_t tally;
};

// Sums over all sizes of a file.
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
struct thread_jobs {
    struct jobs *jobs;
    struct lookup sequence_of; // class, set, member and size
    struct lookup tally_of;    // class, set and member
    struct sequence *sequence;
    size_t sequences;
    struct tally *tally;
    size_t tallies;
    struct lookup syncs_of; // set -> place in `syncs`
    struct syncs *syncs;
    size_t synced;
    struct lookup job_of; // what jobs have in common -> job
    size_t last;          // sequence of the transfer before
    uint64_t turns;       // changes from one to another
};

// --- operations into sequences

static unsigned notes_of(const struct op_kind *kind) {
    unsigned notes = 0;
    if (kind->layer == LAYER_STDIO) notes |= JOB_STDIO;
    if (kind->layer == LAYER_MPIIO) notes |= JOB_MPIIO;
    if (kind->has_view) notes |= JOB_VIEW;
    if (kind->collective) notes |= JOB_COLLECTIVE;
    if (kind->nonblocking) notes |= JOB_NONBLOCKING;
    if (kind->memory) notes |= JOB_MEMORY;
    if (!kind->has_offset) notes |= JOB_PLACELESS;
    return notes;
}

static uint64_t file_key(const struct op_kind *kind, uint32_t member) {
    return hash_add(hash_add(hash_add(1, kind->class), kind->set), member);
}

static int intern_sequence(struct thread_jobs *thread, const struct op_kind *kind, uint32_t member, uint64_t size,
                           struct sequence **sequence) {
    uint64_t file = file_key(kind, member), key = hash_add(file, size);
    uint32_t at = lookup_find(&thread->sequence_of, key), tally;
    if (at == LOOKUP_NONE) {
        FORWARD(lookup_intern(&thread->tally_of, file, tally, thread->tally, thread->tallies,
                              (struct tally){.low = INT64_MAX}));
        thread->tally[tally].sizes++;
        struct sequence made = {.kind = kind, .member = member, .size = size, .tally = tally};
        FORWARD(lookup_intern(&thread->sequence_of, key, at, thread->sequence, thread->sequences, made));
    }
    *sequence = &thread->sequence[at];
    return 0;
}

static void follow(struct sequence *sequence, int64_t offset) {
    if (sequence->count == 0) {
        sequence->first = sequence->low = offset;
    } else if (offset == sequence->last_end) {
        sequence->is_irregular |= sequence->has_jump && sequence->current == sequence->run;
    } else {
        int64_t jump = offset - sequence->last_end;
        sequence->is_irregular |= sequence->has_jump && (sequence->current != sequence->run || sequence->jump != jump);
        if (!sequence->has_jump) sequence->run = sequence->current;
        sequence->has_jump = true;
        sequence->jump = jump;
        sequence->current = 0;
    }
    sequence->current++;
    sequence->count++;
    sequence->last_end = offset + (int64_t)sequence->size;
    if (offset < sequence->low) sequence->low = offset;
    if (sequence->last_end > sequence->high) sequence->high = sequence->last_end;
}

static void count_on(struct tally *tally, const struct sequence *sequence, int64_t offset, double think_ns) {
    int64_t end = offset + (int64_t)sequence->size;
    tally->count++;
    tally->bytes += sequence->size;
    if (offset < tally->low) tally->low = offset;
    if (end > tally->high) tally->high = end;
    tally->think_ns += think_ns;
    tally->notes |= sequence->notes;
}

static int add_transfer(struct thread_jobs *thread, const struct model_step *step) {
    const struct op_kind *kind = step->kind;
    const int64_t *at = step->op->at;
    int64_t moved = at[AT_SIZE] - at[AT_SHORT], offset = kind->has_offset ? at[AT_OFFSET] : 0;
    if (moved <= 0 || offset < 0 || offset > INT64_MAX - moved) return 0;
    const struct model_pause *pause = step->think;
    double think_ns = pause && pause->count ? (double)pause->total_ns / (double)pause->count : 0;
    struct sequence *sequence;
    FORWARD(intern_sequence(thread, kind, (uint32_t)at[AT_MEMBER], (uint64_t)moved, &sequence));
    sequence->notes |= notes_of(kind) | (at[AT_SHORT] ? JOB_SHORT : 0);
    sequence->think_ns += think_ns;
    follow(sequence, offset);
    count_on(&thread->tally[sequence->tally], sequence, offset, think_ns);
    thread->jobs->bytes[kind->class == CLASS_WRITE] += (uint64_t)moved;
    thread->turns += (size_t)(sequence - thread->sequence) != thread->last;
    thread->last = (size_t)(sequence - thread->sequence);
    return 0;
}

static int add_sync(struct thread_jobs *thread, const struct op_kind *kind) {
    struct syncs made = {.only_data = true};
    uint32_t at;
    FORWARD(lookup_intern(&thread->syncs_of, kind->set, at, thread->syncs, thread->synced, made));
    thread->syncs[at].count++;
    thread->syncs[at].only_data &= call_table[kind->call_id].count == COUNT_FDSYNC;
    return 0;
}

static int add_step(const struct model_step *step, void *context) {
    struct thread_jobs *thread = context;
    const struct op_kind *kind = step->kind;
    bool transfers = (kind->class == CLASS_READ || kind->class == CLASS_WRITE) && !kind->error;
    if (transfers && kind->set != OP_NO_SET) return add_transfer(thread, step);
    thread->jobs->others += kind->class != CLASS_NONE;
    // A sync without a file is for all files; jobs cannot express that.
    return kind->class == CLASS_SYNC && !kind->error && kind->set != OP_NO_SET ? add_sync(thread, kind) : 0;
}

// --- sequences into jobs

bool job_repeats(const struct job *job) {
    return !job->is_random && job->run < job->count && job->jump == -(int64_t)(job->run * job->size);
}

// True if a job may use several files: a generator must know when it is done with one.
static bool ends_by_itself(const struct job *job) {
    return !job->is_random && (job->run == job->count || (job->run == 1 && job->jump > 0));
}

static uint64_t shape_of(const struct job *job) {
    uint64_t hash = hash_add(hash_add(hash_add(hash_add(2, job->class), job->kind->set), job->size), job->count);
    hash = hash_add(hash_add(hash_add(hash, job->run), (uint64_t)job->jump), (uint64_t)job->first);
    return hash_add(hash, job->notes);
}

static int add_job(struct thread_jobs *thread, const struct job *job, uint32_t member) {
    struct jobs *jobs = thread->jobs;
    uint64_t shape = shape_of(job);
    uint32_t at = ends_by_itself(job) ? lookup_find(&thread->job_of, shape) : LOOKUP_NONE;
    if (at == LOOKUP_NONE) {
        at = (uint32_t)jobs->count;
        FORWARD(lookup_set(&thread->job_of, shape, at));
        FORWARD(array_push(jobs->job, jobs->count, *job));
    }
    return array_push(jobs->job[at].member, jobs->job[at].members, member);
}

static int job_of_sequence(struct thread_jobs *thread, const struct sequence *sequence, struct job job) {
    job.size = sequence->size;
    job.count = sequence->count;
    job.run = sequence->has_jump ? sequence->run : sequence->count;
    job.jump = sequence->has_jump ? sequence->jump : 0;
    job.first = sequence->first;
    job.low = sequence->low;
    job.high = sequence->high;
    job.think_ns = (int64_t)(sequence->think_ns / (double)sequence->count);
    job.notes = sequence->notes;
    bool backwards = sequence->has_jump && sequence->jump < 0 && !job_repeats(&job);
    job.is_random = sequence->is_irregular || backwards;
    if (job.is_random) job.notes |= JOB_PLACES;
    return add_job(thread, &job, sequence->member);
}

// Makes pieces of the mean size one after the other, and one more piece for the rest. If the original pieces leave gaps
// or overlap, the places are random.
static int jobs_of_tally(struct thread_jobs *thread, const struct tally *tally, uint32_t member, struct job job) {
    uint64_t span = (uint64_t)(tally->high - tally->low);
    job.size = tally->bytes / tally->count;
    job.count = job.run = tally->bytes / job.size;
    job.is_random = tally->bytes != span;
    job.first = job.low = tally->low;
    job.high = job.is_random ? tally->high : tally->low + (int64_t)(job.size * job.count);
    job.think_ns = (int64_t)(tally->think_ns / (double)tally->count);
    job.notes = tally->notes | JOB_SIZES | (job.is_random ? JOB_PLACES : 0);
    FORWARD(add_job(thread, &job, member));
    uint64_t rest = tally->bytes - job.size * job.count;
    if (!rest) return 0;
    job.first = job.low = tally->high - (int64_t)rest;
    job.high = tally->high;
    job.size = rest;
    job.count = job.run = 1;
    job.is_random = false;
    return add_job(thread, &job, member);
}

// A sync belongs to the last job that wrote.
static void place_syncs(struct thread_jobs *thread, size_t first) {
    for (size_t i = thread->jobs->count; i > first; i--) {
        struct job *job = &thread->jobs->job[i - 1];
        uint32_t at = job->class == CLASS_WRITE ? lookup_find(&thread->syncs_of, job->kind->set) : LOOKUP_NONE;
        if (at == LOOKUP_NONE) continue;
        job->syncs = thread->syncs[at].count;
        job->syncs_data = thread->syncs[at].only_data;
        thread->syncs[at].count = 0;
    }
}

static int make_jobs(struct thread_jobs *thread, uint32_t rank) {
    struct jobs *jobs = thread->jobs;
    size_t first = jobs->count;
    for (size_t i = 0; i < thread->sequences; i++) {
        const struct sequence *sequence = &thread->sequence[i];
        struct tally *tally = &thread->tally[sequence->tally];
        struct job job = {.class = sequence->kind->class, .kind = sequence->kind, .rank = rank, .processes = 1};
        if (tally->sizes <= MOST_SIZES) {
            FORWARD(job_of_sequence(thread, sequence, job));
        } else if (!tally->done) {
            tally->done = true;
            FORWARD(jobs_of_tally(thread, tally, sequence->member, job));
        }
    }
    place_syncs(thread, first);
    for (size_t i = first; i < jobs->count; i++) {
        jobs->job[i].wave = (uint32_t)(i - first);
        jobs->job[i].order = i;
        jobs->notes |= jobs->job[i].notes;
    }
    // Sequences that each came once are in order, unless one of them joined another.
    size_t made = jobs->count - first;
    if (made > 1 && (thread->turns >= thread->sequences || made < thread->sequences)) jobs->notes |= JOB_TURNS;
    return 0;
}

static int add_thread(struct jobs *jobs, const struct model *model, uint32_t phase, uint32_t rank, uint32_t number) {
    struct thread_jobs thread = {.jobs = jobs};
    int code = model_expand_phase(model, phase, rank, number, add_step, &thread);
    if (code == 0) code = make_jobs(&thread, rank);
    lookup_free(&thread.sequence_of);
    lookup_free(&thread.tally_of);
    lookup_free(&thread.syncs_of);
    lookup_free(&thread.job_of);
    free(thread.sequence);
    free(thread.tally);
    free(thread.syncs);
    return code;
}

// --- jobs of several processes into one

static int compare_jobs(const void *a, const void *b) {
    const struct job *left = a, *right = b;
    if (left->wave != right->wave) return left->wave < right->wave ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

// True if the next process does the same, at the same distance as the processes before it.
static bool goes_on(const struct job *job, const struct job *next) {
    int64_t increment = next->first - (job->first + (int64_t)(job->processes - 1) * job->increment);
    return next->wave == job->wave && next->rank == job->rank + job->processes && next->kind == job->kind &&
           next->size == job->size && next->count == job->count && next->run == job->run && next->jump == job->jump &&
           next->is_random == job->is_random && next->notes == job->notes && next->syncs == job->syncs &&
           next->first - next->low == job->first - job->low && next->high - next->low == job->high - job->low &&
           (job->processes == 1 ? increment >= 0 : increment == job->increment) && next->members == job->members &&
           !memcmp(next->member, job->member, job->members * sizeof *job->member);
}

static void join_processes(struct jobs *jobs) {
    size_t kept = 0;
    if (jobs->count) qsort(jobs->job, jobs->count, sizeof *jobs->job, compare_jobs);
    for (size_t i = 0; i < jobs->count; i++) {
        struct job *last = kept ? &jobs->job[kept - 1] : NULL, *next = &jobs->job[i];
        if (last && goes_on(last, next)) {
            if (last->processes == 1) last->increment = next->first - last->first;
            last->processes++;
            free(next->member);
        } else {
            jobs->job[kept++] = *next;
        }
    }
    jobs->count = kept;
}

int jobs_make(struct jobs *jobs, const struct model *model, uint32_t phase) {
    uint32_t program = model->family[model->phase[phase].family].program;
    uint32_t threads = model_threads(model, program);
    *jobs = (struct jobs){0};
    for (uint32_t rank = 0; rank < model->program[program].np; rank++) {
        for (uint32_t thread = 0; thread < threads; thread++) FORWARD(add_thread(jobs, model, phase, rank, thread));
    }
    join_processes(jobs);
    return 0;
}

void jobs_free(struct jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) free(jobs->job[i].member);
    free(jobs->job);
    *jobs = (struct jobs){0};
}

int64_t job_end(const struct job *job) { return job->high + (int64_t)(job->processes - 1) * job->increment; }

// --- comments: what the output is about

static const char *note_text(unsigned bit) {
    static const char *const texts[JOB_NOTES] = {
        "sizes differ from call to call; here each is the mean",
        "places follow no simple rule; here they are random",
        "calls asked for more than they moved; here they ask for what was moved",
        "a file view scatters the bytes; here each transfer is in one piece",
        "calls are collective",
        "calls are nonblocking",
        "the memory of transfers is not contiguous; here it is",
        "stdio gathers small requests in memory; here each goes to the system",
        "calls are MPI-IO; here they are POSIX",
        "the offsets of transfers are not known; here they are at the file's beginning",
        "transfers of different sizes, files or directions alternate; here one kind follows the other",
    };
    return texts[bit];
}

// Writes control characters as spaces, so that the text stays on one line.
static void write_text(const char *text, FILE *out) {
    for (; *text; text++) putc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
}

void job_write_title(const struct model *model, const char *tool, FILE *out) {
    fprintf(out, "# The I/O of this command as a workload for %s, phase by phase: ", tool);
    write_text(model->command ? model->command : "(not known)", out);
    fputs("\n# Run it in a folder of its own. Left out: communication, the pauses between phases, and calls that move "
          "no\n"
          "# data (opens, seeks, metadata), except for syncs.\n",
          out);
    if (model->programs > 1) fputs("# Programs that ran at the same time follow each other here.\n", out);
    for (size_t i = 0; i < model->files; i++) {
        char name[MODEL_PLAIN_NAME_BYTES];
        model_plain_name(model, (uint32_t)i, 0, name);
        fprintf(out, "# %s is ", name);
        write_text(model->file[i].set->pattern, out);
        if (model->file[i].set->member_count > 1) fprintf(out, ", the first of %zu", model->file[i].set->member_count);
        putc('\n', out);
    }
}

void job_write_phase(const struct model *model, uint32_t phase, const struct jobs *jobs, FILE *out) {
    const struct model_phase *about = &model->phase[phase];
    const struct model_family *family = &model->family[about->family];
    fprintf(out, "\n# Phase %u", (unsigned)phase + 1);
    if (family->count > 1) fprintf(out, " (%u of %u of family %u)", about->ph, family->count, about->family + 1);
    fprintf(out, ": %" PRIu64 " bytes read, %" PRIu64 " written, %" PRIu64 " other calls\n", jobs->bytes[0],
            jobs->bytes[1], jobs->others);
    for (unsigned bit = 0; bit < JOB_NOTES; bit++) {
        if (jobs->notes & 1u << bit) fprintf(out, "# differs: %s\n", note_text(bit));
    }
}
