// Statements that are typed, or come through a pipe.
#pragma once

#include "sql/sql.h"

// Runs one statement and prints its answer, or what is wrong. Returns 0 or a negative code.
typedef int query_statement(void *context, const char *statement);

// Reads statements from standard input and runs them one after the other until the end. A terminal gets a prompt,
// editing and a history that lasts; there Ctrl-C ends the statement, and an error only itself. Otherwise the first
// error ends it all. Commands, such as .tables, print to `out`. Returns 0 or a negative code.
int query_prompt(struct sql *sql, FILE *out, query_statement *run, void *context);
