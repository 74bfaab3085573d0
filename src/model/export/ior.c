// Command lines for IOR, one or more for each family of phases. IOR knows one pattern: each process has a block of
// transfers, the blocks follow each other in the order of ranks, and this repeats for each segment; in one file for all
// processes or one file per process.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "model/export/job.h"

enum { IOR_SIZE_BYTES = 8 }; // sizes must be multiples of this

// What a line says.
struct line {
    const struct job *job; // the first of those that it stands for
    uint64_t processes;
    bool own_files;
    bool fits;       // places are as in the program, except for a common shift
    bool is_shifted; // each process has the place of the next one
    uint64_t block, segments;
};

struct writing {
    const struct model *model;
    FILE *out;
    struct lookup extent_of; // file -> place in `extent`
    uint64_t *extent;        // bytes that lines so far wrote, from the beginning on
    size_t extents;
};

// True for jobs of the same wave that differ only in their files.
static bool is_alike(const struct job *a, const struct job *b) {
    return a->wave == b->wave && a->kind == b->kind && a->size == b->size && a->count == b->count && a->run == b->run &&
           a->jump == b->jump && a->is_random == b->is_random && a->members == b->members;
}

static bool same_file(const struct job *a, const struct job *b) { return a->member[0] == b->member[0]; }

// Blocks follow each other, or alternate with those of the other processes.
static void lay_out(struct line *line) {
    const struct job *job = line->job;
    uint64_t all = job->size * job->count * job->members, run = job->size * job->run;
    bool alone = line->processes == 1 || line->own_files;
    line->block = all;
    line->segments = 1;
    if (job->is_random) {
        line->fits = true;
    } else if (job->run == job->count) {
        line->fits = alone || (uint64_t)job->increment == all;
    } else if (job->jump > 0 && job->count % job->run == 0 && (uint64_t)job->jump + run == line->processes * run &&
               (uint64_t)job->increment == run) {
        line->fits = true;
        line->block = run;
        line->segments = job->count / job->run;
    }
    line->fits = line->fits && job->members == 1;
}

// True if the last process has the first place, and each other process the place after its own.
static bool is_shifted(const struct line *line, const struct job *job, size_t jobs) {
    const struct job *last = &job[jobs - 1];
    uint64_t all = job->size * job->count;
    return jobs == 2 && !line->own_files && !job->is_random && job->run == job->count && last->processes == 1 &&
           last->low == 0 && (uint64_t)job->low == all && (job->processes == 1 || (uint64_t)job->increment == all);
}

// Makes the line for the jobs from `at` on; returns the number of jobs in it.
static size_t make_line(const struct jobs *jobs, size_t at, struct line *line) {
    const struct job *job = &jobs->job[at];
    size_t taken = 1;
    *line = (struct line){.job = job, .processes = job->processes};
    for (; at + taken < jobs->count && is_alike(job, &jobs->job[at + taken]); taken++) {
        line->processes += jobs->job[at + taken].processes;
        line->own_files = line->own_files || !same_file(job, &jobs->job[at + taken]);
    }
    lay_out(line);
    // One file, but the distances are not constant.
    line->is_shifted = is_shifted(line, job, taken);
    if (taken > 1 && !line->own_files) line->fits = job->is_random || line->is_shifted;
    return taken;
}

static void write_words(struct writing *w, const struct line *line) {
    const struct job *job = line->job;
    if (job->members > 1)
        fprintf(w->out, "# differs: each process uses %zu files; here it uses one\n", job->members);
    else if (!line->fits)
        fputs("# differs: the blocks of the processes have another order in the file; here they follow each other\n",
              w->out);
    if (job->low && !line->own_files && !line->is_shifted)
        fprintf(w->out, "# differs: it begins at byte %" PRId64 "; here at 0\n", job->low);
    if (job_repeats(job))
        fputs("# differs: the same place is used repeatedly; here each transfer follows the last\n", w->out);
    if (job->size % IOR_SIZE_BYTES)
        fprintf(w->out, "# IOR refuses sizes that are not multiples of %d\n", IOR_SIZE_BYTES);
}

// If each process has its own file, IOR appends the rank to the name. Then all lines on the set have one name.
static uint32_t member_of(const struct line *line) { return line->own_files ? 0 : line->job->member[0]; }

static void write_line(struct writing *w, const struct line *line, bool reads, bool goes_on, uint64_t repetitions) {
    const struct job *job = line->job;
    char name[MODEL_PLAIN_NAME_BYTES];
    model_plain_name(w->model, job->kind->set, member_of(line), name);
    fprintf(w->out,
            "mpiexec -n %" PRIu64 " ior -a %s %s -k -o %s%s -b %" PRIu64 " -t %" PRIu64 " -s %" PRIu64 " -i %" PRIu64,
            line->processes, job->kind->layer == LAYER_MPIIO ? "MPIIO" : "POSIX", reads ? "-r" : "-w", name,
            line->own_files ? " -F" : "", line->block, job->size, line->segments, repetitions);
    if (goes_on) fputs(" -E", w->out); // else IOR removes the file first
    if (job->is_random) fputs(" -z", w->out);
    if (line->is_shifted) fputs(" -C", w->out);
    if (job->kind->collective) fputs(" -c", w->out);
    if (!reads && job->syncs) fputs(" -e", w->out);
    putc('\n', w->out);
}

static int write_lines(struct writing *w, const struct line *line, uint64_t repetitions) {
    bool reads = line->job->class == CLASS_READ;
    uint64_t bytes = line->processes * line->block * line->segments;
    uint64_t key = hash_add(lookup_pair(line->job->kind->set, member_of(line)), line->own_files);
    uint32_t at;
    FORWARD(lookup_intern(&w->extent_of, key, at, w->extent, w->extents, 0));
    uint64_t *extent = &w->extent[at];
    if (reads && bytes > *extent) {
        fputs("# prepare: the file must exist before it is read\n", w->out);
        write_line(w, line, false, *extent, 1);
    }
    write_words(w, line);
    write_line(w, line, reads, !reads && *extent, repetitions);
    if (bytes > *extent) *extent = bytes;
    return 0;
}

static int write_family(struct writing *w, uint32_t phase, struct jobs *jobs) {
    uint32_t count = w->model->family[w->model->phase[phase].family].count;
    jobs->notes &= ~(unsigned)(JOB_MPIIO | JOB_COLLECTIVE); // IOR knows these
    job_write_phase(w->model, phase, jobs, w->out);
    if (count > 1)
        fprintf(w->out,
                "# All %u phases of the family in one: each of the repetitions goes elsewhere in the program, here "
                "over the same.\n",
                (unsigned)count);
    for (size_t i = 0; i < jobs->count;) {
        struct line line;
        i += make_line(jobs, i, &line);
        FORWARD(write_lines(w, &line, count));
    }
    return ferror(w->out) ? -errno : 0;
}

int job_write_ior(const struct model *model, FILE *out) {
    struct writing w = {.model = model, .out = out};
    int code = 0;
    job_write_title(model, "IOR", out);
    for (uint32_t phase = 0; phase < model->phases && !code; phase++) {
        struct jobs jobs;
        if (model->phase[phase].ph != 1) continue;
        code = jobs_make(&jobs, model, phase);
        if (code == 0) code = write_family(&w, phase, &jobs);
        jobs_free(&jobs);
    }
    lookup_free(&w.extent_of);
    free(w.extent);
    return code;
}
