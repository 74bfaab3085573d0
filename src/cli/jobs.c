// `ioseer jobs`: asks the catalogue that `ioseer index` keeps.
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "catalogue/answer.h"
#include "cli/jobs_print.h"
#include "cli/moment.h"
#include "cli/option_rows.h"
#include "cli/verb.h"
#include "cli/whose_jobs.h"

enum { TEXT_TOP = 20, UNSET = 0x7fffffff };

static struct {
    struct print_options print;
    const char *db, *since, *until, *by, *sort;
    bool csv, statistics, slower;
    uint64_t top, id, after;
    struct ask ask;
} options = {.top = UNSET};

static const struct option_row rows[] = {
    ROW_DB(&options.db),
    {"user", 0, OPTION_TEXT, &options.ask.filter.user, "NAME", "jobs of this user; NAME can be a pattern, as below"},
    {"program", 0, OPTION_TEXT, &options.ask.filter.program, "NAME", "jobs of this program"},
    {"fs", 0, OPTION_TEXT, &options.ask.filter.system, "NAME", "jobs with files on this file system (its mount point)"},
    {"finding", 0, OPTION_TEXT, &options.ask.filter.finding, "NAME", "jobs with this finding"},
    {"since", 0, OPTION_TEXT, &options.since, "WHEN", "jobs that started then or later: 2026-11-17, or 30d ago"},
    {"until", 0, OPTION_TEXT, &options.until, "WHEN", "jobs that started before"},
    {"by", 0, OPTION_CHOICE, &options.by, "user|program|month|day|fs|file|finding|layer|size",
     "sums over groups of jobs"},
    {"sort", 0, OPTION_CHOICE, &options.sort, "start|time|bytes|io|share|files|findings|user|program|jobs|name",
     "the largest first (default: start; groups by bytes)"},
    {"top", 0, OPTION_NUMBER, &options.top, "N", "at most N rows; 0: all (default: 20, all in JSON and CSV)"},
    {"after", 0, OPTION_NUMBER, &options.after, "ID", "only the jobs that follow this one in the list: its next page"},
    {"id", 0, OPTION_NUMBER, &options.id, "ID", "only the job with this number"},
    {"statistics", 0, OPTION_FLAG, &options.statistics, NULL, "how the jobs do their I/O, all together"},
    {"slower", 0, OPTION_FLAG, &options.slower, NULL, "programs that got slower than they were"},
    {"csv", 0, OPTION_FLAG, &options.csv, NULL, "print CSV"},
    ROW_JSON(&options.print.json),
    ROW_OUTPUT(&options.print.output),
    ROW_QUIET(&options.print.quiet, "do not say that there is more"),
    {0},
};

static int ask_list(struct jobs_printer *printer, enum ask_by by) {
    const struct ask *ask = &options.ask;
    struct catalogue *catalogue = printer->catalogue;
    if (by < ASK_BYS) {
        FORWARD(jobs_print_begin(printer, ask_groups_columns(by)));
        return jobs_print_end(printer, ask_groups(catalogue, ask, by, jobs_print_row, printer, printer->problem));
    }
    if (options.slower) {
        FORWARD(jobs_print_begin(printer, ask_slower_columns()));
        return jobs_print_end(printer, ask_slower(catalogue, ask, jobs_print_row, printer, printer->problem));
    }
    printer->has_findings = true;
    FORWARD(jobs_print_begin(printer, ask_jobs_columns()));
    return jobs_print_end(printer, ask_jobs(catalogue, ask, jobs_print_row, printer, printer->problem));
}

static int print_json(struct jobs_printer *printer, enum ask_by by) {
    struct json_out *json = output_json(printer->output, 2);
    struct catalogue *catalogue = printer->catalogue;
    json_object(json);
    int code = options.statistics ? answer_statistics_json(catalogue, &options.ask, json, printer->problem)
               : by < ASK_BYS     ? answer_groups_json(catalogue, &options.ask, by, json, printer->problem)
               : options.slower   ? answer_slower_json(catalogue, &options.ask, json, printer->problem)
                                  : answer_jobs_json(catalogue, &options.ask, json, printer->problem);
    if (json->error && !printer->output->error) printer->output->error = json->error;
    if (code == 0) json_close(json);
    return code;
}

static int print(struct jobs_printer *printer) {
    enum ask_by by = ask_by_of(options.by);
    if (options.print.json) return print_json(printer, by);
    int code = options.statistics ? jobs_print_statistics(printer, &options.ask) : ask_list(printer, by);
    bool is_full = printer->format == QUERY_TEXT && options.ask.top && printer->rows == options.ask.top;
    if (code == 0 && is_full && !options.statistics && !options.print.quiet)
        fprintf(printer->output->out, "\nThese are the first %zu; --top N lists more.\n", printer->rows);
    if (code == 0 && printer->format == QUERY_TEXT && options.ask.filter.owner && !options.print.quiet)
        fprintf(printer->output->out, "\nOnly jobs of %s are shown.\n", options.ask.filter.owner);
    return code;
}

