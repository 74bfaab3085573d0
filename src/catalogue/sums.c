// The statements that add jobs to, or take them from, the sums: by month, user and program; by cell; and by
// cell and day.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "catalogue/schema.h"
#include "catalogue/write.h"

static void put_places(FILE *out) {
    for (unsigned i = 1; i <= SUMS_AT_ONCE; i++) fprintf(out, "%s$%u", i > 1 ? ", " : "", i);
}

static void put_jobs(FILE *out, const char *column, char sign) {
    if (!sign) {
        fprintf(out, "%s >= $1 AND %s < $2", column, column);
        return;
    }
    fprintf(out, "%s IN (", column);
    put_places(out);
    fputc(')', out);
}

static void put_measures(FILE *out, const char *before, const char *after) {
    for (const struct schema_measure *measure = schema_measures; measure->name; measure++)
        fprintf(out, ", %s%s%s", before, *after ? measure->expression : measure->name, after);
}

static void put_changes(FILE *out, const char *table, char sign) {
    for (const struct schema_measure *measure = schema_measures; measure->name; measure++)
        fprintf(out, "%s%s = %s.%s %c excluded.%s", measure == schema_measures ? "" : ", ", measure->name, table,
                measure->name, sign ? sign : '+', measure->name);
}

static char *finish(FILE *out, char **text) {
    if (fclose(out) == 0) return *text;
    free(*text);
    return NULL;
}

// A text of malloc; NULL without memory.
char *sums_statement(char sign) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    fputs("INSERT INTO sums (month, user_id, program_id", out);
    put_measures(out, "", "");
    fputs(") SELECT month, user_id, program_id", out);
    put_measures(out, "SUM(CAST(", " AS DOUBLE PRECISION))");
    fputs(" FROM jobs WHERE ", out);
    put_jobs(out, "id", sign);
    fputs(" GROUP BY month, user_id, program_id ON CONFLICT (month, user_id, program_id) DO UPDATE SET ", out);
    put_changes(out, "sums", sign);
    return finish(out, &text);
}

static void put_part_changes(FILE *out, const struct part_table *table, const char *before, char sign) {
    fprintf(out, "jobs = %s%s.jobs %c excluded.jobs", before, table->sums, sign ? sign : '+');
    for (size_t i = 0; i < table->summed; i++)
        fprintf(out, ", %s = %s%s.%s %c excluded.%s", table->column[i], before, table->sums, table->column[i],
                sign ? sign : '+', table->column[i]);
}

char *sums_part_statement(enum part_kind kind, char sign) {
    const struct part_table *table = &part_tables[kind];
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    fprintf(out, "INSERT INTO %s (month, user_id, program_id, name_id, jobs", table->sums);
    for (size_t i = 0; i < table->summed; i++) fprintf(out, ", %s", table->column[i]);
    fputs(") SELECT j.month, j.user_id, j.program_id, p.name_id, COUNT(*)", out);
    for (size_t i = 0; i < table->summed; i++) fprintf(out, ", SUM(CAST(p.%s AS DOUBLE PRECISION))", table->column[i]);
    fprintf(out, " FROM %s p JOIN jobs j ON j.id = p.job_id WHERE ", table->rows);
    put_jobs(out, "p.job_id", sign);
    fputs(" AND ", out);
    put_jobs(out, "j.id", sign); // PostgreSQL would not know it from the other
    fputs(" GROUP BY j.month, j.user_id, j.program_id, p.name_id ON CONFLICT (month, user_id, program_id, name_id) DO "
          "UPDATE SET ",
          out);
    put_part_changes(out, table, "", sign);
    return finish(out, &text);
}

// --- cells and days

// A job is in a cell for each of its findings, in one for any finding if it has one, and in one for all jobs.
static void put_cells(FILE *out, char sign) {
    static const char *const finding[] = {"SELECT DISTINCT s.job_id, s.set_id, -1",
                                          "SELECT s.job_id, s.set_id, f.name_id"};
    fputs(" JOIN (SELECT job_id, set_id, 0 AS finding_id FROM job_sets WHERE ", out);
    put_jobs(out, "job_id", sign);
    for (size_t i = 0; i < sizeof finding / sizeof *finding; i++) {
        fprintf(out, " UNION ALL %s FROM job_sets s JOIN job_findings f ON f.job_id = s.job_id WHERE ", finding[i]);
        put_jobs(out, "s.job_id", sign);
        fputs(" AND ", out);
        put_jobs(out, "f.job_id", sign); // PostgreSQL would not know it from the other
    }
    fputs(") t ON t.job_id = j.id WHERE ", out);
    put_jobs(out, "j.id", sign);
}

static void put_cell_sums(FILE *out, char sign) {
    fputs("INSERT INTO cell_sums (finding_id, set_id, month, user_id, program_id", out);
    put_measures(out, "", "");
    fputs(") SELECT t.finding_id, t.set_id, j.month, j.user_id, j.program_id", out);
    put_measures(out, "SUM(CAST(", " AS DOUBLE PRECISION))");
    fputs(" FROM jobs j", out);
    put_cells(out, sign);
    fputs(" GROUP BY t.finding_id, t.set_id, j.month, j.user_id, j.program_id ON CONFLICT (finding_id, set_id, month, "
          "user_id, program_id) DO "
          "UPDATE SET ",
          out);
    put_changes(out, "cell_sums", sign);
}

static void put_cell_parts(FILE *out, const struct part_table *table, char sign) {
    fprintf(out, "INSERT INTO cell_%s (finding_id, set_id, month, name_id, jobs", table->sums);
    for (size_t i = 0; i < table->summed; i++) fprintf(out, ", %s", table->column[i]);
    fputs(") SELECT t.finding_id, t.set_id, j.month, p.name_id, COUNT(*)", out);
    for (size_t i = 0; i < table->summed; i++) fprintf(out, ", SUM(CAST(p.%s AS DOUBLE PRECISION))", table->column[i]);
    fprintf(out, " FROM jobs j JOIN %s p ON p.job_id = j.id", table->rows);
    put_cells(out, sign);
    fputs(" AND ", out);
    put_jobs(out, "p.job_id", sign); // PostgreSQL would not know it from the others
    fputs(" GROUP BY t.finding_id, t.set_id, j.month, p.name_id ON CONFLICT (finding_id, set_id, month, name_id) DO "
          "UPDATE SET ",
          out);
    put_part_changes(out, table, "cell_", sign);
}

char *sums_cell_statement(int kind, char sign) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    if (kind < 0)
        put_cell_sums(out, sign);
    else
        put_cell_parts(out, &part_tables[kind], sign);
    return finish(out, &text);
}

char *sums_day_statement(char sign) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    fputs("INSERT INTO day_sums (finding_id, set_id, day", out);
    put_measures(out, "", "");
    fputs(") SELECT t.finding_id, t.set_id, j.start_ns / " JOBS_DAY_NS, out);
    put_measures(out, "SUM(CAST(", " AS DOUBLE PRECISION))");
    fputs(" FROM jobs j", out);
    put_cells(out, sign);
    fputs(" GROUP BY t.finding_id, t.set_id, j.start_ns / " JOBS_DAY_NS
          " ON CONFLICT (finding_id, set_id, day) DO UPDATE SET ",
          out);
    put_changes(out, "day_sums", sign);
    return finish(out, &text);
}
