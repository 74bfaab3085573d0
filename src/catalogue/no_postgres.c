// In a build without PostgreSQL.
#include "base/err.h"
#include "catalogue/store.h"

int store_open_postgres(struct store **store, const char *address, enum store_access access, struct problem *problem) {
    (void)store, (void)access, (void)address;
    return problem_set(problem, ERR_NOTHING, "PostgreSQL", "this ioseer was built without it (libpq-dev)");
}
