// `ioseer pack`: makes the log of a job whose `record` was killed before it made one.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/argument.h"
#include "cli/pack_report.h"
#include "cli/verb.h"

static struct {
    const char *output;
    struct pack_options pack;
    bool quiet;
    bool remove;
} options;

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "LOG", "name of the log"},
    ROW_FORCE(&options.pack.replace),
    ROW_QUIET(&options.quiet, "suppress ioseer's own messages"),
    {"remove", 0, OPTION_FLAG, &options.remove, NULL, "remove DIR after LOG is written"},
    {0},
};

// Checked first, so that a later error is about the log.
static int check_directory(const char *spill_dir) {
    int fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    close(fd);
    return 0;
}

static enum status run(int argc, char **argv) {
    enum status status = argument_count("pack", "DIR", argc, argv);
    if (status != STATUS_OK) return status;
    if (!options.output) return cli_usage("pack", "-o LOG", "is missing");
    const char *spill_dir = argv[1];
    struct problem problem = {0};
    struct pack_result result;
    int code = pack_check_name(options.output, options.pack.replace, &problem);
    if (code < 0) return cli_problem("pack", options.output, &problem, code);
    code = check_directory(spill_dir);
    if (code < 0) return cli_fail("pack", spill_dir, code);
    signal(SIGXFSZ, SIG_IGN); // exceeding the file size limit is an error like a full disk
    pack_report_progress(&options.pack, options.quiet);
    code = pack_directory(NULL, spill_dir, options.output, &options.pack, &result);
    pack_report_clear();
    if (code == ERR_NOTHING) {
        problem_set(&problem, code, spill_dir, "no spill files in it");
        return cli_problem("pack", spill_dir, &problem, code);
    }
    if (code < 0) return cli_fail("pack", options.output, code);
    if (!options.quiet) pack_report_result(options.output, "PROGRAM", &result);
    if (options.remove) code = pack_remove_directory(spill_dir);
    return code < 0 ? cli_fail("pack", spill_dir, code) : STATUS_OK;
}

const struct verb verb_pack = {
    .name = "pack",
    .summary = "make a log from the spill files of an interrupted job",
    .usage = "[OPTION]... DIR -o LOG",
    .about = "Makes LOG from the spill files in DIR. A killed `record` leaves this directory beside its log.\n"
             "Does not change DIR unless --remove is given.",
    .options = rows,
    .run = run,
};
