// What each process describes for itself and the log keeps once: datatypes and hints. Records with the same fields are
// one.
#pragma once

#include "fmt/fields.h"
#include "pack/intern.h"
#include "pack/log_writer.h"

struct unique_records {
    struct intern bodies; // the fields without the record's number
    struct bytes body;    // of the current record
};

// Adds a record's body, in which key 1 is the process's own number of it: `local` becomes that, `global` the log's.
// ERR_FORMAT where the number or everything else is missing.
int unique_records_add(struct unique_records *records, struct fields_in body, uint32_t *local, uint32_t *global);

void unique_records_write(const struct unique_records *records, struct log_writer *w, unsigned kind);

void unique_records_free(struct unique_records *records);
