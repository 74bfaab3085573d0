#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "export/export.h"

// Passes rows on, and says now and then how many there were.
struct relay {
    const struct sql_sink *sink;
    const struct export_watch *watch;
    bool counts_events;
    uint64_t rows;
};

static int pass_columns(void *context, const char *const *name, size_t count) {
    const struct relay *relay = context;
    return relay->sink->columns(relay->sink->context, name, count);
}

static int pass_row(void *context, const struct sql_value *value, size_t count) {
    enum { ROWS_BETWEEN_CALLS = 1024 };
    struct relay *relay = context;
    if (++relay->rows % ROWS_BETWEEN_CALLS == 0)
        FORWARD(relay->watch->progress(relay->watch->context, relay->counts_events ? relay->rows : 0));
    return relay->sink->row(relay->sink->context, value, count);
}

int export_table(struct sql *sql, const char *table, const struct sql_sink *sink, const struct export_watch *watch,
                 struct problem *problem) {
    struct relay relay = {sink, watch, !strcmp(table, "events"), 0};
    char statement[128];
    snprintf(statement, sizeof statement, "SELECT * FROM \"%s\"", table);
    FORWARD(watch->progress(watch->context, 0));
    return sql_run(sql, statement, &(struct sql_sink){&relay, pass_columns, pass_row}, problem);
}
