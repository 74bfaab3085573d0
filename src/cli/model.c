// `ioseer model`: a log's model as a MODEL file or as load for other tools, or every operation again.
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/expand.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "model/export/job.h"
#include "model/file/write.h"

static struct {
    bool expand;
    bool json;
    bool quiet;
    uint64_t rank;
    const char *layer;
    double gap_seconds;
    const char *format;
    const char *output;
} options = {.rank = UINT64_MAX};

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER",
     "look at mpiio, posix or stdio (default: the highest that moved the bytes)"},
    {"gap", 0, OPTION_DURATION, &options.gap_seconds, "TIME",
     "without MPI: a pause this long parts phases (default 200ms)"},
    {"format", 0, OPTION_TEXT, &options.format, "FORMAT",
     "write a model (default), a job file for fio, or command lines for ior"},
    {"expand", 0, OPTION_FLAG, &options.expand, NULL, "print every operation that the model stands for instead"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "with --expand: only this process of each program"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "with --expand: print a JSON array (a model is JSON anyway)"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing about parts that cannot be read"},
    {0},
};

static const struct format {
    const char *name;
    int (*write)(const struct model *model, FILE *out);
} formats[] = {{"model", model_write}, {"fio", load_write_fio}, {"ior", load_write_ior}};

static const struct format *find_format(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!options.format || !strcmp(options.format, formats[i].name)) return &formats[i];
    }
    return NULL;
}

static int print(const struct model_argument *argument, const struct format *format)
{
    struct output output;
    struct expand_options how = {.json = options.json, .rank = options.rank};
    int status = model_argument_output(argument, &output, options.output), code;
    if (status != STATUS_OK) return status;
    if (options.expand) {
        code = expand_print(&argument->model, &how, &output);
    } else {
        code = format->write(&argument->model, output.out);
    }
    bool failed = code && !output_failed_with(&output, code);
    if (failed) cli_fail("model", argument->log.path, code);
    status = output_close(&output, failed);
    if (status == STATUS_OK && !options.quiet) model_argument_warn(argument);
    return status;
}

static int model_run(int argc, char **argv)
{
    struct model_options how;
    struct model_argument argument;
    if (options.rank != UINT64_MAX && !options.expand) return cli_usage("model", "--rank", "is for --expand only");
    const struct format *format = find_format();
    if (!format) return cli_usage("model", options.format, "not model, fio or ior");
    if (options.expand && options.format) return cli_usage("model", "--format", "not with --expand");
    if (argc < 2) return cli_usage("model", "LOG or MODEL", "is missing");
    if (argc > 2) return cli_usage("model", argv[2], "one LOG or MODEL is enough");
    int status = model_argument_options(&how, "model", options.layer, options.gap_seconds);
    if (status == STATUS_OK) status = model_argument_open(&argument, "model", argv[1], &how);
    if (status != STATUS_OK) return status;
    status = print(&argument, format);
    model_argument_close(&argument);
    return status;
}

const struct verb verb_model = {
    .name = "model",
    .summary = "write the model of a program's I/O",
    .usage = "[OPTION]... LOG|MODEL",
    .about = "Writes the model of the program's I/O as JSON: its phases, which say of every operation where and how\n"
             "large it is, free of any machine (structure), and what was seen of this run (observed).\n"
             "With --format it is written as load for fio or IOR, which says in comments what they cannot express.\n"
             "With --expand, every operation is printed again from the model alone.",
    .options = rows,
    .run = model_run,
};
