// In a build without SQLite.
#include "base/err.h"
#include "catalogue/store.h"

int store_open_sqlite(struct store **store, const char *path, enum store_access access, struct problem *problem) {
    (void)store, (void)access;
    return problem_set(problem, ERR_NOTHING, path, "this ioseer was built without SQLite (libsqlite3-dev)");
}
