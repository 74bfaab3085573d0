// Sums over groups of jobs.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "catalogue/ask_statement.h"
#include "catalogue/job.h"
#include "catalogue/schema.h"

#define SUMS_NAMED(findings_key)                                                                                       \
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"}, {"run_time", "RUN", ANSWER_NS, "SUM(s.run_ns)"},                    \
        {"core_seconds", "RUN x NP", ANSWER_NS, "SUM(s.core_ns)"}, {"io_seconds", "I/O", ANSWER_NS, "SUM(s.io_ns)"},   \
        {"io_share", "SHARE", ANSWER_SHARE, "SUM(s.io_ns) / NULLIF(SUM(s.known_run_ns), 0)"},                          \
        {"bytes_read", "READ", ANSWER_BYTES, "SUM(s.bytes_read)"},                                                     \
        {"bytes_written", "WRITTEN", ANSWER_BYTES, "SUM(s.bytes_written)"},                                            \
        {"files", "FILES", ANSWER_COUNT, "SUM(s.files)"}, {"calls", NULL, ANSWER_COUNT, "SUM(s.calls)"},               \
        {findings_key, NULL, ANSWER_COUNT, "SUM(s.findings)"}, {                                                       \
        "stake_seconds", "AT STAKE", ANSWER_NS, "SUM(s.stake_ns)"                                                      \
    }

#define SUMS SUMS_NAMED("findings")

static const struct answer_column user_columns[] = {{"user", "USER", ANSWER_TEXT, "MIN(n.name)"}, SUMS, {0}};
static const struct answer_column program_columns[] = {{"program", "PROGRAM", ANSWER_TEXT, "MIN(n.name)"}, SUMS, {0}};
static const struct answer_column month_columns[] = {{"month", "MONTH", ANSWER_MONTH, "s.month"}, SUMS, {0}};
static const struct answer_column day_columns[] = {{"day", "DAY", ANSWER_DAY, "s.month"}, SUMS, {0}};
static const struct answer_column system_columns[] = {
    {"fs", "FILE SYSTEM", ANSWER_TEXT, "MIN(n.name)"},
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"},
    {"files", "FILES", ANSWER_COUNT, "SUM(s.files)"},
    {"bytes_read", "READ", ANSWER_BYTES, "SUM(s.bytes_read)"},
    {"bytes_written", "WRITTEN", ANSWER_BYTES, "SUM(s.bytes_written)"},
    {"file_seconds", "TIME", ANSWER_NS, "SUM(s.file_ns)"},
    {0},
};
static const struct answer_column file_columns[] = {
    {"file", "FILES", ANSWER_TEXT, "MIN(n.name)"},
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"},
    {"files", "NUMBER", ANSWER_COUNT, "SUM(s.files)"},
    {"opens", "OPENS", ANSWER_COUNT, "SUM(s.opens)"},
    {"reads", "READS", ANSWER_COUNT, "SUM(s.reads)"},
    {"writes", "WRITES", ANSWER_COUNT, "SUM(s.writes)"},
    {"bytes_read", "READ", ANSWER_BYTES, "SUM(s.bytes_read)"},
    {"bytes_written", "WRITTEN", ANSWER_BYTES, "SUM(s.bytes_written)"},
    {"file_seconds", "TIME", ANSWER_NS, "SUM(s.file_ns)"},
    {0},
};
static const struct answer_column finding_columns[] = {
    {"finding", "FINDING", ANSWER_TEXT, "MIN(n.name)"},
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"},
    {"stake_seconds", "AT STAKE", ANSWER_NS, "SUM(s.stake_ns)"},
    {0},
};
static const struct answer_column layer_columns[] = {
    {"layer", "LAYER", ANSWER_TEXT, "MIN(n.name)"},
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"},
    {"opens", "OPENS", ANSWER_COUNT, "SUM(s.opens)"},
    {"reads", "READS", ANSWER_COUNT, "SUM(s.reads)"},
    {"writes", "WRITES", ANSWER_COUNT, "SUM(s.writes)"},
    {"bytes_read", "READ", ANSWER_BYTES, "SUM(s.bytes_read)"},
    {"bytes_written", "WRITTEN", ANSWER_BYTES, "SUM(s.bytes_written)"},
    {"read_seconds", "READING", ANSWER_NS, "SUM(s.read_ns)"},
    {"write_seconds", "WRITING", ANSWER_NS, "SUM(s.write_ns)"},
    {"meta_seconds", "METADATA", ANSWER_NS, "SUM(s.meta_ns)"},
    {0},
};
static const struct answer_column size_columns[] = {
    {"size", "SIZE", ANSWER_TEXT, "MIN(n.name)"},
    {"jobs", "JOBS", ANSWER_COUNT, "SUM(s.jobs)"},
    {"reads", "READS", ANSWER_COUNT, "SUM(s.reads)"},
    {"writes", "WRITES", ANSWER_COUNT, "SUM(s.writes)"},
    {0},
};

