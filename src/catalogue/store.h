// A database that holds a catalogue: SQLite or PostgreSQL behind one small interface. Both get the same statements:
// what they have in common, with parameters $1, $2 ... in the order of their first use.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

struct store_value {
    enum { STORE_NULL, STORE_INTEGER, STORE_REAL, STORE_TEXT } kind;
    int64_t integer;
    double real;
    const char *text; // UTF-8, ends with a 0
};

#define store_of_integer(value) ((struct store_value){.kind = STORE_INTEGER, .integer = (value)})
#define store_of_text(value) ((struct store_value){.kind = STORE_TEXT, .text = (value)})

// Of values of either kind; 0 for NULL.
int64_t store_integer(const struct store_value *value);
double store_real(const struct store_value *value);
const char *store_text(const struct store_value *value); // "" for others

struct store_statement {
    const char *text;
    const struct store_value *value;
    size_t count;
};
#define store_statement(text, value, count) ((const struct store_statement){text, value, count})

// Gets each row; the values are valid until it returns. A negative return value stops the statement and is returned.
typedef int store_row(void *context, const struct store_value *value, size_t count);

enum store_access { STORE_READS, STORE_WRITES };

struct store {
    const struct store_operations *operations;
    const char *name; // for messages: a path, or an address without its password
};

struct store_operations {
    // What ends CREATE TABLE for tables whose rows are found by a key of several columns.
    const char *clustered;
    // With a row callback the rows are there when it returns; without one the statement may run later, and its failure
    // appears later, at the latest in commit.
    int (*run)(struct store *store, const struct store_statement *statement, store_row *row, void *context,
               struct problem *problem);
    // A transaction that writes excludes all others that write, and waits for them.
    int (*begin)(struct store *store, enum store_access access, struct problem *problem);
    int (*commit)(struct store *store, struct problem *problem);
    void (*roll_back)(struct store *store);
    bool (*has_table)(struct store *store, const char *table);
    // Whether this user made the tables: the file or the tables belong to him.
    bool (*is_own)(struct store *store);
    void (*close)(struct store *store);
};

// `place` is a path, or postgresql://...; the file of SQLite is made if it is not there and `access` is STORE_WRITES.
// ERR_NOTHING if it is not there otherwise.
int store_open(struct store **store, const char *place, enum store_access access, struct problem *problem);
bool store_is_server(const char *place);
int store_open_sqlite(struct store **store, const char *path, enum store_access access, struct problem *problem);
int store_open_postgres(struct store **store, const char *address, enum store_access access, struct problem *problem);

static inline void store_close(struct store *store) {
    if (store) store->operations->close(store);
}

static inline int store_ask(struct store *store, const struct store_statement *statement, store_row *row, void *context,
                            struct problem *problem) {
    return store->operations->run(store, statement, row, context, problem);
}

// A statement without rows.
static inline int store_run(struct store *store, const char *text, const struct store_value *value, size_t count,
                            struct problem *problem) {
    return store_ask(store, &store_statement(text, value, count), NULL, NULL, problem);
}
