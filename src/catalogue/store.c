#include "catalogue/store.h"

#include <string.h>

#include "base/err.h"

int64_t store_integer(const struct store_value *value) {
    if (value->kind == STORE_REAL)
        return value->real < 9.2e18 && value->real > -9.2e18 ? (int64_t)value->real : INT64_MAX;
    return value->kind == STORE_INTEGER ? value->integer : 0;
}

double store_real(const struct store_value *value) {
    return value->kind == STORE_REAL ? value->real : value->kind == STORE_INTEGER ? (double)value->integer : 0;
}

const char *store_text(const struct store_value *value) { return value->kind == STORE_TEXT ? value->text : ""; }

bool store_is_server(const char *place) {
    return !strncmp(place, "postgresql://", 13) || !strncmp(place, "postgres://", 11);
}

int store_open(struct store **store, const char *place, enum store_access access, struct problem *problem) {
    *store = NULL;
    return (store_is_server(place) ? store_open_postgres : store_open_sqlite)(store, place, access, problem);
}
