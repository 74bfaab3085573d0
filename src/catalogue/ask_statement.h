// How questions become statements (ask.c). For the files of ask.h only.
#pragma once

#include <stdio.h>

#include "catalogue/ask.h"

enum { ASK_MOST_VALUES = 16 };

struct ask_statement {
    FILE *out; // appends to `text`
    char *text;
    size_t len;
    struct store_value value[ASK_MOST_VALUES];
    size_t values;
    struct problem *problem;
};

// Numbers of names that a pattern stands for.
struct ask_names {
    bool is_asked; // false: all
    bool is_all;   // no name of this kind is missing
    struct ask_name {
        int64_t id;
        char *name;
    } * name; // by name
    size_t count;
};

// What a filter stands for in this catalogue.
struct ask_found {
    struct ask_names user, program, system, finding;
    struct ask_sets {
        int64_t *id;
        size_t count;
    } sets;                 // of file systems, with one that is asked for
    bool has_other_systems; // without the filter by file systems, others would pass the rest of it
};

int ask_find(struct catalogue *catalogue, const struct ask_filter *filter, struct ask_found *found,
             struct problem *problem);
void ask_found_free(struct ask_found *found);
// All names in a column of a table, as if their pattern were "*".
int ask_names_find(struct catalogue *catalogue, const char *table, const char *column, const char *pattern,
                   struct ask_names *names, struct problem *problem);
void ask_names_free(struct ask_names *names);

int ask_begin(struct ask_statement *statement, struct problem *problem);
// Writes " AND column IN (...)", or nothing if all names are asked for.
void ask_put_names(struct ask_statement *statement, const char *column, const struct ask_names *names);
// Writes " AND set_id IN (...)".
void ask_put_sets(struct ask_statement *statement, const struct ask_found *found);
void ask_put_limit(struct ask_statement *statement, uint64_t top);
// Writes "a, b AS c" for the columns.
void ask_put_columns(struct ask_statement *statement, const struct answer_column *column);

// Ends the statement, runs it and frees it.
int ask_run(struct ask_statement *statement, struct catalogue *catalogue, const struct answer_column *column,
            answer_row *row, void *context);

// Months or days that the filter asks for as a whole, and what is left of others: at most two ranges of starts.
struct ask_periods {
    int64_t first, last; // 202611, or days since 1970; first > last: none
    struct ask_range {
        int64_t from_ns, until_ns;
    } part[2];
    size_t parts;
};
struct ask_periods ask_months(const struct ask_filter *filter);
struct ask_periods ask_days(const struct ask_filter *filter);
