// `ioseer export`: a log as data for other programs.
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/anonymous.h"
#include "cli/argument.h"
#include "cli/export_catalogue.h"
#include "cli/export_progress.h"
#include "cli/query_print.h"

static struct {
    const char *format, *output, *table, *key, *db;
    bool all, anonymous, force, quiet;
} options;

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, &options.format, "perfetto|otf2|csv|sqlite|darshan|ioseer", "what to write"},
    {"output", 'o', OPTION_TEXT, &options.output, "X", "write to X; - is standard output"},
    {"table", 0, OPTION_TEXT, &options.table, "TABLE", "csv: this table (default: events; query --tables lists them)"},
    {"all", 'a', OPTION_FLAG, &options.all, NULL, "csv: all tables, each as a file of the new folder X"},
    {"anonymous", 0, OPTION_FLAG, &options.anonymous, NULL, "without names of files, users, hosts and programs"},
    {"key", 0, OPTION_TEXT, &options.key, "FILE",
     "replace names with the key in FILE, which is made if it is not there"},
    {"db", 0, OPTION_TEXT, &options.db, "DB",
     "with --anonymous: a catalogue, as a file of SQLite (DB: a file, or postgresql://...)"},
    {"force", 0, OPTION_FLAG, &options.force, NULL, "overwrite X if it is a file"},
    ROW_QUIET(&options.quiet, "suppress progress, and warnings about unreadable parts"),
    {0},
};

// What a format needs.
struct work {
    const struct argument *argument;
    struct export_watch watch;
    struct problem problem;
    struct anonymous_work anonymous;
};

// --- formats

static int open_sql(struct work *work, struct sql **sql) {
    const struct argument *argument = work->argument;
    return sql_open(sql, &(struct summary_source){argument->log, argument->path, argument->is_directory},
                    &work->problem);
}

static int print_table(struct work *work, struct sql *sql, const char *table, struct output *output) {
    struct query_printer printer = {.format = QUERY_CSV, .output = output};
    struct sql_sink sink = query_printer_sink(&printer);
    return query_printer_end(&printer, export_table(sql, table, &sink, &work->watch, &work->problem));
}

static int write_csv(struct work *work, struct output *output) {
    struct sql *sql;
    FORWARD(open_sql(work, &sql));
    int code = print_table(work, sql, options.table ? options.table : "events", output);
    sql_close(sql);
    return code;
}

static int write_perfetto(struct work *work, struct output *output) {
    return export_perfetto(work->argument->log, output->out, &work->watch);
}

static int write_csv_file(struct work *work, struct sql *sql, const char *folder, const char *table) {
    struct output output = {.verb = "export"};
    char *path;
    RETURN_IF(asprintf(&path, "%s/%s.csv", folder, table) < 0, -ENOMEM);
    output.out = fopen(path, "wxe");
    free(path);
    RETURN_IF(!output.out, -errno);
    int code = print_table(work, sql, table, &output), failed = fclose(output.out) ? -errno : 0;
    return output.error ? output.error : code < 0 ? code : failed;
}

static int make_csv(void *context, const char *folder) {
    struct work *work = context;
    struct sql *sql;
    FORWARD(open_sql(work, &sql));
    int code = mkdir(folder, 0777) ? -errno : 0;
    for (size_t i = 0; code == 0 && sql_description(i); i++)
        code = write_csv_file(work, sql, folder, sql_description(i)->name);
    sql_close(sql);
    return code;
}

static int make_otf2(void *context, const char *path) {
    struct work *work = context;
    return export_otf2(work->argument->log, path, &work->watch, &work->problem);
}

static int make_darshan(void *context, const char *path) {
    struct work *work = context;
    return export_darshan(work->argument->log, path, &work->watch);
}

static int make_sqlite(void *context, const char *path) {
    struct work *work = context;
    struct sql *sql;
    FORWARD(open_sql(work, &sql));
    int code = export_sqlite(sql, path, &work->watch, &work->problem);
    sql_close(sql);
    return code;
}

static int make_log(void *work, const char *path) { return anonymous_make(&((struct work *)work)->anonymous, path); }

// A format is written to an output, or makes what has a name of its own.
static const struct format {
    const char *name;
    bool is_all; // with --all
    bool is_folder, is_binary;
    int (*write)(struct work *work, struct output *output);
    int (*make)(void *work, const char *path); // for io_make_beside
} formats[] = {
    {.name = "csv", .write = write_csv},
    {.name = "csv", .is_all = true, .is_folder = true, .make = make_csv},
    {.name = "perfetto", .is_binary = true, .write = write_perfetto},
    {.name = "otf2", .is_folder = true, .make = make_otf2},
    {.name = "darshan", .is_binary = true, .make = make_darshan},
    {.name = "sqlite", .is_binary = true, .make = make_sqlite},
    {.name = "ioseer", .is_binary = true, .make = make_log},
};

static const struct format *find_format(void) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!strcmp(options.format, formats[i].name) && options.all == formats[i].is_all) return &formats[i];
    }
    return NULL;
}

// --- where it goes

