// What the catalogue keeps of a job, and how it is read from a log.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/problem.h"

enum job_number {
#define NUMBER(NAME, column, type, meaning) JOBS_##NAME,
#include "catalogue/job.def"
#undef NUMBER
    JOBS_NUMBERS
};

enum job_text { JOB_TEXT_USER, JOB_TEXT_PROGRAM, JOB_TEXT_HOST, JOB_TEXT_BATCH, JOB_TEXT_COMMAND, JOB_TEXTS };

// Facts of a job by a name: a layer, a size of accesses, a group of files, a file system, a finding.
enum part_kind { PART_LAYER, PART_SIZE, PART_FILES, PART_SYSTEM, PART_FINDING, PART_KINDS };
enum { PART_NUMBERS = 8 };

// Tables of such facts; columns are in the order of `number` in struct job_part. The first `summed` are added up.
struct part_table {
    const char *rows, *sums;
    const char *column[PART_NUMBERS + 1]; // ended by NULL
    size_t summed;
};
extern const struct part_table part_tables[PART_KINDS];

struct job_part {
    enum part_kind kind;
    const char *name;
    int64_t number[PART_NUMBERS];
};

// Of one job at most so many file groups are kept, those with the most time; the others are one group.
enum { JOB_FILE_GROUPS = 64, JOB_SYSTEMS = 16, JOB_COMMAND_BYTES = 500 };
#define JOB_OTHER_FILES "(other files)"
#define JOB_UNKNOWN_SYSTEM "(unknown)"

struct job {
    int64_t number[JOBS_NUMBERS]; // JOBS_USER and JOBS_PROGRAM are set when the job is stored
    const char *text[JOB_TEXTS];  // never NULL
    struct job_part *part;
    size_t parts;
    struct arena texts;
};

void job_free(struct job *job);
int job_add_part(struct job *job, const struct job_part *part); // keeps a copy of the name
int job_set_text(struct job *job, enum job_text text, const char *value);
void job_set_start(struct job *job, int64_t start_ns); // and the month

// Reads a log, in this thread only.
int job_read(struct job *job, const char *path, struct problem *problem);

// As bytes, from one process to another. job_get checks everything; call job_free in any case.
int job_put(struct bytes *out, const struct job *job);
int job_get(struct job *job, const uint8_t *data, size_t len);
