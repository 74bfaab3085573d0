// `ioseer query`: questions to a log, in SQL or in the language of IOPro.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/argument.h"
#include "cli/query_ask.h"
#include "cli/query_chart.h"
#include "cli/query_print.h"
#include "cli/query_prompt.h"
#include "cli/verb.h"

static struct {
    struct print_options print;
    bool csv, tables, chart, show_sql;
    const char *sql;
    double limit_seconds;
} options;

static const struct option_row rows[] = {
    {"sql", 0, OPTION_TEXT, &options.sql, "STATEMENT", "answer a statement of SQL: SELECT ..."},
    {"tables", 0, OPTION_FLAG, &options.tables, NULL, "print the tables and columns that statements can use"},
    {"show-sql", 0, OPTION_FLAG, &options.show_sql, NULL, "print the statement of SQL that QUERY stands for"},
    {"chart", 0, OPTION_FLAG, &options.chart, NULL, "draw the answer to QUERY as bars"},
    {"csv", 0, OPTION_FLAG, &options.csv, NULL, "print CSV"},
    {"limit", 0, OPTION_DURATION, &options.limit_seconds, "TIME", "stop a statement after this long (default: never)"},
    ROWS_PRINT(options.print),
    {0},
};

// --- the tables

static void print_table_text(const struct sql_description *about, FILE *out) {
    static const struct table_column columns[] = {
        {"COLUMN", TABLE_TEXT}, {"TYPE", TABLE_TEXT}, {"MEANING", TABLE_TEXT}, {0}};
    fprintf(out, "%s: %s\n", about->name, about->meaning);
    struct table table = table_begin(out, columns);
    table.indent = 2;
    table.has_header = true;
    for (const struct sql_column *column = about->column; column->name; column++) {
        table_text(&table, column->name);
        table_text(&table, sql_type_name(column->type));
        table_text(&table, column->meaning);
        table_row(&table);
    }
    table_end(&table);
}

static void print_tables_json(struct json_out *json) {
    json_object(json);
    json_key(json, "tables");
    sql_tables_json(json);
    json_close(json);
}

static enum status print_tables(void) {
    struct output output;
    enum status status = output_open(&output, "query", options.print.output);
    if (status != STATUS_OK) return status;
    if (options.print.json) print_tables_json(output_json(&output, 4));
    for (size_t i = 0; !options.print.json && sql_description(i); i++) {
        if (i) fputc('\n', output.out);
        print_table_text(sql_description(i), output.out);
    }
    return output_close(&output, false);
}

// --- a statement

struct session {
    struct sql *sql;
    struct output *output;
    size_t answers;
    enum status status; // of the last statement
};

static int run_statement(void *context, const char *statement) {
    struct session *session = context;
    struct output *output = session->output;
    struct problem problem = {0};
    struct query_printer printer = {.format = options.print.json ? QUERY_JSON
                                              : options.csv      ? QUERY_CSV
                                                                 : QUERY_TEXT,
                                    .output = output};
    const struct sql_sink sink = query_printer_sink(&printer);
    if (session->answers++ && printer.format == QUERY_TEXT) fputc('\n', output->out);
    int code = query_printer_end(&printer, sql_run(session->sql, statement, &sink, &problem));
    if (code == ERR_LIMIT && !*problem.why && printer.format == QUERY_TEXT && !output_failed(output))
        problem_set(&problem, code, "statement", "it has too many columns for a table: use --json or --csv");
    if (fflush(output->out)) output_failed(output);
    session->status =
        code == 0 || output_failed(output) ? STATUS_OK : cli_problem("query", "statement", &problem, code);
    return code == 0 && output_failed(output) ? output->error : code;
}

static int draw_chart(struct session *session, const struct query_statement *asked) {
    struct problem problem = {0};
    struct query_chart chart = {.out = session->output->out, .unit = asked->unit, .is_stacked = asked->is_stacked};
    const struct sql_sink sink = query_chart_sink(&chart);
    int code = query_chart_end(&chart, sql_run(session->sql, asked->chart, &sink, &problem));
    if (code < 0) session->status = cli_problem("query", "statement", &problem, code);
    return code;
}

static int run(struct session *session, const struct query_statement *asked) {
    if (!asked->text) output_live(session->output);
    if (!asked->text) return query_prompt(session->sql, session->output->out, run_statement, session);
    return options.chart ? draw_chart(session, asked) : run_statement(session, asked->text);
}

