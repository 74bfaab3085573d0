// The statements that add jobs to, or take them from, the sums by month, user and program.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "catalogue/schema.h"
#include "catalogue/write.h"

static void put_places(FILE *out) {
    for (unsigned i = 1; i <= SUMS_AT_ONCE; i++) fprintf(out, "%s$%u", i > 1 ? ", " : "", i);
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
    for (const struct schema_measure *measure = schema_measures; measure->name; measure++)
        fprintf(out, ", %s", measure->name);
    fputs(") SELECT month, user_id, program_id", out);
    for (const struct schema_measure *measure = schema_measures; measure->name; measure++)
        fprintf(out, ", SUM(CAST(%s AS DOUBLE PRECISION))", measure->expression);
    fputs(" FROM jobs WHERE id IN (", out);
    put_places(out);
    fputs(") GROUP BY month, user_id, program_id ON CONFLICT (month, user_id, program_id) DO UPDATE SET ", out);
    for (const struct schema_measure *measure = schema_measures; measure->name; measure++)
        fprintf(out, "%s%s = sums.%s %c excluded.%s", measure == schema_measures ? "" : ", ", measure->name,
                measure->name, sign, measure->name);
    return finish(out, &text);
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
    fprintf(out, " FROM %s p JOIN jobs j ON j.id = p.job_id WHERE p.job_id IN (", table->rows);
    put_places(out);
    fprintf(
        out,
        ") GROUP BY j.month, j.user_id, j.program_id, p.name_id ON CONFLICT (month, user_id, program_id, name_id) DO "
        "UPDATE SET jobs = %s.jobs %c excluded.jobs",
        table->sums, sign);
    for (size_t i = 0; i < table->summed; i++)
        fprintf(out, ", %s = %s.%s %c excluded.%s", table->column[i], table->sums, table->column[i], sign,
                table->column[i]);
    return finish(out, &text);
}
