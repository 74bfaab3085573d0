// `ioseer report`: what a job did and what is wrong with it, as an HTML page, as text or as JSON.
#include <string.h>

#include "cli/argument.h"
#include "cli/report_site.h"
#include "cli/systems.h"
#include "cli/verb.h"
#include "report/page.h"

static struct {
    const char *format;
    const char *output;
    const char *watts;
    const char *db, *month;
    struct option_list predictions, systems;
    bool json;
    bool quiet;
} options;

static const struct option_row rows[] = {
    ROW_OUTPUT(&options.output),
    {"format", 0, OPTION_CHOICE, &options.format, "html|text|json",
     "how to write it (default: by FILE's suffix, else text)"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "the same as --format json"},
    {"prediction", 0, OPTION_LIST, &options.predictions, "FILE",
     "show the output of `ioseer predict --json` (repeatable; LOG.predict.json is always shown)"},
    ROW_SYSTEMS(&options.systems),
    {"month", 0, OPTION_TEXT, &options.month, "YYYY-MM", "report on all jobs of a month instead, from the catalogue"},
    ROW_DB(&options.db),
    ROW_WATTS(&options.watts),
    ROW_QUIET_LOG(&options.quiet),
    {0},
};

typedef int write_page(struct page *page, FILE *out);

static const struct format {
    const char *name;
    const char *ending;
    write_page *write;
} formats[] = {
    {"html", ".html", page_html}, {"json", ".json", page_json}, {"text", ".txt", page_text}, // the default
};

static const struct format *chosen_format(void) {
    size_t len = options.output ? strlen(options.output) : 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct format *format = &formats[i];
        size_t ending = strlen(format->ending);
        if (options.format ? !strcmp(options.format, format->name)
                           : len > ending && !strcmp(options.output + len - ending, format->ending))
            return format;
    }
    return &formats[sizeof formats / sizeof formats[0] - 1];
}

// The name promises a format that the file would not have.
static bool promises_other_format(void) {
    static const char *const endings[] = {".pdf", ".htm",  ".xml", ".csv", ".md",
                                          ".doc", ".docx", ".png", ".svg", ".ps"};
    const char *ending = options.output && !options.format ? strrchr(options.output, '.') : NULL;
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++) {
        if (!strcmp(ending, endings[i])) return true;
    }
    return false;
}

static enum status add_predictions(struct page *page) {
    for (size_t i = 0; i < options.predictions.count; i++) {
        int code = page_add_prediction(page, options.predictions.item[i]);
        if (code < 0) return cli_fail("report", options.predictions.item[i], code);
    }
    int code = page_add_own_prediction(page);
    return code < 0 ? cli_fail("report", page->source.path, code) : STATUS_OK;
}

static enum status write_report(struct page *page, const struct argument *argument, const struct format *format) {
    struct output output;
    enum status status = add_predictions(page);
    if (status == STATUS_OK) status = argument_output(argument, &output, options.output);
    if (status != STATUS_OK) return status;
    return output_end(&output, argument->path, format->write(page, output.out));
}

static enum status report_month(int argc, char **argv, const struct format *format) {
    if (argc > 1) return cli_usage("report", argv[1], "not together with --month and --db");
    if (!options.month) return cli_usage("report", "--month", "is missing");
    if (options.systems.count) return cli_usage("report", "--system", "not together with --month");
    if (format->write == page_text)
        return cli_usage("report", "--month", "is written with -o X.html or --json; `ioseer jobs` prints text");
    if (format->write == page_html && !page_has_template()) return cli_usage("report", "html", PAGE_MISSING);
    return report_site(options.db, options.month, format->write == page_html, options.output);
}

static enum status report_run(int argc, char **argv) {
    if (options.json && options.format) return cli_usage("report", "--json", "cannot be combined with --format");
    if (options.json) options.format = "json";
    const struct format *format = chosen_format();
    if (promises_other_format())
        return cli_usage("report", options.output, "reports are .html, .txt or .json (or add --format)");
    if (options.db || options.month) return report_month(argc, argv, format);
    struct stack_watts watts = STACK_WATTS;
    if (options.watts && !stack_watts_parse(options.watts, &watts))
        return cli_usage("report", options.watts, STACK_WATTS_WRONG);
    struct argument argument;
    struct finding_profiles profiles = {0};
    enum status status = argument_count("report", "LOG", argc, argv);
    if (status == STATUS_OK) status = systems_read("report", &options.systems, &profiles);
    if (status == STATUS_OK) status = argument_open_log(&argument, "report", argv[1]);
    if (status != STATUS_OK) return status;
    if (format->write == page_html && !page_has_template()) {
        argument_close(&argument);
        return cli_usage("report", "html", PAGE_MISSING);
    }
    const struct summary_source source = {argument.log, argument.path, argument.is_directory};
    struct page page;
    int code = page_gather(&page, &source, &profiles);
    page.summary.stack.watts = watts;
    status = code < 0 ? cli_fail("report", argument.path, code) : write_report(&page, &argument, format);
    if (status == STATUS_OK && !options.quiet) argument_warn(&argument);
    page_free(&page);
    argument_close(&argument);
    finding_profiles_free(&profiles);
    return status;
}

const struct verb verb_report = {
    .name = "report",
    .summary = "report what a job did and what is wrong with its I/O, as HTML or text",
    .usage = "[OPTION]... LOG\n"
             "[OPTION]... --month YYYY-MM [--db DB] -o X.html",
    .about =
        "Reports what the job did, what is wrong with its I/O (what costs the most time comes first), and when and\n"
        "where it happened. With -o X.html the report is one HTML file that needs no other file. With --month it is\n"
        "a report on all jobs of a month, from a catalogue that `ioseer index` keeps.",
    .options = rows,
    .run = report_run,
};
