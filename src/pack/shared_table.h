// What each process describes for itself and the log keeps once: datatypes, hints. Descriptions with the same fields
// are one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/lookup.h"
#include "fmt/fields.h"
#include "pack/log_writer.h"

struct shared_row;

struct shared_table {
    struct shared_row *row; // the description's number less one is its place
    size_t count;
    struct bytes fields;     // of all descriptions, without their numbers
    struct lookup by_fields; // hash of the fields -> number
};

// Takes in a record's body, in which key 1 is the process's number of it: `local` becomes that, `global` the log's.
// ERR_FORMAT without a number or anything else.
int shared_table_add(struct shared_table *table, struct fields_in body, uint32_t *local, uint32_t *global);

int shared_table_write(const struct shared_table *table, struct log_writer *w, unsigned kind);

void shared_table_free(struct shared_table *table);