// What rows are added up by, and where they are.
static const struct grouping {
    const struct answer_column *column;
    const char *key;    // of a group
    int kind;           // enum part_kind; -1: the jobs themselves
    enum ask_sort sort; // unless something else is asked for
    const char *period; // what the column `month` is to be of jobs; NULL: their month
} groupings[ASK_BYS] = {
    [BY_USER] = {user_columns, "user_id", -1, SORT_BYTES},
    [BY_PROGRAM] = {program_columns, "program_id", -1, SORT_BYTES},
    [BY_MONTH] = {month_columns, "month", -1, SORT_NAME},
    [BY_DAY] = {day_columns, "month", -1, SORT_NAME, "j.start_ns / " JOBS_DAY_NS},
    [BY_SYSTEM] = {system_columns, "name_id", PART_SYSTEM, SORT_BYTES},
    [BY_FILE] = {file_columns, "name_id", PART_FILES, SORT_TIME},
    [BY_FINDING] = {finding_columns, "name_id", PART_FINDING, SORT_FINDINGS},
    [BY_LAYER] = {layer_columns, "name_id", PART_LAYER, SORT_JOBS},
    [BY_SIZE] = {size_columns, "name_id", PART_SIZE, SORT_NAME},
};

const struct answer_column *ask_groups_columns(enum ask_by by) { return groupings[by].column; }

// --- where the sums come from

static void put_filter(struct ask_statement *statement, const struct grouping *grouping, const struct ask_found *found,
                       const char *prefix, const char *part_prefix) {
    char column[64];
    snprintf(column, sizeof column, "%suser_id", prefix);
    ask_put_names(statement, column, &found->user);
    snprintf(column, sizeof column, "%sprogram_id", prefix);
    ask_put_names(statement, column, &found->program);
    snprintf(column, sizeof column, "%sname_id", part_prefix);
    if (grouping->kind == PART_SYSTEM) ask_put_names(statement, column, &found->system);
    if (grouping->kind == PART_FINDING) ask_put_names(statement, column, &found->finding);
}

// What is not added up by the filter is read from the jobs that pass it.
static const struct ask_names *unsummed(const struct ask_found *found, enum part_kind kind, int own) {
    const struct ask_names *names = kind == PART_SYSTEM ? &found->system : &found->finding;
    if (kind == PART_SYSTEM && !found->has_other_systems) return NULL;
    return names->is_asked && own != (int)kind ? names : NULL;
}

// If something else passes few jobs, each of them is looked at; otherwise those with the name are collected.
static bool is_narrow(const struct ask_filter *filter, const struct ask_found *found) {
    return found->user.is_asked || found->program.is_asked || (filter->has_since && filter->has_until);
}

static void put_unsummed(struct ask_statement *statement, const struct grouping *grouping, bool narrow,
                         const struct ask_found *found) {
    static const enum part_kind kinds[] = {PART_SYSTEM, PART_FINDING};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct ask_names *names = unsummed(found, kinds[i], grouping->kind);
        if (!names) continue;
        fprintf(statement->out,
                narrow ? " AND EXISTS (SELECT 1 FROM %s w WHERE w.job_id = j.id"
                       : " AND j.id IN (SELECT w.job_id FROM %s w WHERE 1 = 1",
                part_tables[kinds[i]].rows);
        ask_put_names(statement, "w.name_id", names);
        fputc(')', statement->out);
    }
}