// All that is printed is of one moment: the transaction sees no later changes.
static enum status answer(struct catalogue *catalogue) {
    struct problem problem = {0};
    struct output output;
    enum status status = output_open(&output, "jobs", options.print.output);
    if (status != STATUS_OK) return status;
    struct jobs_printer printer = {
        .format = options.csv ? QUERY_CSV : QUERY_TEXT, .output = &output, .catalogue = catalogue, .problem = &problem};
    int code = catalogue->store->operations->begin(catalogue->store, STORE_READS, &problem);
    if (code == 0) code = print(&printer);
    catalogue->store->operations->roll_back(catalogue->store);
    if (code == 0 || output_failed(&output)) return output_close(&output, false);
    output_close(&output, true);
    return cli_problem("jobs", "the catalogue", &problem, code);
}

static enum status check_usage(int argc, char **argv) {
    if (argc > 1) return cli_usage("jobs", argv[1], "unexpected argument");
    if (options.print.json && options.csv) return cli_usage("jobs", "--csv", "cannot be combined with --json");
    if (options.statistics && options.csv) return cli_usage("jobs", "--csv", "statistics are no table: use --json");
    if ((options.by != NULL) + options.statistics + options.slower > 1)
        return cli_usage("jobs", "--by", "give only one of --by, --statistics and --slower");
    if (options.slower && (options.sort || options.ask.filter.system || options.ask.filter.finding))
        return cli_usage("jobs", "--slower", "cannot be combined with --sort, --fs or --finding");
    bool is_list = !options.by && !options.statistics && !options.slower;
    if ((options.id || options.after) && !is_list)
        return cli_usage("jobs", options.id ? "--id" : "--after", "is for lists of jobs");
    return STATUS_OK;
}

static enum status read_options(void) {
    struct ask *ask = &options.ask;
    if (options.id > INT64_MAX || options.after > INT64_MAX)
        return cli_usage("jobs", options.id ? "--id" : "--after", "there is no such job");
    ask->filter.job = (int64_t)options.id;
    ask->after = (int64_t)options.after;
    ask->sort = ask_sort_of(options.sort);
    ask->filter.has_since = options.since != NULL;
    ask->filter.has_until = options.until != NULL;
    if (options.since && moment_parse(options.since, &ask->filter.since_ns) < 0)
        return cli_usage("jobs", options.since, MOMENT_WRONG);
    if (options.until && moment_parse(options.until, &ask->filter.until_ns) < 0)
        return cli_usage("jobs", options.until, MOMENT_WRONG);
    struct problem problem = {0};
    enum ask_by by = ask_by_of(options.by);
    bool is_list = by == ASK_BYS && !options.statistics;
    int code = is_list ? ask_check_jobs(ask, &problem) : ask_check_groups(ask, by, &problem);
    if (code < 0) return cli_problem("jobs", "--sort", &problem, code);
    ask->top = options.top != UNSET ? options.top : options.print.json || options.csv ? 0 : TEXT_TOP;
    return STATUS_OK;
}

static enum status jobs_run(int argc, char **argv) {
    struct catalogue catalogue;
    struct site_viewer viewer;
    struct problem problem = {0};
    enum status status = check_usage(argc, argv);
    if (status == STATUS_OK) status = read_options();
    if (status != STATUS_OK) return status;
    int code = catalogue_open(&catalogue, options.db, STORE_READS, &problem);
    if (code < 0) return cli_problem("jobs", options.db ? options.db : "the catalogue", &problem, code);
    code = whose_jobs(&catalogue, &viewer, &problem);
    options.ask.filter.owner = whose_owner(&viewer);
    status = code < 0 ? cli_problem("jobs", "support_group", &problem, code) : answer(&catalogue);
    catalogue_close(&catalogue);
    return status;
}

const struct verb verb_jobs = {
    .name = "jobs",
    .summary = "ask the catalogue: lists of jobs, sums over groups, statistics, what got slower",
    .usage = "[OPTION]...",
    .about = "Answers questions about the jobs in a catalogue that `ioseer index` keeps. Without an option, the last "
             "jobs. NAME\n"
             "can be a pattern with *, ? and [a-z]. Times are local. Of a catalogue that others made, you see your own "
             "jobs.",
    .options = rows,
    .run = jobs_run,
};
