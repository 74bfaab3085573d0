// What a log was made from, if another program recorded it, and the records of that, whose numbers are all kept.
#pragma once

#include "darshan/stored.h"
#include "log/log.h"

struct log_import {
    const char *program; // "Darshan"
    const char *version; // of its log format
    unsigned codec;      // enum darshan_codec
    bool is_swapped;     // written by a machine of the other byte order
    struct darshan_job job;
    uint64_t job_bytes, names_bytes;    // compressed
    const struct darshan_part *modules; // by number
    size_t module_count;
};

const struct log_import *log_import(const struct log *log); // NULL: ioseer recorded it

struct log_imported {
    struct darshan_record record;
    const struct log_file *file; // NULL: the record is not of a file that ioseer knows
    char *name;                  // then its name; NULL: it has none
    bool is_nameless;            // the file's name was made up
    struct bytes words;          // of `record`
};

// In the order of the modules, and within them of the records. All zero is a good start; the next one reuses the
// memory.
size_t log_imported_count(const struct log *log);
int log_imported_at(struct log *log, size_t i, struct log_imported *imported);
void log_imported_free(struct log_imported *imported);
