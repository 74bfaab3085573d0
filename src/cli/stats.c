// `ioseer stats`: counters per layer and file, as a table, as JSON, or in the columns of darshan-parser.
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/argument.h"
#include "cli/stats.h"
#include "cli/verb.h"
#include "log/stats.h"
#include "summary/summary.h"

static struct {
    struct print_options print;
    bool darshan, per_rank, calls;
    const char *sort, *by;
    enum file_grouping grouping;
    uint64_t top;
} options;

static const struct option_row rows[] = {
    {"darshan", 0, OPTION_FLAG, &options.darshan, NULL, "print tab-separated columns in the format of darshan-parser"},
    {"per-rank", 0, OPTION_FLAG, &options.per_rank, NULL,
     "print separate records for each rank (without MPI: each process)"},
    {"sort", 0, OPTION_CHOICE, &options.sort, "name|opens|reads|writes|read|written|bytes|time", "largest first"},
    {"top", 0, OPTION_COUNT, &options.top, "N",
     "only the first N of each layer (sorted by bytes unless --sort is given)"},
    {"by", 0, OPTION_CHOICE, &options.by, "directory|pattern",
     "join files of a directory, or those whose names differ in numbers only"},
    {"calls", 0, OPTION_FLAG, &options.calls, NULL,
     "print each kind of call instead, with the distribution of its times and sizes"},
    ROWS_PRINT(options.print),
    {0},
};

// The context of the functions that print a record.
struct printer {
    struct log *log;
    struct output *output;
};

static int print_record_json(const struct log_stats_record *record, void *context) {
    struct printer *printer = context;
    struct json_out *json = printer->output->json;
    json_object(json);
    json_members(json, m_text("layer", call_layer_name(record->layer)),
                 m_signed_if("rank", record->has_rank, record->rank),
                 m_text("file", record->file ? record->file->name : NULL));
    if (record->file && record->file->object) key_text(json, "object", record->file->object);
    if (record->has_rank && log_world_count(printer->log) > 1) key_number(json, "world", record->world);
    if (record->is_reduced) key_number(json, "ranks", record->ranks.count);
    if (options.per_rank && record->process) key_number_if(json, "pid", record->process->pid, record->process->pid);
    const struct counters_module module = log_stats_module(printer->log, record);
    summary_key_counters(json, &record->counters, &module);
    json_close(json);
    return 0;
}

static int print_records(struct printer *printer) {
    struct json_out *json = output_json(printer->output, 2);
    json_object(json);
    key_array(json, "records");
    int code = log_reduce(printer->log, NULL, options.per_rank, print_record_json, printer);
    json_close(json);
    key_array(json, "mapped"); // an estimate
    for (size_t i = 0; i < log_mapped_count(printer->log); i++) {
        const struct log_mapped *mapped = log_mapped_at(printer->log, i);
        if (!mapped->file || !mapped->process) continue;
        json_object_of(json, m_text("file", mapped->file->name), m_number("pid", mapped->process->pid),
                       m_number("read", mapped->bytes[MAPPED_READ]), m_number("dirty", mapped->bytes[MAPPED_DIRTY]),
                       m_number("copied", mapped->bytes[MAPPED_COPIED]),
                       m_number("missed", mapped->bytes[MAPPED_MISSED]));
    }
    json_close(json);
    json_close(json);
    return code;
}

static int print_rows(struct printer *printer) {
    struct file_rows files;
    FORWARD(file_rows_make(&files, printer->log, options.per_rank, options.grouping));
    const char *key = options.sort ? options.sort : options.top || options.grouping ? "bytes" : NULL;
    int code = key ? file_rows_sort(&files, key) : 0;
    if (!code) code = stats_print_rows(&files, options.top, options.print.json, printer->output);
    file_rows_free(&files);
    return code;
}

static int print_calls(struct printer *printer) {
    struct call_list calls;
    FORWARD(call_list_make(&calls, printer->log));
    int code = stats_print_calls(&calls, options.print.json, printer->output);
    call_list_free(&calls);
    return code;
}

static int print(const struct argument *argument, struct output *output) {
    struct printer printer = {.log = argument->log, .output = output};
    bool has_rows = options.sort || options.top || options.grouping;
    if (options.calls) return print_calls(&printer);
    if (options.darshan) return stats_print_darshan(printer.log, options.per_rank, output);
    return options.print.json && !has_rows ? print_records(&printer) : print_rows(&printer);
}

static enum status stats_run(int argc, char **argv) {
    bool has_rows = options.sort || options.top || options.by;
    if (options.print.json && options.darshan) return cli_usage("stats", "--json", "cannot be combined with --darshan");
    if (options.darshan && (has_rows || options.calls))
        return cli_usage("stats", "--darshan", "cannot be combined with --sort, --top, --by or --calls");
    if (options.calls && (has_rows || options.per_rank))
        return cli_usage("stats", "--calls", "cannot be combined with --sort, --top, --by or --per-rank");
    if (options.by && !strcmp(options.by, "directory")) options.grouping = GROUP_DIRECTORY;
    if (options.by && !strcmp(options.by, "pattern")) options.grouping = GROUP_PATTERN;
    return argument_print("stats", argc, argv, &options.print, NULL, print);
}

const struct verb verb_stats = {
    .name = "stats",
    .summary = "print counters per file, with Darshan's names",
    .usage = "[OPTION]... LOG",
    .about = "Prints calls, bytes and times per layer and file. With --json or --darshan, prints all counters of\n"
             "Darshan 3.5's modules; --json with --sort, --top or --by prints the columns of the table.\n"
             "LOG can also be the spill directory of a running or killed job.",
    .options = rows,
    .run = stats_run,
};
