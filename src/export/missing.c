// In a build without SQLite: sql_open has failed before.
#include "base/err.h"
#include "export/export.h"

int export_sqlite(struct sql *sql, const char *path, const struct export_watch *watch, struct problem *problem) {
    (void)sql, (void)path, (void)watch, (void)problem;
    return ERR_NOTHING;
}
