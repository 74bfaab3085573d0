#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "log/event.h"
#include "query/query.h"

// A statement that is being written, and what the log has.
struct writer {
    FILE *out;
    const struct query *query;
    const char *process; // the column: rank or, in a log without ranks, pid
    const char *place;   // "server" or, in a log without servers, "layer", which takes its place
    const char *asked;   // the layer whose calls are asked for: what servers do, or their disks; NULL: each layer
    double run_seconds;
};

// --- conditions

static void put_condition(const struct writer *to, const char *column, enum query_place place) {
    const struct query_field *field = &to->query->field[place];
    for (size_t i = 0; i < field->ranges; i++) {
        fprintf(to->out, i ? " OR " : field->ranges > 1 ? " AND (" : " AND ");
        if (field->range[i].from == field->range[i].to)
            fprintf(to->out, "%s = %" PRIu64, column, field->range[i].from);
        else
            fprintf(to->out, "%s BETWEEN %" PRIu64 " AND %" PRIu64, column, field->range[i].from, field->range[i].to);
    }
    if (field->ranges > 1) fputc(')', to->out);
}

// Which processes and top calls.
static void put_tops(const struct writer *to) {
    fprintf(to->out, "WHERE %s IS NOT NULL", to->process);
    put_condition(to, to->process, QUERY_PROCESS);
    put_condition(to, "call", QUERY_MPI_CALL);
}

static void put_all(const struct writer *to) {
    put_tops(to);
    put_condition(to, "part", QUERY_PVFS_CALL);
    if (!to->asked) return;
    put_condition(to, "server", QUERY_SERVER);
    fprintf(to->out, " AND server IS NOT NULL AND layer = '%s'", to->asked);
}

// --- questions

static void put_breakdown(const struct writer *to) {
    fprintf(to->out, "SELECT %s AS process, call, op, layer, calls, %s AS latency\nFROM layers\n", to->process,
            to->query->kind == QUERY_INCLUSIVE ? "inclusive" : "exclusive");
    put_tops(to);
    fprintf(to->out, "\nORDER BY %s, start, top, level", to->process);
}

static void put_list(const struct writer *to) {
    fprintf(to->out,
            "SELECT %s AS process, %s, count(*) AS calls, sum(duration) AS total, min(duration) AS min,\n"
            "  avg(duration) AS avg, max(duration) AS max\nFROM calls\n",
            to->process, to->place);
    put_all(to);
    fprintf(to->out, "\nGROUP BY %s, %s\nORDER BY %s, %s", to->process, to->place, to->process, to->place);
}

// SQLite takes the other columns from the row that has the maximum or minimum.
static void put_extreme(const struct writer *to) {
    const char *extreme = to->query->kind == QUERY_MAX ? "max" : "min", *place = to->place;
    fprintf(to->out,
            "WITH found AS MATERIALIZED (\n"
            "  SELECT %s AS process, call, part, %s, op, top, %s(duration) AS latency FROM calls\n  ",
            to->process, place, extreme);
    put_all(to);
    fprintf(
        to->out,
        "\n  GROUP BY top, %s)\nSELECT * FROM (\n"
        "  SELECT 'process' AS view, process, call, part, %s, op, %s(latency) AS latency FROM found GROUP BY top%s\n"
        "  UNION ALL\n"
        "  SELECT '%s', process, call, part, %s, op, %s(latency) FROM found GROUP BY %s)\n"
        "ORDER BY view, iif(view = 'process', process, %s), call, %s",
        place, place, extreme, to->asked ? "" : ", layer", place, place, extreme, place, place, place);
}

static void put_average(const struct writer *to) {
    const char *layer = to->asked ? "" : ", layer";
    fprintf(to->out, "SELECT %s AS process, call, top%s, count(*) AS calls, avg(duration) AS latency\nFROM calls\n",
            to->process, layer);
    put_all(to);
    fprintf(to->out, "\nGROUP BY %s, top%s\nORDER BY %s, min(start), top%s", to->process, layer, to->process, layer);
}

// The time with a call under way: what each call adds to that of the calls before it.
static void put_busy(const struct writer *to, const char *partition, const char *name) {
    fprintf(to->out,
            "max(0, until - max(start, coalesce(max(until) OVER (PARTITION BY %s\n"
            "    ORDER BY start, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start))) AS %s",
            partition, name);
}

