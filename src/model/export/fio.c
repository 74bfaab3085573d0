// A job file of fio: a group of jobs for each wave of each phase.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/intern.h"
#include "model/export/job.h"

enum {
    LINE_BYTES = 3000, // of names in one line: fio takes no more than 4096
    MOST_JOBS = 4096,  // that fio takes
    PREPARE_BYTES = 1 << 20,
};

// A file and how far it reaches.
struct extent {
    uint32_t set, member;
    int64_t written; // by the jobs so far
    int64_t needed;  // by reads before it is written
};

struct writing {
    const struct model *model;
    FILE *out;
    struct lookup extent_of;
    struct extent *extent;
    size_t extents;
    uint64_t jobs;
};

// --- files that must be there

static int reach(struct writing *w, const struct job *job) {
    int64_t end = job_end(job);
    for (size_t i = 0; i < job->members; i++) {
        struct extent made = {.set = job->kind->set, .member = job->member[i]};
        uint64_t key = lookup_pair(made.set, made.member);
        uint32_t at;
        FORWARD(lookup_intern(&w->extent_of, key, at, w->extent, w->extents, made));
        struct extent *extent = &w->extent[at];
        // It is not known how far random writes reach.
        if (job->class == CLASS_WRITE && !job->is_random && end > extent->written) extent->written = end;
        if (job->class == CLASS_READ && end > extent->written && end > extent->needed) extent->needed = end;
    }
    return 0;
}

static int write_prepare(struct writing *w) {
    for (size_t i = 0; i < w->extents; i++) {
        const struct extent *extent = &w->extent[i];
        char name[MODEL_PLAIN_NAME_BYTES];
        if (!extent->needed) continue;
        uint64_t size = (uint64_t)extent->needed, piece = size < PREPARE_BYTES ? size : PREPARE_BYTES;
        model_plain_name(w->model, extent->set, extent->member, name);
        fprintf(w->out, "\n[prepare-%s]\nfilename=%s\nrw=write\nbs=%" PRIu64 "\nsize=%" PRIu64 "\n", name, name, piece,
                (size + piece - 1) / piece * piece);
        w->jobs++;
    }
    return ferror(w->out) ? -errno : 0;
}

// --- jobs

// Returns the flags of all opens of the set together.
static uint32_t open_flags(const struct model *model, uint32_t set) {
    uint32_t flags = 0;
    for (size_t i = 0; i < model->kinds; i++) {
        const struct op_kind *kind = &model->kind[i];
        if (kind->class == CLASS_OPEN && kind->layer == LAYER_POSIX && kind->set == set && !kind->error)
            flags |= kind->flags;
    }
    return flags;
}

static void write_how(struct writing *w, const struct job *job) {
    enum { SECTOR_BYTES = 512 };
    uint32_t flags = open_flags(w->model, job->kind->set);
    bool aligned = job->size % SECTOR_BYTES == 0 && job->low % SECTOR_BYTES == 0 && job->increment % SECTOR_BYTES == 0;
    // Calls without an explicit offset move the position of the file.
    if (job->kind->layer == LAYER_POSIX && call_table[job->kind->call_id].pointer == POINTER_INDIVIDUAL)
        fputs("ioengine=sync\n", w->out);
    if (flags & O_DIRECT && aligned) fputs("direct=1\n", w->out);
    if ((flags & O_SYNC) == O_SYNC)
        fputs("sync=sync\n", w->out);
    else if (flags & O_DSYNC)
        fputs("sync=dsync\n", w->out);
    uint64_t pieces = job->count * job->members;
    if (job->syncs > job->members)
        fprintf(w->out, "%s=%" PRIu64 "\n", job->syncs_data ? "fdatasync" : "fsync",
                pieces > job->syncs ? pieces / job->syncs : 1);
    else if (job->syncs)
        fputs("end_fsync=1\n", w->out);
    if (job->think_ns >= 1000) fprintf(w->out, "thinktime=%" PRId64 "\n", job->think_ns / 1000);
}

