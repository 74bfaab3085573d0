// In a build without SQLite.
#include "base/err.h"
#include "sql/sql.h"

bool sql_is_built(void) { return false; }

int sql_open(struct sql **sql, const struct summary_source *source, struct problem *problem) {
    (void)source;
    *sql = NULL;
    return problem_set(problem, ERR_NOTHING, "SQL", "this ioseer was built without SQLite (libsqlite3-dev)");
}

int sql_run(struct sql *sql, const char *statement, const struct sql_sink *sink, struct problem *problem) {
    (void)sql, (void)statement, (void)sink, (void)problem;
    return ERR_NOTHING;
}

void sql_close(struct sql *sql) { (void)sql; }
void sql_limit_seconds(struct sql *sql, double seconds) { (void)sql, (void)seconds; }
void sql_limit_values(struct sql *sql, int bytes) { (void)sql, (void)bytes; }
void sql_stop_if(struct sql *sql, bool (*is_unwanted)(void *context), void *context) {
    (void)sql, (void)is_unwanted, (void)context;
}
int sql_error_place(const struct sql *sql) { return (void)sql, -1; }
void sql_interrupt(struct sql *sql) { (void)sql; }
bool sql_is_complete(const char *text) { return *text; }
size_t sql_first_statement(const char *text) { return __builtin_strlen(text); }
const struct sql_description *sql_description(size_t i) { return (void)i, NULL; }
const char *sql_type_name(enum sql_type type) { return (void)type, ""; }
