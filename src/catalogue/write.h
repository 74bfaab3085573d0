// Writes logs and jobs into a catalogue, in transactions that hold many of them. What groups of jobs are added up to is
// changed in the same transaction, so the sums are always those of the jobs.
#pragma once

#include "base/lookup.h"
#include "catalogue/job.h"
#include "catalogue/sets.h"
#include "catalogue/store.h"

// A log as the file system shows it. One whose size, time and inode are the same is the same.
struct log_state {
    int64_t size, mtime_ns, inode;
};

struct log_entry {
    const char *folder; // absolute
    const char *name;   // in it
    struct log_state state;
};

struct writer {
    struct store *store;
    struct lookup names, folders; // hash -> id
    struct sets sets;
    int64_t next_name, next_folder, next_log;
    int64_t first_log; // of this transaction: jobs from here on are added to the sums at its end, all together
    int64_t *added;    // other jobs whose sums are still to be added
    size_t added_count;
    struct series { // runs of one program that this transaction changed
        int64_t user, program, nprocs;
    } * series;
    size_t series_count;
    struct lookup series_of;
    bool has_removed;
    struct bytes text; // the last name that was stored
};

enum writer_change { WRITER_SAME, WRITER_ADDED, WRITER_UPDATED };

void writer_init(struct writer *writer, struct store *store);
void writer_free(struct writer *writer);

int writer_begin(struct writer *writer, struct problem *problem);
// Ends the transaction. `code`: of the work so far; if it is negative, nothing of the transaction stays.
int writer_end(struct writer *writer, int code, struct problem *problem);

// Adds or replaces a log: with its job, or with the reason why it cannot be read. Returns an enum writer_change, SAME
// if another process has stored the same log.
int writer_put(struct writer *writer, const struct log_entry *log, const struct job *job, const char *reason,
               struct problem *problem);
int writer_remove(struct writer *writer, int64_t id, struct problem *problem);

// The number of a folder; 0 if the catalogue does not have it.
int writer_find_folder(struct writer *writer, const char *folder, int64_t *id, struct problem *problem);

// Sums of jobs: `sign` is '+' or '-'. Statements take SUMS_AT_ONCE numbers of jobs; those that are missing are -1.
// Without a sign: adds the jobs from the first number on, before the second.
enum { SUMS_AT_ONCE = 32 };
char *sums_statement(char sign);
char *sums_part_statement(enum part_kind kind, char sign);
// The same by cells (schema.h). `kind` -1: the jobs themselves.
char *sums_cell_statement(int kind, char sign);
// By cell and day.
char *sums_day_statement(char sign);

// Compares the last runs of a program with those before, and notes what it finds (slower.c).
int slower_update(struct store *store, const struct series *series, struct problem *problem);