static bool has_unsummed(const struct grouping *grouping, const struct ask_found *found) {
    return unsummed(found, PART_SYSTEM, grouping->kind) || unsummed(found, PART_FINDING, grouping->kind);
}

// Whether the jobs of the filter are whole cells (schema.h), and of which findings. Parts of jobs are not added up by
// cell, user and program.
static bool has_cells(const struct grouping *grouping, const struct ask_found *found, int64_t *finding) {
    const struct ask_names *names = unsummed(found, PART_FINDING, grouping->kind);
    bool by_name = found->user.is_asked || found->program.is_asked;
    *finding = !names              ? CELL_ALL_JOBS
               : names->is_all     ? CELL_ANY_FINDING
               : names->count == 1 ? names->name[0].id
                                   : CELL_NO_JOBS;
    bool is_whole = !names || names->is_all || names->count <= 1;
    return is_whole && !(by_name && (grouping->kind >= 0 || grouping->period));
}

static struct ask_periods periods_of(const struct grouping *grouping, const struct ask_filter *filter,
                                     const struct ask_found *found) {
    int64_t finding;
    bool has_sums = has_cells(grouping, found, &finding) || (!grouping->period && !has_unsummed(grouping, found));
    if (has_sums) return grouping->period ? ask_days(filter) : ask_months(filter);
    const struct ask_range all = {filter->has_since ? filter->since_ns : 0,
                                  filter->has_until ? filter->until_ns : INT64_MAX};
    return (struct ask_periods){.first = 1, .last = 0, .part = {all}, .parts = 1};
}

static void put_sum(struct ask_statement *statement, const char *prefix, const char *expression, const char *name) {
    fprintf(statement->out, ", SUM(CAST(%s%s AS DOUBLE PRECISION)) AS %s", prefix, expression, name);
}

// What the rows of a group add up to: of whole months from the sums, of others from the jobs.
static void put_branch(struct ask_statement *statement, const struct grouping *grouping, bool from_sums,
                       bool from_cells) {
    const struct part_table *table = grouping->kind < 0 ? NULL : &part_tables[grouping->kind];
    bool is_name = table && grouping->key && !strcmp(grouping->key, "name_id");
    const char *prefix = from_sums ? "" : is_name ? "q." : "j.";
    if (grouping->period)
        fprintf(statement->out, "SELECT %s AS %s", from_sums ? "day" : grouping->period, grouping->key);
    else
        fprintf(statement->out, "SELECT %s%s AS %s", grouping->key ? prefix : "", grouping->key ? grouping->key : "0",
                grouping->key ? grouping->key : "everything");
    if (table && from_sums) put_sum(statement, "", "jobs", "jobs");
    if (table && !from_sums) fputs(", COUNT(*) AS jobs", statement->out);
    for (size_t i = 0; table && i < table->summed; i++)
        put_sum(statement, from_sums ? "" : "q.", table->column[i], table->column[i]);
    for (const struct schema_measure *measure = schema_measures; !table && measure->name; measure++)
        put_sum(statement, "", from_sums ? measure->name : measure->expression, measure->name);
    if (from_sums)
        fprintf(statement->out, " FROM %s%s", from_cells && !grouping->period ? "cell_" : "",
                table              ? table->sums
                : grouping->period ? "day_sums"
                                   : "sums");
    if (!from_sums) fputs(" FROM jobs j", statement->out);
    if (!from_sums && table) fprintf(statement->out, " JOIN %s q ON q.job_id = j.id", table->rows);
}

static void end_branch(struct ask_statement *statement, const struct grouping *grouping, const char *prefix) {
    if (grouping->period && *prefix)
        fprintf(statement->out, " GROUP BY %s", grouping->period);
    else if (grouping->key)
        fprintf(statement->out, " GROUP BY %s%s", prefix, grouping->key);
}

static void put_cell(struct ask_statement *statement, const struct grouping *grouping, const struct ask_found *found,
                     int64_t finding) {
    fprintf(statement->out, " AND finding_id = %" PRId64, finding);
    if (unsummed(found, PART_SYSTEM, grouping->kind)) ask_put_sets(statement, found);
}

