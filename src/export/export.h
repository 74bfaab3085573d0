// A log in the formats of other programs. Each is written while the log is read: memory does not grow with the number
// of events.
#pragma once

#include <stdio.h>

#include "sql/sql.h"

// Called now and then with the events done so far. A negative return value stops the export and is returned.
struct export_watch {
    void *context;
    int (*progress)(void *context, uint64_t events);
};

// Hands all rows of a table (sql/sql.h) to the sink.
int export_table(struct sql *sql, const char *table, const struct sql_sink *sink, const struct export_watch *watch,
                 struct problem *problem);

// All tables, as a new SQLite file.
int export_sqlite(struct sql *sql, const char *path, const struct export_watch *watch, struct problem *problem);

// A trace for Perfetto, in its protobuf format.
int export_perfetto(struct log *log, FILE *out, const struct export_watch *watch);

// A log for Darshan's tools, as a new file.
int export_darshan(struct log *log, const char *path, const struct export_watch *watch);

// An archive of OTF2, as a new folder.
int export_otf2(struct log *log, const char *path, const struct export_watch *watch, struct problem *problem);
