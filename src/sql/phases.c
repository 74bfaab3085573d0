// The tables of phases and of their operations, as `ioseer phases --json` has them.
#include "report/phases_json.h"
#include "sql/document.h"

static const struct sql_column phase_columns[] = {
    {"id", SQL_INTEGER, "number of the phase", true},
    {"file", SQL_TEXT, "name of its files; numbers that vary are in it as a pattern", true},
    {"files", SQL_INTEGER, "how many files that are", true},
    {"access", SQL_TEXT, "shared or unique: whether processes use the same files", true},
    {"np", SQL_INTEGER, "processes", true},
    {"ranks", SQL_TEXT, "JSON list of their ranks", true},
    {"weight", SQL_INTEGER, "bytes moved by all processes", true},
    {"tick", SQL_INTEGER, "the smallest of its operations", true},
    {"start", SQL_REAL, "seconds since the job's start", true},
    {"span", SQL_REAL, "seconds from the first start to the last end", true},
    {"duration", SQL_REAL, "seconds in its calls, in the process with the most", true},
    {"other", SQL_REAL, "the same for calls that are no operations of the phase", true},
    {"bandwidth", SQL_REAL, "bytes per second: weight / duration", true},
    {"rate", SQL_REAL, "operations on names per second", true},
    {"family", SQL_INTEGER, "phases that repeat have the same; NULL: it does not repeat", true},
    {"ph", SQL_INTEGER, "its number in the family, from 1", true},
    {"separator", SQL_TEXT, "what separates it from the phase before", true},
    {"program", SQL_INTEGER, "number of the program", true},
    {"turns", SQL_INTEGER, "processes at it at once, where they took turns", true},
    {"others", SQL_TEXT, "JSON object: calls that are no operations of the phase, by class", true},
    {0},
};

static const struct sql_column operation_columns[] = {
    {"phase", SQL_INTEGER, "id of its phase", true},
    {"op", SQL_TEXT, "read, write, or what it does to names: create, stat ...", true},
    {"call", SQL_TEXT, "name of the call", true},
    {"rep", SQL_INTEGER, "how often each process does it", true},
    {"size", SQL_INTEGER, "bytes of each; NULL: they vary", true},
    {"request", SQL_INTEGER, "bytes of a request", true},
    {"disp", SQL_INTEGER, "bytes from start to start", true},
    {"offset_expr", SQL_TEXT, "offset of the first one, of idP, np, ph and rs, bytes", true},
    {"view_expr", SQL_TEXT, "the same in the view of MPI-IO", true},
    {"logical_expr", SQL_TEXT, "the same if the pieces lay in the order of ranks", true},
    {"size_expr", SQL_TEXT, "size, if it differs between processes", true},
    {"collective", SQL_INTEGER, "1 or 0", true},
    {"count", SQL_INTEGER, "over all processes", true},
    {"bytes", SQL_INTEGER, "over all processes", true},
    {"blocking", SQL_INTEGER, "1 or 0", true},
    {"pointer", SQL_TEXT, "individual, explicit or shared", true},
    {"mode", SQL_TEXT, "sequential, strided ...", true},
    {"alignment", SQL_INTEGER, "bytes: the largest power of two that divides all offsets and sizes", true},
    {"low", SQL_INTEGER, "first byte", true},
    {"high", SQL_INTEGER, "end of the last byte", true},
    {"thread", SQL_INTEGER, "number of the thread in its process", true},
    {"ranks", SQL_TEXT, "JSON list of ranks; NULL: all of the phase", true},
    {0},
};

static int write_phases(void *model, struct json_out *json) { return phases_json(model, json, SIZE_MAX); }

static int gather(struct sql_bound *bound, const struct document_rows *rows) {
    const struct model *model;
    FORWARD(sql_model(bound->sql, &model));
    return document_gather(bound, rows, write_phases, (void *)model);
}

static int gather_phases(struct sql_bound *bound, uint64_t set) {
    (void)set;
    return gather(bound, &(struct document_rows){.list = "phases"});
}

static int gather_operations(struct sql_bound *bound, uint64_t set) {
    (void)set;
    return gather(bound, &(struct document_rows){.list = "phases", .inside = "ops", .owner = "phase"});
}

const struct sql_table sql_table_phases = {
    .about = {"phases", "each phase of the I/O, as phases --json prints them", phase_columns},
    .gather = gather_phases,
    .value = document_value,
    .free = document_free,
};

const struct sql_table sql_table_operations = {
    .about = {"operations", "what the processes do in each phase", operation_columns},
    .gather = gather_operations,
    .value = document_value,
    .free = document_free,
};
