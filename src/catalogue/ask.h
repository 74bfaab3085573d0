// Questions to a catalogue. An answer is rows of values; a column says what its values mean, so that one printer can
// print any answer.
//
// Lists of jobs are read from `jobs`, by an index that fits the order or the filter. Sums over groups come from rows
// that are added up by month, user and program; of months that are only partly asked for, the jobs are added up now.
#pragma once

#include "catalogue/catalogue.h"

enum answer_kind {
    ANSWER_TEXT,
    ANSWER_COUNT,
    ANSWER_BYTES,
    ANSWER_NS,     // a duration; negative or NULL: unknown
    ANSWER_START,  // nanoseconds since 1970
    ANSWER_SHARE,  // of 1; negative or NULL: unknown
    ANSWER_FACTOR, // "1.5 times"
    ANSWER_CHANCE,
    ANSWER_MONTH,  // 202611
    ANSWER_DAY,    // days since 1970
    ANSWER_LAYERS, // bits
    ANSWER_FLAG,
    ANSWER_SEVERITY,
    ANSWER_MEASURE, // enum slower_measure
};

struct answer_column {
    const char *key;    // in JSON and CSV
    const char *header; // in tables; NULL: not there
    enum answer_kind kind;
    const char *sql;
};

// Gets a row. Texts are the bytes that were recorded.
typedef int answer_row(void *context, const struct answer_column *column, const struct store_value *value,
                       size_t count);

enum ask_by { BY_USER, BY_PROGRAM, BY_MONTH, BY_DAY, BY_SYSTEM, BY_FILE, BY_FINDING, BY_LAYER, BY_SIZE, ASK_BYS };
enum ask_sort {
    SORT_START,
    SORT_TIME,
    SORT_BYTES,
    SORT_IO,
    SORT_SHARE,
    SORT_FILES,
    SORT_FINDINGS,
    SORT_USER,
    SORT_PROGRAM,
    SORT_JOBS,
    SORT_NAME,
    SORT_DEFAULT,
    ASK_SORTS = SORT_DEFAULT
};
extern const char *const ask_by_names[ASK_BYS], *const ask_sort_names[ASK_SORTS];
// ASK_BYS and SORT_DEFAULT for others and NULL.
enum ask_by ask_by_of(const char *name);
enum ask_sort ask_sort_of(const char *name);

struct ask_filter {
    const char *user, *program, *system, *finding; // names or patterns of base/glob.h; NULL: all
    const char *owner;                             // no pattern: jobs of other users do not exist; NULL: all
    int64_t job;                                   // only this one, for lists; 0: all
    bool has_since, has_until;
    int64_t since_ns, until_ns; // of the start, since 1970: from `since` on, before `until`
};

struct ask {
    struct ask_filter filter;
    enum ask_sort sort;
    uint64_t top;  // at most so many rows; 0: all
    int64_t after; // of a list: only what follows this job in its order; 0: all
};

// Whether there is an answer: ERR_USAGE and a problem for a sort or filter that does not fit. Groups by ASK_BYS are the
// statistics.
int ask_check_jobs(const struct ask *ask, struct problem *problem);
int ask_check_groups(const struct ask *ask, enum ask_by by, struct problem *problem);

// ERR_NOTHING if there is no job `after`.
int ask_jobs(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
             struct problem *problem);
// The findings of one of them, the most time first.
int ask_findings(struct catalogue *catalogue, int64_t job, answer_row *row, void *context, struct problem *problem);
// Sums over groups of jobs.
int ask_groups(struct catalogue *catalogue, const struct ask *ask, enum ask_by by, answer_row *row, void *context,
               struct problem *problem);
// One row: sums over all jobs, and in how many of them something is so.
int ask_statistics(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
                   struct problem *problem);
// Programs that got slower than they were, those that lose most time first.
int ask_slower(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
               struct problem *problem);

// The columns that an answer will have, ended by one without a key.
const struct answer_column *ask_jobs_columns(void);
const struct answer_column *ask_groups_columns(enum ask_by by);
const struct answer_column *ask_slower_columns(void);
