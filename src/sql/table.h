// How a table is made. To add one: a file with a `const struct sql_table`, and a row in tables.def.
//
// Most tables are kept in memory once they are used: `gather` counts the rows, `value` gives a cell of one of them, and
// memory.c does the rest, including quick access by the values of any column. A table that is too large for that has a
// module of its own (events.c).
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"
#include "sql/sql.h"

struct sql_table;

// A table of one connection.
struct sql_bound {
    struct sql *sql;
    const struct sql_table *table;
    // Of tables in memory:
    void *data;       // of `gather`
    size_t count;     // rows
    uint64_t has;     // columns that were gathered, as a set
    uint32_t **order; // by column: rows in the order of its values, made on first use; or NULL
};

struct sql_table {
    struct sql_description about;
    // Makes `data` and `count`, or adds what `columns` (a set) need. Called at most once for each new set.
    int (*gather)(struct sql_bound *bound, uint64_t columns);
    void (*value)(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *value);
    void (*free)(struct sql_bound *bound);
    const sqlite3_module *module; // instead of these
};

extern const struct sql_table *const sql_tables[]; // ended by NULL
extern const sqlite3_module sql_memory_module;

// --- for modules

struct sql_vtab {
    sqlite3_vtab base; // must be first
    struct sql_bound *bound;
};

int sql_connect(sqlite3 *db, void *bound, int argc, const char *const *argv, sqlite3_vtab **vtab, char **error);
int sql_disconnect(sqlite3_vtab *vtab);
// The code of SQLite for a code of ours, with its text.
int sql_error(sqlite3_vtab *vtab, int code);
void sql_result(sqlite3_context *context, const struct sql_value *value);
// True if the statement should end: somebody wants it, or its time is over. Long loops ask now and then.
bool sql_is_stopped(struct sql *sql);

// --- what tables share

struct log *sql_log(const struct sql *sql);
struct arena *sql_arena(struct sql *sql); // lives as long as the connection
const struct summary_source *sql_source(const struct sql *sql);
// Made on first use, by a pass over all events.
int sql_summary(struct sql *sql, const struct summary **summary);

// The model that `ioseer phases` shows, made on first use.
int sql_model(struct sql *sql, const struct model **model);

// --- cells

#define SQL_NULL_VALUE ((struct sql_value){.kind = SQL_IS_NULL})

static inline struct sql_value sql_integer(int64_t integer) {
    return (struct sql_value){.kind = SQL_IS_INTEGER, .integer = integer};
}
static inline struct sql_value sql_real(double real) { return (struct sql_value){.kind = SQL_IS_REAL, .real = real}; }
// SQL has no integers beyond 63 bits.
static inline struct sql_value sql_number(uint64_t number) {
    return number <= INT64_MAX ? sql_integer((int64_t)number) : sql_real((double)number);
}
static inline struct sql_value sql_seconds(int64_t ns) { return sql_real((double)ns / 1e9); }
static inline struct sql_value sql_text(const char *text) {
    return text ? (struct sql_value){.kind = SQL_IS_TEXT, .text = text, .len = SIZE_MAX} : SQL_NULL_VALUE;
}
static inline struct sql_value sql_if(bool known, struct sql_value value) { return known ? value : SQL_NULL_VALUE; }
