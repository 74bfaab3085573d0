// `ioseer info`: sums up a log.
#include "cli/info_text.h"
#include "cli/log_argument.h"
#include "cli/verb.h"

static struct {
    bool json;
    bool all;
    const char *output;
} options;

static const struct option_row rows[] = {
    ROW_JSON(&options.json),
    {"all", 'a', OPTION_FLAG, &options.all, NULL, "list all files and processes, not the first ten (JSON has all)"},
    ROW_OUTPUT(&options.output),
    {0},
};

static enum status print(const struct summary *summary, const struct log_argument *argument)
{
    struct output output;
    enum status status = log_argument_output(argument, &output, options.output);
    if (status != STATUS_OK) return status;
    int code = 0;
    if (options.json) {
        summary_json(summary, output_json(&output, 2), SIZE_MAX);
    } else {
        code = info_text(summary, options.all, output.out);
    }
    return output_end(&output, argument->path, code);
}

static enum status info_run(int argc, char **argv)
{
    struct log_argument argument;
    enum status status = log_argument_open(&argument, "info", argc, argv);
    if (status != STATUS_OK) return status;
    const struct summary_source source = {argument.log, argument.path, argument.is_directory};
    struct summary summary;
    int code = summary_gather(&summary, &source);
    status = code < 0 ? cli_fail("info", argument.path, code) : print(&summary, &argument);
    summary_free(&summary);
    log_argument_close(&argument);
    return status;
}

const struct verb verb_info = {
    .name = "info",
    .summary = "sum up a log: what ran, which files, how much was seen",
    .usage = "[OPTION]... LOG",
    .about = "Prints what ran, how its processes ended, the files with the most bytes, what was lost, and how much of\n"
             "the job's I/O the log covers. LOG may be the directory of a running or killed job's spill files.",
    .options = rows,
    .run = info_run,
};
