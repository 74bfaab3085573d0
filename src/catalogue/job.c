#include "catalogue/job.h"

#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/err.h"

const struct part_table part_tables[PART_KINDS] = {
    [PART_LAYER] = {"job_layers",
                    "layer_sums",
                    {"opens", "reads", "writes", "bytes_read", "bytes_written", "read_ns", "write_ns", "meta_ns"},
                    8},
    [PART_SIZE] = {"job_sizes", "size_sums", {"reads", "writes"}, 2},
    [PART_FILES] = {"job_files",
                    "file_sums",
                    {"files", "opens", "reads", "writes", "bytes_read", "bytes_written", "file_ns", "processes"},
                    7},
    [PART_SYSTEM] = {"job_systems", "system_sums", {"files", "bytes_read", "bytes_written", "file_ns"}, 4},
    [PART_FINDING] = {"job_findings", "finding_sums", {"stake_ns", "severity"}, 1},
};

void job_free(struct job *job) {
    free(job->part);
    arena_free(&job->texts);
    *job = (struct job){0};
}

int job_add_part(struct job *job, const struct job_part *part) {
    struct job_part own = *part;
    own.name = arena_text(&job->texts, part->name);
    return own.name ? array_push(job->part, job->parts, own) : -ENOMEM;
}

int job_set_text(struct job *job, enum job_text text, const char *value) {
    job->text[text] = arena_text(&job->texts, value ? value : "");
    return job->text[text] ? 0 : -ENOMEM;
}

void job_set_start(struct job *job, int64_t start_ns) {
    time_t seconds = (time_t)(start_ns / 1000000000);
    struct tm utc = {0};
    gmtime_r(&seconds, &utc);
    job->number[JOBS_START] = start_ns;
    job->number[JOBS_MONTH] = (utc.tm_year + 1900) * 100 + utc.tm_mon + 1;
}

// --- as bytes: numbers, texts with their closing zero, parts; both sides are the same program

static int put_text(struct bytes *out, const char *text) { return bytes_append(out, text, strlen(text) + 1); }

int job_put(struct bytes *out, const struct job *job) {
    uint64_t parts = job->parts;
    FORWARD(bytes_append(out, job->number, sizeof job->number));
    FORWARD(bytes_append(out, &parts, sizeof parts));
    for (unsigned i = 0; i < JOB_TEXTS; i++) FORWARD(put_text(out, job->text[i]));
    for (size_t i = 0; i < job->parts; i++) {
        uint8_t kind = (uint8_t)job->part[i].kind;
        FORWARD(bytes_append(out, &kind, sizeof kind));
        FORWARD(bytes_append(out, job->part[i].number, sizeof job->part[i].number));
        FORWARD(put_text(out, job->part[i].name));
    }
    return 0;
}

struct input {
    const uint8_t *at, *end;
};

static int get(struct input *in, void *value, size_t len) {
    RETURN_IF((size_t)(in->end - in->at) < len, ERR_TRUNCATED);
    memcpy(value, in->at, len);
    in->at += len;
    return 0;
}

static int get_text(struct input *in, const char **text) {
    const uint8_t *zero = memchr(in->at, 0, (size_t)(in->end - in->at));
    RETURN_IF(!zero, ERR_TRUNCATED);
    *text = (const char *)in->at;
    in->at = zero + 1;
    return 0;
}

static int get_part(struct input *in, struct job *job) {
    struct job_part part;
    uint8_t kind;
    FORWARD(get(in, &kind, sizeof kind));
    RETURN_IF(kind >= PART_KINDS, ERR_FORMAT);
    part.kind = kind;
    FORWARD(get(in, part.number, sizeof part.number));
    FORWARD(get_text(in, &part.name));
    return job_add_part(job, &part);
}

int job_get(struct job *job, const uint8_t *data, size_t len) {
    struct input in = {data, data + len};
    uint64_t parts;
    *job = (struct job){0};
    FORWARD(get(&in, job->number, sizeof job->number));
    FORWARD(get(&in, &parts, sizeof parts));
    for (unsigned i = 0; i < JOB_TEXTS; i++) {
        const char *text;
        FORWARD(get_text(&in, &text));
        FORWARD(job_set_text(job, (enum job_text)i, text));
    }
    for (uint64_t i = 0; i < parts; i++) FORWARD(get_part(&in, job));
    return in.at == in.end ? 0 : ERR_FORMAT;
}
