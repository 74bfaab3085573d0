// The parts of an export to Darshan's format that share what they write to.
#pragma once

#include "darshan/write.h"
#include "export/export.h"
#include "log/import.h"

struct darshan_export {
    struct log *log;
    const struct export_watch *watch;
    struct darshan_writer *writer;
    const char *path;   // of the log that is made
    uint64_t *imported; // by file: the record id that it has in the log that was imported, or 0; NULL: recorded
};

static inline uint64_t export_darshan_id(const struct darshan_export *export, const struct log_file *file) {
    uint64_t id = export->imported ? export->imported[file->index] : 0;
    return id ? id : file->record_id;
}

// Writes the records of an imported log, and fills export->imported.
int export_darshan_imported(const struct darshan_export *export);

// Writes segments (DXT) of every rank and file from the events, and heat maps if no event is missing.
int export_darshan_trace(const struct darshan_export *export);
// Which modules are not complete, as darshan_write_end takes it. Damage is known once the events have been read.
uint64_t export_darshan_partial(const struct log *log);
