// `ioseer stats`: counters per layer and file, as a table, as JSON, or in the columns of darshan-parser.
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/argument.h"
#include "cli/stats.h"
#include "cli/verb.h"
#include "log/describe.h"
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
    const char *module; // of the last record: each has a heading
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
    if (options.per_rank && record->process) key_number(json, "pid", record->process->pid);
    const struct counters_module module = log_stats_module(printer->log, record);
    summary_key_counters(json, &record->counters, &module);
    json_close(json);
    return 0;
}

static const char *const darshan_modules[LAYER_COUNT] = {[LAYER_POSIX] = "POSIX",
                                                         [LAYER_STDIO] = "STDIO",
                                                         [LAYER_MPIIO] = "MPI-IO",
                                                         [LAYER_HDF5] = "H5F",
                                                         [LAYER_PNETCDF] = "PNETCDF_FILE"};
static const char *const darshan_object_modules[LAYER_COUNT] = {[LAYER_HDF5] = "H5D", [LAYER_PNETCDF] = "PNETCDF_VAR"};

static void darshan_time(FILE *out, const char *name, uint64_t ns) {
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm local;
    char text[64] = "";
    if (localtime_r(&seconds, &local)) strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
    fprintf(out, "# %s: %lld\n# %s_asci: %s\n", name, (long long)seconds, name, text);
}

// Without MPI all processes count as one rank.
static uint64_t rank_count(const struct log *log) {
    const struct log_world *world = log_largest_world(log);
    return world ? world->size : 1;
}

// Prints each mount point once. Few jobs use more than this many, and the table is for information only.
static void darshan_mounts(const struct log *log, FILE *out) {
    enum { MOST = 64 };
    const char *named[MOST];
    size_t count = 0;
    fprintf(out, "\n# mounted file systems (mount point and fs type)\n");
    for (size_t i = 0; i < log_file_count(log) && count < MOST; i++) {
        const struct log_file *file = log_file_at(log, i);
        bool known = !file->mount;
        for (size_t j = 0; !known && j < count; j++) known = !strcmp(named[j], file->mount);
        if (known) continue;
        named[count++] = file->mount;
        fprintf(out, "# mount entry:\t");
        human_print_name(out, file->mount);
        fputc('\t', out);
        human_print_name(out, describe_file_system(file));
        fputc('\n', out);
    }
}

static void darshan_header(const struct log *log, FILE *out) {
    const struct log_job *job = log_job(log);
    uint64_t end_ns = job->start_ns + (uint64_t)log_run_ns(log);
    fprintf(out, "# ioseer version: %s\n# exe:", IOSEER_VERSION);
    for (size_t i = 0; i < job->command.count; i++) {
        fputc(' ', out);
        human_print_name(out, job->command.word[i]);
    }
    fprintf(out, "\n# uid: %" PRIu64 "\n# jobid: ", job->uid);
    human_print_name(out, job->id ? job->id : "0");
    fputc('\n', out);
    darshan_time(out, "start_time", job->start_ns);
    darshan_time(out, "end_time", end_ns);
    fprintf(out, "# nprocs: %" PRIu64 "\n# run time: %.4f\n", rank_count(log), (double)(end_ns - job->start_ns) / 1e9);
    darshan_mounts(log, out);
}

static int print_record_darshan(const struct log_stats_record *record, void *context) {
    struct printer *printer = context;
    FILE *out = printer->output->out;
    const char *object = record->file ? record->file->object : NULL;
    const char *module = (object ? darshan_object_modules : darshan_modules)[record->layer];
    struct counters_value values[COUNTERS_MAX_VALUES];
    if (!module || !record->file) return 0;
    // Rank 0 stands for a job without MPI. With MPI it would look like the real rank 0.
    if (!record->has_rank && log_world_count(printer->log)) return 0;
    if (printer->module != module) {
        fprintf(out,
                "\n# %s module data\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t"
                "<fs type>\n",
                module);
        printer->module = module;
    }
    const struct counters_module list = log_stats_module(printer->log, record);
    size_t count = counters_list(&record->counters, &list, values);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\t%" PRId64 "\t%" PRIu64 "\t%s\t", module, record->has_rank ? record->rank : 0,
                record->file->record_id, values[i].name);
        if (values[i].is_real) {
            fprintf(out, "%f\t", values[i].real);
        } else {
            fprintf(out, "%" PRId64 "\t", values[i].integer);
        }
        human_print_name(out, record->file->name);
        if (object) fputc(':', out);
        if (object) human_print_name(out, object);
        fputc('\t', out);
        human_print_name(out, record->file->mount ? record->file->mount : "UNKNOWN");
        fputc('\t', out);
        human_print_name(out, describe_file_system(record->file));
        fputc('\n', out);
    }
    return output_failed(printer->output) ? ERR_LIMIT : 0;
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

static int print_darshan(struct printer *printer) {
    darshan_header(printer->log, printer->output->out);
    return log_reduce(printer->log, NULL, options.per_rank, print_record_darshan, printer);
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
    if (options.darshan) return print_darshan(&printer);
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