static enum status answer(const struct argument *argument, const struct query_statement *asked, struct output *output) {
    const struct summary_source source = {argument->log, argument->path, argument->is_directory};
    struct session session = {.output = output};
    struct problem problem = {0};
    if (options.show_sql) {
        fprintf(output->out, "%s;\n", asked->text);
        return output_close(output, false);
    }
    int code = sql_open(&session.sql, &source, &problem);
    if (code < 0) {
        output_close(output, true);
        return cli_problem("query", argument->path, &problem, code);
    }
    sql_limit_seconds(session.sql, options.limit_seconds);
    code = run(&session, asked);
    sql_close(session.sql);
    if (code == 0 || output_failed(output)) return output_close(output, false);
    output_close(output, true);
    return session.status ? session.status : code == ERR_USAGE ? STATUS_USAGE : cli_fail("query", argument->path, code);
}

// A statement, what the words after LOG stand for, or none: then statements are read.
static enum status find_statement(struct query_statement *asked, const struct argument *argument, int argc,
                                  char **argv) {
    *asked = (struct query_statement){0};
    if (argc > 2) return query_ask(asked, argument->log, argc - 2, argv + 2);
    if (!options.sql) return STATUS_OK;
    asked->text = strdup(options.sql);
    return asked->text ? STATUS_OK : cli_fail("query", "--sql", -ENOMEM);
}

static enum status run_query(const struct argument *argument, int argc, char **argv) {
    struct query_statement asked;
    struct output output;
    enum status status = find_statement(&asked, argument, argc, argv);
    if (status == STATUS_OK) status = argument_output(argument, &output, options.print.output);
    if (status == STATUS_OK) {
        status = answer(argument, &asked, &output);
        if (status == STATUS_OK && asked.note && !options.show_sql && !options.print.quiet)
            cli_warn("query", "%s: %s", argument->path, asked.note);
        if (status == STATUS_OK && !options.print.quiet) argument_warn(argument);
    }
    query_statement_free(&asked);
    return status;
}

static enum status check_usage(int argc, char **argv) {
    bool has_query = argc > 2;
    if (options.print.json && options.csv) return cli_usage("query", "--csv", "cannot be combined with --json");
    if (options.chart && (options.print.json || options.csv))
        return cli_usage("query", "--chart", "cannot be combined with --json or --csv");
    if (options.sql && has_query) return cli_usage("query", argv[2], "--sql takes no QUERY");
    if (!has_query && (options.chart || options.show_sql))
        return cli_usage("query", options.chart ? "--chart" : "--show-sql", "it needs a QUERY");
    if (options.tables && argc > 1) return cli_usage("query", argv[1], "--tables takes no LOG");
    return argc > 1 || options.tables ? STATUS_OK : argument_count("query", "LOG", argc, argv);
}

static enum status query_run(int argc, char **argv) {
    struct argument argument;
    enum status status = check_usage(argc, argv);
    if (status == STATUS_OK && options.tables) return print_tables();
    if (status == STATUS_OK) status = argument_open_log(&argument, "query", argv[1]);
    if (status != STATUS_OK) return status;
    status = run_query(&argument, argc, argv);
    argument_close(&argument);
    return status;
}

const struct verb verb_query = {
    .name = "query",
    .summary = "answer questions about a log: IOPro's, or in SQL",
    .usage = "[OPTION]... LOG QUERY\n[OPTION]... LOG [--sql STATEMENT]\n--tables",
    .about = "Answers a question about the log. QUERY is one of IOPro's:\n"
             "  Latency Breakdown Inclusive|Exclusive   [process] [mpi_call]\n"
             "  Latency Operation List|Max|Min|Avg      [process] [mpi_call] [pvfs_call] [server]\n"
             "  Throughput                              [process] [mpi_call] [pvfs_call] [server]\n"
             "  Energy [active_watts] [inactive_watts]  [process] [mpi_call] [pvfs_call] [server]\n"
             "  Call                                    [process] [mpi_call] [pvfs_call] [server]\n"
             "A field is a number, a range 0-4, a list 0,3,5-7, or - for all; those at the end can be left out.\n"
             "STATEMENT is one of SQL: events, files, processes, counters and more are tables (--tables lists them).\n"
             "Without both, statements are read: from a prompt on a terminal, or from a pipe. Nothing can be changed.\n"
             "LOG can also be the spill directory of a running or killed job.",
    .options = rows,
    .run = query_run,
};