static void put_chosen(const struct writer *to, const char *of_process) {
    char partition[64];
    fprintf(to->out, "WITH chosen AS MATERIALIZED (\n  SELECT *, ");
    snprintf(partition, sizeof partition, "%s, %s", of_process, to->place);
    put_busy(to, partition, "busy");
    fprintf(to->out, ",\n    ");
    put_busy(to, to->place, "busy_of_all");
    fprintf(
        to->out,
        " FROM (\n  SELECT id, %s AS process, call, top, %s, bytes, start, start + duration AS until FROM calls\n  ",
        to->process, to->place);
    put_all(to);
    fprintf(to->out, "))");
}

static void put_throughput(const struct writer *to) {
    put_chosen(to, "top");
    fprintf(to->out,
            "\nSELECT * FROM (\n"
            "  SELECT 'process' AS view, process, call, %s, sum(bytes) AS bytes, round(sum(busy), 9) AS busy,\n"
            "    sum(bytes) / round(sum(busy), 9) AS throughput FROM chosen GROUP BY process, top, %s HAVING "
            "sum(bytes) > 0\n"
            "  UNION ALL\n"
            "  SELECT '%s', NULL, NULL, %s, sum(bytes), round(sum(busy_of_all), 9),\n"
            "    sum(bytes) / round(sum(busy_of_all), 9)\n"
            "  FROM chosen GROUP BY %s)\nORDER BY view, process, call, %s",
            to->place, to->place, to->place, to->place, to->place, to->place);
}

// A server's disk is active or not for as long as the job runs, whether it has calls or not.
static void put_energy_of_servers(const struct writer *to) {
    fprintf(to->out, "  SELECT '%s', NULL, %s, coalesce(active, 0) AS active, %.9f - coalesce(active, 0)\n  FROM ",
            to->place, to->asked ? "id" : "layer", to->run_seconds);
    if (to->asked) fprintf(to->out, "servers LEFT JOIN ");
    fprintf(to->out, "(SELECT %s, round(sum(busy_of_all), 9) AS active FROM chosen GROUP BY %s)", to->place, to->place);
    if (to->asked) fprintf(to->out, " ON server = id WHERE true");
    if (to->asked) put_condition(to, "id", QUERY_SERVER);
}

static void put_energy(const struct writer *to) {
    put_chosen(to, "process");
    fprintf(to->out, ", tops AS MATERIALIZED (\n  SELECT id, duration FROM calls\n  ");
    put_tops(to);
    fprintf(to->out,
            " AND id = top), during AS (\n"
            "  SELECT process, %s, sum(duration) AS seconds\n"
            "  FROM (SELECT DISTINCT process, %s, top FROM chosen) JOIN tops ON tops.id = top GROUP BY process, %s)\n",
            to->place, to->place, to->place);
    fprintf(to->out,
            "SELECT *, active * %g + inactive * %g AS energy FROM (\n"
            "  SELECT 'process' AS view, process, %s, active, max(0, coalesce(seconds, 0) - active) AS inactive\n"
            "  FROM (SELECT process, %s, round(sum(busy), 9) AS active FROM chosen GROUP BY process, %s)\n"
            "    LEFT JOIN during USING (process, %s)\n  UNION ALL\n",
            to->query->active_watts, to->query->inactive_watts, to->place, to->place, to->place, to->place);
    put_energy_of_servers(to);
    fprintf(to->out, ")\nORDER BY view, process, %s", to->place);
}

static void put_call(const struct writer *to) {
    const char *place = to->place;
    fprintf(to->out,
            "WITH counted AS MATERIALIZED (\n"
            "  SELECT %s AS process, %s, count(*) AS calls, sum(iif(class = 'read', bytes, 0)) AS bytes_read,\n"
            "    sum(iif(class = 'write', bytes, 0)) AS bytes_written FROM calls\n  ",
            to->process, place);
    put_all(to);
    fprintf(to->out,
            "\n  GROUP BY %s, %s)\nSELECT 'process' AS view, * FROM counted\nUNION ALL\n"
            "SELECT '%s', NULL, %s, sum(calls), sum(bytes_read), sum(bytes_written) FROM counted GROUP BY %s\n"
            "ORDER BY view, process, %s",
            to->process, place, place, place, place, place);
}

#define CALLER "'process ' || process || coalesce(' call ' || call, '')"

