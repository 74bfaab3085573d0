#include "sql/table.h"

#define TABLE(name) extern const struct sql_table sql_table_##name;
#include "sql/tables.def"
#undef TABLE

const struct sql_table *const sql_tables[] = {
#define TABLE(name) &sql_table_##name,
#include "sql/tables.def"
#undef TABLE
    NULL,
};

const struct sql_description *sql_description(size_t i) {
    size_t count = sizeof sql_tables / sizeof sql_tables[0] - 1;
    return i < count ? &sql_tables[i]->about : NULL;
}

const char *sql_type_name(enum sql_type type) {
    return type == SQL_INTEGER ? "INTEGER" : type == SQL_REAL ? "REAL" : "TEXT";
}
