// Writes a log of Darshan's newest version. Records of all modules may come in any order: each module has a file
// without a name that takes them, compressed, until the log is put together. Without zlib nothing is compressed.
#pragma once

#include "darshan/record.h"

struct darshan_writer; // write.c

// Files without a name are made where `path` will be.
int darshan_write_begin(struct darshan_writer **writer, const char *path);

// The bytes of a record, as the newest version of its module has them, or a part of it: what comes for one module is
// one sequence.
int darshan_write_bytes(struct darshan_writer *writer, unsigned module, const void *data, size_t len);

// The name of a file, or of an object in it (or NULL), whose records have this id. Only the first one counts.
int darshan_write_name(struct darshan_writer *writer, uint64_t id, const char *name, const char *object);

// Makes the log as a new file. `partial` has bit i set if module i is not complete.
int darshan_write_end(struct darshan_writer *writer, const struct darshan_job *job, uint64_t partial, const char *path);

void darshan_write_free(struct darshan_writer *writer);
