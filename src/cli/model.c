// `ioseer model`: a log's model as a MODEL file.
#include <stdio.h>

#include "base/err.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "model/model_write.h"

static struct {
    bool quiet;
    const char *layer;
    double gap_seconds;
    const char *output;
} options;

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER",
     "look at mpiio, posix or stdio (default: the highest that moved the bytes)"},
    {"gap", 0, OPTION_DURATION, &options.gap_seconds, "TIME",
     "without MPI: a pause this long parts phases (default 200ms)"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing about parts that cannot be read"},
    {0},
};

static int print(const struct model_argument *argument)
{
    struct output output;
    int status = model_argument_output(argument, &output, options.output);
    if (status != STATUS_OK) return status;
    output.error = model_write(&argument->model, output.out);
    status = output_close(&output, false);
    if (status == STATUS_OK && !options.quiet) model_argument_warn(argument);
    return status;
}

static int model_run(int argc, char **argv)
{
    struct model_options how;
    struct model_argument argument;
    if (argc < 2) return cli_usage("model", "LOG", "is missing");
    if (argc > 2) return cli_usage("model", argv[2], "one LOG is enough");
    int status = model_argument_options(&how, "model", options.layer, options.gap_seconds);
    if (status == STATUS_OK) status = model_argument_open(&argument, "model", argv[1], &how);
    if (status != STATUS_OK) return status;
    status = print(&argument);
    model_argument_close(&argument);
    return status;
}

const struct verb verb_model = {
    .name = "model",
    .summary = "write the model of a program's I/O",
    .usage = "[OPTION]... LOG",
    .about = "Writes the model of the program's I/O as JSON: its phases, which say of every operation where and how\n"
             "large it is, free of any machine (structure), and what was seen of this run (observed).",
    .options = rows,
    .run = model_run,
};
