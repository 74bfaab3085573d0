// Tables whose rows are objects of a JSON document that another part of ioseer writes: phases, findings, servers. A
// column is the member of its name; lists and objects become JSON, which SQLite's functions can take apart.
#pragma once

#include "base/json_out.h"
#include "sql/table.h"

struct document_rows {
    const char *list;   // the member of the document that is the list of rows
    const char *inside; // the rows are in this list of each of its members; NULL: they are the members themselves
    const char *owner;  // and this column is the `id` of that member
};

// Fills `bound` with the rows of the document that `write` writes.
int document_gather(struct sql_bound *bound, const struct document_rows *rows, json_write *write, void *context);
void document_value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *value);
void document_free(struct sql_bound *bound);