static enum status write_output(struct work *work, const struct format *format) {
    struct output output;
    enum status status = argument_output(work->argument, &output, options.output);
    if (status != STATUS_OK) return status;
    int code = format->write(work, &output);
    if (code == 0 || (output_failed(&output) && !work->problem.signal))
        return output_close(&output, code < 0 && !output.error);
    status = cli_problem("export", work->argument->path, &work->problem, code);
    output_close(&output, true);
    return status;
}

static enum status make_output(struct work *work, const struct format *format) {
    int code = io_make_beside(options.output, format->make, work);
    return code < 0 ? cli_problem("export", options.output, &work->problem, code) : STATUS_OK;
}

static enum status check_output(const struct argument *argument, const struct format *format) {
    struct stat st;
    const char *path = options.output;
    enum status status = argument_spare(argument, path);
    if (status != STATUS_OK) return status;
    if (!path && format->make) return cli_usage("export", "--output", "is missing: this format cannot be printed");
    if (!path && format->is_binary && isatty(STDOUT_FILENO))
        return cli_usage("export", "--output", "is missing: this format is not for terminals");
    if (!path || stat(path, &st)) return STATUS_OK;
    if (S_ISDIR(st.st_mode)) return cli_usage("export", path, "is a folder, which is never overwritten");
    if (format->make && !S_ISREG(st.st_mode)) return cli_usage("export", path, "is not a file");
    if (format->is_folder) return cli_usage("export", path, "is a file; this makes a folder");
    return S_ISREG(st.st_mode) && !options.force ? cli_fail("export", path, ERR_EXISTS) : STATUS_OK;
}

static enum status check_options(void) {
    if (!options.format) return cli_usage("export", "--format", "is missing");
    if (!find_format()) return cli_usage("export", "--all", "is for csv; other formats have everything");
    if (!options.anonymous && (options.key || !strcmp(options.format, "ioseer")))
        return cli_usage("export", "--anonymous", "is missing: --key and --format ioseer go with it");
    if (options.table && strcmp(options.format, "csv")) return cli_usage("export", "--table", "is for csv");
    if (options.table && options.all) return cli_usage("export", "--table", "cannot be combined with --all");
    for (size_t i = 0; options.table && sql_description(i); i++) {
        if (!strcmp(options.table, sql_description(i)->name)) return STATUS_OK;
    }
    return options.table && sql_is_built() ? cli_usage("export", options.table, "no such table: see query --tables")
                                           : STATUS_OK;
}

// --- the verb

static enum status export_log(struct argument *argument, const struct format *format) {
    struct work work = {.argument = argument};
    struct export_progress progress;
    uint64_t all = log_events(argument->log) + log_events_below(argument->log);
    export_progress_begin(&progress, &work.problem, all, options.quiet);
    work.watch = (struct export_watch){&progress, export_progress_watch};
    const struct anonymous_options how = {true, export_progress_watch, &progress};
    int code = options.anonymous ? anonymous_prepare(&work.anonymous, argument, options.key, &how, &work.problem) : 0;
    bool is_made = code == 0 && options.anonymous && format->make != make_log;
    if (is_made) code = anonymous_replace(&work.anonymous, argument, options.quiet, &work.problem);
    enum status status = code < 0        ? cli_problem("export", argument->path, &work.problem, code)
                         : format->write ? write_output(&work, format)
                                         : make_output(&work, format);
    export_progress_end(&progress);
    if (status == STATUS_OK && !options.quiet) anonymous_warn(&work.anonymous, argument);
    return status;
}

static enum status export_db(int argc, char **argv) {
    const struct argument argument = {.verb = "export", .path = options.db};
    const struct export_catalogue order = {options.db, options.key, options.output, options.quiet};
    if (argc > 1) return cli_usage("export", argv[1], "not together with --db");
    if (!options.anonymous) return cli_usage("export", "--anonymous", "is missing: --db goes with it");
    if (options.table || options.all) return cli_usage("export", "--db", "has neither --table nor --all");
    if (options.format && strcmp(options.format, "sqlite") != 0)
        return cli_usage("export", options.format, "a catalogue is written as sqlite only");
    options.format = "sqlite";
    enum status status = check_output(&argument, find_format());
    return status == STATUS_OK ? export_catalogue(&order) : status;
}

static enum status export_run(int argc, char **argv) {
    if (options.db) return export_db(argc, argv);
    struct argument argument;
    enum status status = check_options();
    if (status == STATUS_OK) status = argument_count("export", "LOG", argc, argv);
    if (status == STATUS_OK) status = argument_open_log(&argument, "export", argv[1]);
    if (status != STATUS_OK) return status;
    const struct format *format = find_format();
    if (options.output && !strcmp(options.output, "-")) options.output = NULL;
    if ((status = check_output(&argument, format)) == STATUS_OK) status = export_log(&argument, format);
    argument_close(&argument);
    return status;
}

const struct verb verb_export = {
    .name = "export",
    .summary = "write a log in the format of another program",
    .usage = "[OPTION]... LOG --format FORMAT -o X\n"
             "[OPTION]... --anonymous --db DB -o X",
    .about =
        "Writes the log for tools that do not know ioseer: as a trace for Perfetto, as an archive of OTF2,\n"
        "as CSV, as a SQLite file or as a log of Darshan; with --anonymous without names, also as a log of ioseer.\n"
        "LOG can also be the spill directory of a running or killed job. With --db it writes a catalogue without "
        "names.",
    .options = rows,
    .run = export_run,
};
