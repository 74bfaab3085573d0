// `ioseer pack`: makes the log of a job whose `record` was killed before it made one.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/human.h"
#include "base/scoped.h"
#include "cli/argument.h"
#include "cli/pack_report.h"
#include "cli/verb.h"
#include "site/deliver.h"
#include "site/finish.h"
#include "site/keep.h"
#include "stack/recording.h"

static struct {
    const char *output;
    struct pack_options pack;
    bool quiet;
    bool remove;
    bool finish;
    bool left;
} options;

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "LOG", "name of the log (default: DIR without .spill-XXXXXX)"},
    ROW_FORCE(&options.pack.replace),
    ROW_QUIET(&options.quiet, "suppress ioseer's own messages"),
    {"remove", 0, OPTION_FLAG, &options.remove, NULL, "remove DIR after LOG is written"},
    {"finish", 0, OPTION_FLAG, &options.finish, NULL,
     "DIR is of a job without `record`: make its log where ioseer.conf says, unless it still runs; or it is what one "
     "host has of it: send that"},
    {"left", 0, OPTION_FLAG, &options.left, NULL,
     "make the logs of all such jobs that were killed, for root those of all users, and remove old logs"},
    {0},
};

// Checked first, so that a later error is about the log.
static int check_directory(const char *spill_dir) {
    int fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    close(fd);
    return 0;
}

// `record` names its directory after the log: LOG.spill-XXXXXX. NULL if DIR is not so named; the caller frees it.
static char *log_beside(const char *spill_dir) {
    const char *slash = strrchr(spill_dir, '/'), *base = slash ? slash + 1 : spill_dir;
    const char *suffix = strstr(base, ".spill-");
    return suffix && suffix > base ? strndup(spill_dir, (size_t)(suffix - spill_dir)) : NULL;
}

// Settings with a fault are as good as they can be: `doctor --settings` complains.
static enum status read_settings(struct site_settings *settings) {
    struct problem problem = {0};
    int code = site_settings_read(settings, &problem);
    if (code == -ENOMEM) return cli_problem("pack", "ioseer.conf", &problem, code);
    if (!*settings->value[SITE_LOG_DIR]) return cli_usage("pack", "log_dir", "is not set; see ioseer.conf(5)");
    signal(SIGXFSZ, SIG_IGN);
    umask(0); // the folders of logs have the permissions that log_mode says
    return STATUS_OK;
}

// The end of a job also clears up after some that were killed.
static enum status finish(const char *directory) {
    enum { MOST_OTHERS = 8 };
    SCOPED(site_settings_free) struct site_settings settings = {0};
    struct site_finished finished = {0};
    enum status status = read_settings(&settings);
    if (status != STATUS_OK) return status;
    int code = site_finish(&settings, directory, &finished);
    if (code < 0) return cli_problem("pack", directory, &finished.problem, code);
    if (!options.quiet && finished.logs) printf("%s\n", finished.last);
    site_finish_left(&settings, finished.logs + MOST_OTHERS, &finished);
    return STATUS_OK;
}

static enum status finish_left(void) {
    SCOPED(site_settings_free) struct site_settings settings = {0};
    struct site_finished finished = {0};
    enum status status = read_settings(&settings);
    if (status != STATUS_OK) return status;
    int code = geteuid() == 0 ? site_finish_all_users(&settings, &finished)
                              : site_finish_left(&settings, UINT64_MAX, &finished);
    int removed = code < 0 ? code : site_remove_old(&settings);
    if (!options.quiet && removed >= 0)
        printf("%s made, %s not over, %s failed, %s removed\n", human_count(finished.logs, "log").text,
               human_count(finished.waiting, "job").text, human_count(finished.failed, "").text,
               human_count((uint64_t)removed, "old log").text);
    if (removed >= 0 && !finished.failed) return STATUS_OK;
    return cli_problem("pack", settings.value[SITE_LOG_DIR], &finished.problem, removed < 0 ? removed : -EIO);
}

static enum status run(int argc, char **argv) {
    if (options.left && argc > 1) return cli_usage("pack", argv[1], "--left takes no DIR");
    if (options.left) return finish_left();
    enum status status = argument_count("pack", "DIR", argc, argv);
    if (status != STATUS_OK) return status;
    char *spill_dir = argv[1];
    if (options.finish) return finish(spill_dir);
    for (size_t len = strlen(spill_dir); len > 1 && spill_dir[len - 1] == '/'; len--) spill_dir[len - 1] = '\0';
    SCOPED_FREE char *beside = log_beside(spill_dir);
    if (!options.output) options.output = beside;
    if (!options.output) return cli_usage("pack", spill_dir, "not named LOG.spill-XXXXXX: -o LOG is needed");
    struct problem problem = {0}, missing = {0};
    struct pack_result result;
    int code = pack_check_name(options.output, options.pack.replace, &problem);
    if (code < 0) return cli_problem("pack", options.output, &problem, code);
    code = check_directory(spill_dir);
    if (code < 0) return cli_fail("pack", spill_dir, code);
    // What this host has of the job in a folder of its own, unless processes use it.
    code = deliver_of_job(spill_dir, true);
    if (code < 0 && code != ERR_NOTHING && code != -EBUSY && !options.quiet) cli_fail("pack", spill_dir, code);
    // A stack that the job was recorded with may still have records of it. Without them the log lacks some layers.
    code = stack_recording_rescue(spill_dir, &missing);
    if (code < 0 && !options.quiet) cli_problem("pack", spill_dir, &missing, code);
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
    .usage = "[OPTION]... DIR [-o LOG]\n--finish DIR\n--left",
    .about =
        "Makes LOG from the spill files in DIR. A killed `record` leaves this directory beside its log.\n"
        "What a stack or a folder of this host still has of the job is put into DIR first. Nothing else in it changes\n"
        "without --remove.",
    .options = rows,
    .run = run,
};
