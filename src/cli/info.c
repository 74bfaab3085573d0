// `ioseer info`: sums up a log.
#include "cli/argument.h"
#include "cli/info_text.h"
#include "cli/verb.h"

static struct print_options options = {.quiet = true}; // the text itself says what could not be read
static bool all;
static const char *watts_text;
static struct stack_watts watts = STACK_WATTS;

static const struct option_row rows[] = {
    ROW_JSON(&options.json),
    {"all", 'a', OPTION_FLAG, &all, NULL,
     "list all files and processes instead of the first ten (JSON always has all)"},
    ROW_WATTS(&watts_text),
    ROW_OUTPUT(&options.output),
    {0},
};

static int print(const struct argument *argument, struct output *output) {
    struct summary summary;
    int code =
        summary_gather(&summary, &(struct summary_source){argument->log, argument->path, argument->is_directory});
    summary.stack.watts = watts;
    if (!code && options.json) code = summary_json(&summary, output_json(output, 2), SIZE_MAX);
    if (!code && !options.json) code = info_text(&summary, all, output->out);
    summary_free(&summary);
    return code;
}

static enum status info_run(int argc, char **argv) {
    if (watts_text && !stack_watts_parse(watts_text, &watts)) return cli_usage("info", watts_text, STACK_WATTS_WRONG);
    return argument_print("info", argc, argv, &options, NULL, print);
}

const struct verb verb_info = {
    .name = "info",
    .summary = "summarise a log: what ran, which files it used, how complete the log is",
    .usage = "[OPTION]... LOG",
    .about = "Prints what ran, how its processes ended, the files with the most bytes, what was lost, and how much of\n"
             "the job's I/O the log covers. LOG can also be the spill directory of a running or killed job.",
    .options = rows,
    .run = info_run,
};