static void write_where(struct writing *w, const struct job *job, size_t members) {
    FILE *out = w->out;
    const char *direction = job->class == CLASS_READ ? "read" : "write";
    uint64_t total = job->size * job->count * members, span = (uint64_t)(job->high - job->low) * members;
    bool jumps = !job->is_random && job->run < job->count && job->jump > 0;
    if (job->is_random)
        fprintf(out, "rw=rand%s\nnorandommap=1\n", direction);
    else if (jumps && job->run == 1)
        fprintf(out, "rw=%s:%" PRId64 "\n", direction, job->jump);
    else
        fprintf(out, "rw=%s\n", direction);
    if (jumps && job->run > 1)
        fprintf(out, "zonemode=strided\nzonesize=%" PRIu64 "\nzonerange=%" PRIu64 "\nzoneskip=%" PRId64 "\n",
                job->run * job->size, job->run * job->size, job->jump);
    fprintf(out, "bs=%" PRIu64 "\n", job->size);
    if (job->low) fprintf(out, "offset=%" PRId64 "\n", job->low);
    fprintf(out, "size=%" PRIu64 "\n", span);
    if (total != span) fprintf(out, "io_size=%" PRIu64 "\n", total);
    if (job->processes > 1) fprintf(out, "numjobs=%u\n", (unsigned)job->processes);
    if (job->processes > 1 && job->increment) fprintf(out, "offset_increment=%" PRId64 "\n", job->increment);
}

// Writes as many names as fit on a line; returns how many.
static size_t write_names(struct writing *w, const struct job *job, size_t from) {
    size_t bytes = 0, i = from;
    fputs("filename=", w->out);
    for (; i < job->members && bytes < LINE_BYTES; i++) {
        char name[MODEL_PLAIN_NAME_BYTES];
        model_plain_name(w->model, job->kind->set, job->member[i], name);
        bytes += strlen(name) + 1;
        fprintf(w->out, "%s%s", i > from ? ":" : "", name);
    }
    putc('\n', w->out);
    if (i - from > 1) fputs("file_service_type=sequential\n", w->out);
    return i - from;
}

static void write_job(struct writing *w, uint32_t phase, size_t number, const struct job *job, bool waits) {
    for (size_t from = 0; from < job->members;) {
        fprintf(w->out, "\n[phase-%u.%zu-%s]\n", (unsigned)phase + 1, number + 1,
                job->class == CLASS_READ ? "read" : "write");
        if (waits || from) fputs("stonewall\n", w->out);
        size_t members = write_names(w, job, from);
        write_where(w, job, members);
        write_how(w, job);
        from += members;
        w->jobs += job->processes;
    }
}

// --- all phases

typedef int each_phase(struct writing *w, uint32_t phase, const struct jobs *jobs);

static int reach_phase(struct writing *w, uint32_t phase, const struct jobs *jobs) {
    (void)phase;
    for (size_t i = 0; i < jobs->count; i++) FORWARD(reach(w, &jobs->job[i]));
    return 0;
}

static int write_phase(struct writing *w, uint32_t phase, const struct jobs *jobs) {
    job_write_phase(w->model, phase, jobs, w->out);
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = &jobs->job[i];
        write_job(w, phase, i, job, i == 0 || job->wave != jobs->job[i - 1].wave);
    }
    return ferror(w->out) ? -errno : 0;
}

static int for_phases(struct writing *w, each_phase *each) {
    int code = 0;
    for (uint32_t phase = 0; phase < w->model->phases && !code; phase++) {
        struct jobs jobs;
        code = jobs_make(&jobs, w->model, phase);
        if (code == 0) code = each(w, phase, &jobs);
        jobs_free(&jobs);
    }
    return code;
}

static int write_all(struct writing *w) {
    job_write_title(w->model, "fio", w->out);
    // fio makes files when it opens them, not all at once before the first job. What is in the page cache stays there.
    fputs("\n[global]\nioengine=psync\ncreate_on_open=1\nfallocate=none\ninvalidate=0\ngroup_reporting=1\n", w->out);
    FORWARD(for_phases(w, reach_phase));
    FORWARD(write_prepare(w));
    FORWARD(for_phases(w, write_phase));
    if (w->jobs > MOST_JOBS)
        fprintf(w->out, "\n# These are %" PRIu64 " jobs. fio takes %d at a time: give it some of the phases.\n",
                w->jobs, MOST_JOBS);
    return ferror(w->out) ? -errno : 0;
}

int job_write_fio(const struct model *model, FILE *out) {
    struct writing w = {.model = model, .out = out};
    int code = write_all(&w);
    lookup_free(&w.extent_of);
    free(w.extent);
    return code;
}