// Each branch is added up by itself: names are looked up for groups, not for rows.
static void put_source(struct ask_statement *statement, const struct grouping *grouping, const struct ask *ask,
                       const struct ask_found *found) {
    const struct ask_periods periods = periods_of(grouping, &ask->filter, found);
    int64_t finding;
    bool has_rest = has_unsummed(grouping, found), has_sums = has_cells(grouping, found, &finding);
    bool from_cells = has_sums && (has_rest || grouping->period), narrow = has_sums || is_narrow(&ask->filter, found);
    fputc('(', statement->out);
    put_branch(statement, grouping, true, from_cells);
    fprintf(statement->out, " WHERE %s >= %" PRId64 " AND %s <= %" PRId64, grouping->period ? "day" : "month",
            periods.first, grouping->period ? "day" : "month", periods.last);
    if (from_cells) put_cell(statement, grouping, found, finding);
    if (!grouping->period) put_filter(statement, grouping, found, "", "");
    end_branch(statement, grouping, "");
    for (size_t i = 0; i < periods.parts; i++) {
        fputs(" UNION ALL ", statement->out);
        put_branch(statement, grouping, false, false);
        fprintf(statement->out, " WHERE j.start_ns >= %" PRId64 " AND j.start_ns < %" PRId64, periods.part[i].from_ns,
                periods.part[i].until_ns);
        put_filter(statement, grouping, found, has_rest && narrow ? "j." : "+j.", "+q.");
        put_unsummed(statement, grouping, narrow, found);
        end_branch(statement, grouping, grouping->kind < 0 ? "j." : "q.");
    }
    fputs(") s", statement->out);
}

// --- their order

// Names of sizes by their first number.
#define BY_FIRST_BYTE                                                                                                  \
    "MIN(CASE n.name WHEN '0-100' THEN 0 WHEN '100-1K' THEN 1 WHEN '1K-10K' THEN 2 WHEN '10K-100K' THEN 3 WHEN "       \
    "'100K-1M' THEN 4 WHEN '1M-4M' THEN 5 WHEN '4M-10M' THEN 6 WHEN '10M-100M' THEN 7 WHEN '100M-1G' THEN 8 ELSE 9 "   \
    "END)"

static bool has_column(const struct answer_column *column, const char *key) {
    for (; column->key; column++) {
        if (!strcmp(column->key, key)) return true;
    }
    return false;
}

// NULL: groups of this kind do not have it.
static const char *order_of(const struct grouping *grouping, enum ask_sort sort) {
    const struct answer_column *column = grouping->column;
    switch (sort) {
    case SORT_NAME: return grouping->kind == PART_SIZE ? BY_FIRST_BYTE : "1";
    case SORT_JOBS: return "SUM(s.jobs) DESC, 1";
    case SORT_TIME:
        return has_column(column, "run_time")       ? "SUM(s.run_ns) DESC, 1"
               : has_column(column, "file_seconds") ? "SUM(s.file_ns) DESC, 1"
                                                    : NULL;
    case SORT_BYTES:
        return has_column(column, "bytes_read") ? "SUM(s.bytes_read) + SUM(s.bytes_written) DESC, 1" : NULL;
    case SORT_IO:
        return has_column(column, "io_seconds")     ? "SUM(s.io_ns) DESC, 1"
               : has_column(column, "file_seconds") ? "SUM(s.file_ns) DESC, 1"
                                                    : NULL;
    case SORT_SHARE:
        return has_column(column, "io_share") ? "COALESCE(SUM(s.io_ns) / NULLIF(SUM(s.known_run_ns), 0), -1) DESC, 1"
                                              : NULL;
    case SORT_FILES: return has_column(column, "files") ? "SUM(s.files) DESC, 1" : NULL;
    case SORT_FINDINGS: return has_column(column, "stake_seconds") ? "SUM(s.stake_ns) DESC, 1" : NULL;
    case SORT_USER: return !strcmp(column->key, "user") ? "1" : NULL;
    case SORT_PROGRAM: return !strcmp(column->key, "program") ? "1" : NULL;
    default: return NULL;
    }
}

static enum ask_sort sort_of(const struct grouping *grouping, const struct ask *ask) {
    return ask->sort == SORT_DEFAULT ? grouping->sort : ask->sort;
}

