// The parts of an export to Darshan's format that share what they write to.
#pragma once

#include "darshan/write.h"
#include "export/export.h"
#include "log/log.h"

struct darshan_export {
    struct log *log;
    const struct export_watch *watch;
    struct darshan_writer *writer;
    const char *path; // of the log that is made
};

// Writes segments (DXT) of every rank and file from the events, and heat maps if no event is missing.
int export_darshan_trace(const struct darshan_export *export);
// Which modules are not complete, as darshan_write_end takes it. Damage is known once the events have been read.
uint64_t export_darshan_partial(const struct log *log);
