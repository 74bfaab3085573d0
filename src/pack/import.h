// Another program's log as a log of ioseer.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/problem.h"

struct import_result {
    uint64_t records;
    uint64_t events;
    uint64_t log_bytes;
    char skipped[128]; // names of modules whose records are not known
};

// Whether the file is a log that can be imported, by its first bytes.
bool import_is_foreign(const char *path);

// Without `replace` a log of that name is never overwritten (ERR_EXISTS).
int import_file(const char *path, const char *log_path, bool replace, struct import_result *result,
                struct problem *problem);
