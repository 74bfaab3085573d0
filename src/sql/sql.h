// SQL over an open log: SQLite with one read-only table for each thing that a log knows about. The statement sees
// nothing but these tables: no files, no other databases, nothing that can be changed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/problem.h"
#include "summary/summary.h"

// --- what the tables are: from here come their declarations, `query --tables`, doc/sql.md and exports

enum sql_type { SQL_INTEGER, SQL_REAL, SQL_TEXT };

struct sql_column {
    const char *name; // as the key in JSON
    enum sql_type type;
    const char *meaning; // with the unit, if it has one
    bool has_pass;       // its value needs a pass over all events
};

struct sql_description {
    const char *name;
    const char *meaning;             // one line
    const struct sql_column *column; // ended by one without a name
};

const struct sql_description *sql_description(size_t i); // NULL after the last table
const char *sql_type_name(enum sql_type type);           // "INTEGER" …
// A list of {name, meaning, columns: [{name, type, meaning}, ...]}.
void sql_tables_json(struct json_out *json);

// --- statements

enum sql_kind { SQL_IS_NULL, SQL_IS_INTEGER, SQL_IS_REAL, SQL_IS_TEXT, SQL_IS_BLOB };

struct sql_value {
    enum sql_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text; // ends with a 0 unless it is a blob
    };
    size_t len; // of texts and blobs
};

char *sql_blob_text(const struct sql_value *value); // as SQL writes it; from malloc
int sql_value_json(struct json_out *json, const struct sql_value *value);

// Gets the result. A negative return value stops the statement and is returned.
struct sql_sink {
    void *context;
    int (*columns)(void *context, const char *const *name, size_t count); // once, before the rows
    int (*row)(void *context, const struct sql_value *value, size_t count);
};

struct sql;

bool sql_is_built(void); // false: ioseer was built without SQLite, and sql_open fails
// The source must stay open.
int sql_open(struct sql **sql, const struct summary_source *source, struct problem *problem);
void sql_close(struct sql *sql);
// Statements that take longer than this fail; 0: no limit.
void sql_limit_seconds(struct sql *sql, double seconds);
// Of texts and blobs; 16 MiB otherwise. A statement cannot end inside of a function, and some functions (instr, trim)
// take the product of the lengths of what they are given.
void sql_limit_values(struct sql *sql, int bytes);
// Asks is_unwanted every few milliseconds of a statement; true ends the statement as sql_interrupt does.
void sql_stop_if(struct sql *sql, bool (*is_unwanted)(void *context), void *context);

// One statement, with or without a semicolon. ERR_USAGE if the statement is wrong or does what it may not: the problem
// has the place. -EINTR after sql_interrupt.
int sql_run(struct sql *sql, const char *statement, const struct sql_sink *sink, struct problem *problem);
// Where the last statement was wrong, in bytes from its begin; -1: nowhere, or not known.
int sql_error_place(const struct sql *sql);
// Whether the text is one or more statements that are complete: they end with a semicolon.
bool sql_is_complete(const char *text);
// The length of the first statement of the text, its semicolon included; of all if it is not complete.
size_t sql_first_statement(const char *text);
// Ends the statement under way. For signal handlers and other threads.
void sql_interrupt(struct sql *sql);