static const struct question {
    void (*put)(const struct writer *to);
    enum query_unit unit;
    bool of_disks;      // it is about them, not about all that servers do
    const char *value;  // for the chart
    const char *series; // beside or inside its bars; NULL: the place
    bool has_views;     // the chart is that of the servers
} questions[] = {
    [QUERY_INCLUSIVE] = {put_breakdown, QUERY_SECONDS, false, "inclusive", NULL, false},
    [QUERY_EXCLUSIVE] = {put_breakdown, QUERY_SECONDS, false, "exclusive", NULL, false},
    [QUERY_LIST] = {put_list, QUERY_SECONDS, false, "avg", NULL, false},
    [QUERY_MAX] = {put_extreme, QUERY_SECONDS, false, "latency", CALLER, true},
    [QUERY_MIN] = {put_extreme, QUERY_SECONDS, false, "latency", CALLER, true},
    [QUERY_AVG] = {put_average, QUERY_SECONDS, false, "latency", "coalesce('call ' || call, 'id ' || top)", false},
    [QUERY_THROUGHPUT] = {put_throughput, QUERY_BYTES_PER_SECOND, true, "throughput", "''", true},
    [QUERY_ENERGY] = {put_energy, QUERY_JOULES, true, "energy", "''", true},
    [QUERY_CALL] = {put_call, QUERY_CALLS, false, "calls", "''", true},
};

// --- charts: the answer, with what belongs together in one bar or beside each other

static bool is_one(const struct query_field *field) {
    return field->ranges == 1 && field->range[0].from == field->range[0].to;
}

// By process or, of a single process, by call.
static void put_breakdown_chart(const struct writer *to) {
    bool by_call = is_one(&to->query->field[QUERY_PROCESS]);
    if (by_call)
        fprintf(to->out, "SELECT coalesce('call ' || call || ' ', '') || op AS label, ");
    else
        fprintf(to->out, "SELECT 'process ' || %s AS label, ", to->process);
    fprintf(to->out, "layer AS series, sum(%s) AS value\nFROM layers\n", questions[to->query->kind].value);
    put_tops(to);
    fprintf(to->out, "\nGROUP BY %s, layer\nORDER BY %s, level", by_call ? "top" : to->process,
            by_call ? "start, top" : to->process);
}

static void put_chart(const struct writer *to, const char *statement) {
    const struct question *question = &questions[to->query->kind];
    const char *label = question->has_views ? to->place : "process";
    fprintf(to->out, "SELECT '%s ' || %s AS label, ", label, label);
    if (question->series)
        fprintf(to->out, "%s%s AS series, ", question->series,
                to->asked || question->has_views ? "" : " || ' ' || layer");
    else
        fprintf(to->out, "'%s ' || %s AS series, ", to->place, to->place);
    fprintf(to->out, "%s AS value FROM (\n%s)", question->value, statement);
    if (question->has_views) fprintf(to->out, "\nWHERE view = '%s'", to->place);
}

// --- what the log has

// The first of these layers that has calls, or NULL.
static const char *layer_of_servers(const struct log *log, bool of_disks) {
    static const unsigned order[2][3] = {{LAYER_SERVER, LAYER_DISK, LAYER_NET}, {LAYER_DISK, LAYER_SERVER, LAYER_NET}};
    for (unsigned i = 0; i < 3; i++) {
        for (size_t k = 0; k < log_below_count(log); k++) {
            const struct log_below *below = log_below_at(log, k);
            if (below->reason == UNTIED_NONE && below->layer == order[of_disks][i] && below->calls)
                return call_layer_name(below->layer);
        }
    }
    return NULL;
}

static bool has_ranks(const struct log *log) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        if (log_process_at(log, i)->has_rank) return true;
    }
    return false;
}

static int write_text(struct writer *to, char **text, const char *statement) {
    bool is_breakdown = to->query->kind <= QUERY_EXCLUSIVE;
    size_t len;
    to->out = open_memstream(text, &len);
    RETURN_IF(!to->out, -ENOMEM);
    if (!statement)
        questions[to->query->kind].put(to);
    else if (is_breakdown)
        put_breakdown_chart(to);
    else
        put_chart(to, statement);
    return fclose(to->out) == 0 ? 0 : -ENOMEM;
}

int query_to_sql(struct query_statement *statement, const struct query *query, const struct log *log) {
    const char *asked = layer_of_servers(log, questions[query->kind].of_disks);
    struct writer to = {.query = query,
                        .process = has_ranks(log) ? "rank" : "pid",
                        .place = asked ? "server" : "layer",
                        .asked = asked,
                        .run_seconds = (double)log_run_ns(log) / 1e9};
    *statement = (struct query_statement){.unit = questions[query->kind].unit};
    statement->is_stacked = query->kind == QUERY_EXCLUSIVE;
    if (!asked && query->kind <= QUERY_EXCLUSIVE)
        statement->note = "the log has no layers of a file system: these are those that it has";
    else if (!asked)
        statement->note = "the log has no servers: layers take their place, and system calls that of pvfs_call";
    FORWARD(write_text(&to, &statement->text, NULL));
    return write_text(&to, &statement->chart, statement->text);
}

void query_statement_free(struct query_statement *statement) {
    free(statement->text);
    free(statement->chart);
}
