// The table of a stack's servers, as `ioseer info --json` has them.
#include "sql/document.h"

static const struct sql_column columns[] = {
    {"id", SQL_INTEGER, "number of the server; events have it as server", true},
    {"host", SQL_TEXT, "where it runs", true},
    {"port", SQL_INTEGER, "of its process", true},
    {"pid", SQL_INTEGER, "of its process", true},
    {"brick", SQL_TEXT, "directory with its data", true},
    {"storage", SQL_TEXT, "what the directory is on", true},
    {"calls", SQL_INTEGER, "of its disk, or of the lowest layer with probes", true},
    {"bytes_read", SQL_INTEGER, "bytes", true},
    {"bytes_written", SQL_INTEGER, "bytes", true},
    {"share", SQL_REAL, "of the bytes of all servers, 0 to 1", true},
    {"busy", SQL_REAL, "seconds with a call under way", true},
    {"latency_mean", SQL_REAL, "seconds per call", true},
    {"latency_max", SQL_REAL, "seconds of the longest call", true},
    {"throughput", SQL_REAL, "bytes per second while it was busy", true},
    {"energy", SQL_REAL, "joules, with assumed watts (info --watts)", true},
    {"overloaded", SQL_INTEGER, "1 if it costs the job more time than the others, else 0", true},
    {"overload", SQL_TEXT, "why it is overloaded", true},
    {"lost", SQL_REAL, "seconds that this costs", true},
    {"requests", SQL_INTEGER, "calls on their way to it", true},
    {"waited", SQL_REAL, "seconds with requests under way", true},
    {"crowded", SQL_REAL, "seconds with several, and none at any other server", true},
    {"slower", SQL_REAL, "how many times longer its requests take than at the others", true},
    {"clock_offset", SQL_REAL, "seconds added to its times", true},
    {"clock_error", SQL_REAL, "seconds by which that may be wrong", true},
    {"down", SQL_TEXT, "JSON list of the times at which the client lost it, seconds", true},
    {"up", SQL_TEXT, "JSON list of the times at which it came back, seconds", true},
    {0},
};

static int write_stack(void *context, struct json_out *json) {
    const struct summary *summary = context;
    json_object(json);
    int code = stack_json(&summary->stack, json, 0);
    json_close(json);
    return code;
}

static int gather(struct sql_bound *bound, uint64_t set) {
    const struct summary *summary;
    (void)set;
    FORWARD(sql_summary(bound->sql, &summary));
    const struct document_rows rows = {.list = "servers"};
    return document_gather(bound, &rows, write_stack, (void *)summary);
}

const struct sql_table sql_table_servers = {
    .about = {"servers", "each server of the stack that the job was recorded with", columns},
    .gather = gather,
    .value = document_value,
    .free = document_free,
};
