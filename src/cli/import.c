// `ioseer import`: another program's log as a log of ioseer.
#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/human.h"
#include "cli/argument.h"
#include "cli/verb.h"
#include "pack/import.h"
#include "pack/pack.h"

static struct {
    const char *output;
    bool force, quiet;
} options;

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "LOG", "the log to write (required)"},
    ROW_FORCE(&options.force),
    ROW_QUIET(&options.quiet, "do not print what was imported"),
    {0},
};

static void say(const struct import_result *result) {
    struct human records = human_count(result->records, "record"), events = human_count(result->events, "event");
    fprintf(stderr, "ioseer: %s: %s, %s, %s\n", options.output, records.text, result->events ? events.text : "no trace",
            human_bytes(result->log_bytes).text);
    if (*result->skipped) cli_warn("import", "%s: skipped, records are not known: %s", options.output, result->skipped);
}

// Says what is damaged.
static enum status warn(void) {
    struct argument made;
    enum status status = argument_open_log(&made, "import", options.output);
    if (status != STATUS_OK) return status;
    argument_warn(&made);
    argument_close(&made);
    return STATUS_OK;
}

static enum status import_run(int argc, char **argv) {
    struct import_result result;
    struct problem problem = {0};
    enum status status = argument_count("import", "FILE", argc, argv);
    if (status != STATUS_OK) return status;
    if (!options.output) return cli_usage("import", "--output", "is missing");
    const struct argument argument = {.verb = "import", .path = argv[1]};
    status = argument_spare(&argument, options.output);
    if (status != STATUS_OK) return status;
    signal(SIGXFSZ, SIG_IGN); // a file that may not grow large enough is an error
    int code = pack_check_name(options.output, options.force, &problem);
    if (code == 0 && !import_is_foreign(argv[1]))
        code = problem_set(&problem, ERR_FORMAT, argv[1], "not a log of Darshan, the only one that can be imported");
    if (code == 0) code = import_file(argv[1], options.output, options.force, &result, &problem);
    if (code < 0) return cli_problem("import", argv[1], &problem, code);
    if (!options.quiet) say(&result);
    return options.quiet ? STATUS_OK : warn();
}

const struct verb verb_import = {
    .name = "import",
    .summary = "make a log of a Darshan log",
    .usage = "[OPTION]... FILE -o LOG",
    .about = "Writes a log that has everything that Darshan's has: all counters with all their bits, and what DXT\n"
             "traced as events. Verbs that read a LOG take Darshan's log as it is, too.",
    .options = rows,
    .run = import_run,
};