int ask_check_groups(const struct ask *ask, enum ask_by by, struct problem *problem) {
    const struct grouping *grouping = by < ASK_BYS ? &groupings[by] : NULL;
    if (grouping && !order_of(grouping, sort_of(grouping, ask)))
        return problem_set(problem, ERR_USAGE, ask_sort_names[ask->sort], "these groups are not sorted by this");
    return 0;
}

static void put_sums(struct ask_statement *statement, const struct ask *ask, const struct grouping *grouping,
                     const struct ask_found *found) {
    fputs("SELECT ", statement->out);
    ask_put_columns(statement, grouping->column);
    fputs(" FROM ", statement->out);
    put_source(statement, grouping, ask, found);
    if (strcmp(grouping->key, "month") != 0) fprintf(statement->out, " JOIN names n ON n.id = s.%s", grouping->key);
    fprintf(statement->out, " GROUP BY s.%s ORDER BY %s", grouping->key, order_of(grouping, sort_of(grouping, ask)));
    ask_put_limit(statement, ask->top);
}

int ask_groups(struct catalogue *catalogue, const struct ask *ask, enum ask_by by, answer_row *row, void *context,
               struct problem *problem) {
    struct ask_statement statement;
    struct ask_found found = {0};
    int code = ask_check_groups(ask, by, problem);
    if (code == 0) code = ask_find(catalogue, &ask->filter, &found, problem);
    if (code == 0) code = ask_begin(&statement, problem);
    if (code == 0) {
        put_sums(&statement, ask, &groupings[by], &found);
        code = ask_run(&statement, catalogue, groupings[by].column, row, context);
    }
    ask_found_free(&found);
    return code;
}

// --- everything at once

int ask_statistics(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
                   struct problem *problem) {
    static const struct answer_column columns[] = {
        SUMS_NAMED("finding_count"), // there is a list of findings, too
        {"mpi_jobs", NULL, ANSWER_COUNT, "SUM(s.mpi)"},
        {"collective_jobs", NULL, ANSWER_COUNT, "SUM(s.collective)"},
        {"collective_bytes", NULL, ANSWER_BYTES, "SUM(s.collective_bytes)"},
        {"mostly_read_jobs", NULL, ANSWER_COUNT, "SUM(s.mostly_read)"},
        {"mostly_written_jobs", NULL, ANSWER_COUNT, "SUM(s.mostly_written)"},
        {"files_of_one_process", NULL, ANSWER_COUNT, "SUM(s.files_one)"},
        {"files_shared", NULL, ANSWER_COUNT, "SUM(s.files_shared)"},
        {"file_per_process_jobs", NULL, ANSWER_COUNT, "SUM(s.file_per_process)"},
        {"shared_file_jobs", NULL, ANSWER_COUNT, "SUM(s.shared_file)"},
        {"share_below_1", NULL, ANSWER_COUNT, "SUM(s.share_0)"},
        {"share_below_5", NULL, ANSWER_COUNT, "SUM(s.share_1)"},
        {"share_below_10", NULL, ANSWER_COUNT, "SUM(s.share_5)"},
        {"share_below_25", NULL, ANSWER_COUNT, "SUM(s.share_10)"},
        {"share_below_50", NULL, ANSWER_COUNT, "SUM(s.share_25)"},
        {"share_above_50", NULL, ANSWER_COUNT, "SUM(s.share_50)"},
        {0},
    };
    static const struct grouping all = {columns, NULL, -1, SORT_DEFAULT, NULL};
    struct ask_statement statement;
    struct ask_found found = {0};
    int code = ask_check_groups(ask, ASK_BYS, problem);
    if (code == 0) code = ask_find(catalogue, &ask->filter, &found, problem);
    if (code == 0) code = ask_begin(&statement, problem);
    if (code == 0) {
        fputs("SELECT ", statement.out);
        ask_put_columns(&statement, columns);
        fputs(" FROM ", statement.out);
        put_source(&statement, &all, ask, &found);
        code = ask_run(&statement, catalogue, columns, row, context);
    }
    ask_found_free(&found);
    return code;
}
