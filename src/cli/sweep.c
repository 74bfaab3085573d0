// `ioseer sweep`: one program or model over sizes of the page cache, places, numbers of processes and interfaces.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/human.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/sweep_print.h"
#include "cli/verb.h"
#include "replay/replay.h"
#include "report/page.h"
#include "sweep/sweep.h"

#define PRECISION "5%"

static struct {
    struct option_list on;
    const char *caches, *nps, *interfaces, *precision, *launcher, *path, *chart;
    double seconds, stall;
    struct model_choice model;
    bool force, json, quiet;
} options = {.precision = PRECISION, .stall = REPLAY_STALL_SECONDS};

static const struct option_row rows[] = {
    {"on", 0, OPTION_LIST, &options.on, "DIR", "run in a new folder in DIR (repeatable)"},
    {"page-cache", 0, OPTION_TEXT, &options.caches, "LIST",
     "limits of memory, page cache included, such as 1G,512M,none (default: none)"},
    {"np", 0, OPTION_TEXT, &options.nps, "LIST", "numbers of processes, such as 2,4,8 (default: as recorded)"},
    {"interface", 0, OPTION_CHOICES, &options.interfaces, "as-recorded|collective|independent|posix",
     "ways to do the I/O (default: as-recorded)"},
    {"precision", 0, OPTION_TEXT, &options.precision, "PERCENT",
     "run each point until its time is known within PERCENT (default: " PRECISION "), 3 to 15 times"},
    {"time", 0, OPTION_DURATION, &options.seconds, "DURATION", "end after this time, with what is known then"},
    ROW_LAUNCHER(&options.launcher),
    ROW_STALL(&options.stall),
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    {"output", 'o', OPTION_TEXT, &options.path, "FILE",
     "write the results to FILE, as JSON, after each run; continue if it has some of this sweep"},
    {"force", 0, OPTION_FLAG, &options.force, NULL, "begin anew, whatever FILE has"},
    {"chart", 0, OPTION_TEXT, &options.chart, "FILE", "write a page with charts to FILE"},
    ROW_JSON(&options.json),
    ROW_QUIET(&options.quiet, "suppress progress messages and warnings"),
    {0},
};

static void show_progress(const struct sweep_progress *now) {
    const struct sweep_grid *grid = &now->sweep->grid;
    const struct sweep_point *point = now->point;
    fprintf(stderr, "\r\033[Ksweep: %zu of %zu points are ready; run %u on %s", now->ready, now->sweep->points,
            point->runs + 1, grid->target[point->target].name);
    if (grid->cache[point->cache]) fprintf(stderr, ", %s", human_bytes(grid->cache[point->cache]).text);
    if (grid->np[point->np]) fprintf(stderr, ", %s", human_count(grid->np[point->np], "process").text);
    if (grid->interfaces > 1) fprintf(stderr, ", %s", grid->interface[point->interface]);
}

// --- the grid

static int make_grid(struct sweep_grid *grid, struct problem *problem) {
    if (!options.on.count) return problem_set(problem, ERR_USAGE, "--on DIR", "is missing");
    grid->target = calloc(options.on.count, sizeof *grid->target);
    RETURN_IF(!grid->target, -ENOMEM);
    for (size_t i = 0; i < options.on.count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(options.on.item[i], options.on.item[k]))
                return problem_set(problem, ERR_USAGE, "--on", "%s is there twice", options.on.item[i]);
        }
        grid->target[grid->targets++].name = options.on.item[i];
    }
    if (options.caches) FORWARD(sweep_parse_caches(grid, options.caches, problem));
    if (options.nps) FORWARD(sweep_parse_nps(grid, options.nps, problem));
    return options.interfaces ? sweep_parse_interfaces(grid, options.interfaces, problem) : 0;
}

static char *join_words(char **words) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (char **word = words; out && *word; word++) fprintf(out, "%s%s", word == words ? "" : " ", *word);
    return out && fclose(out) == 0 ? text : NULL;
}

// A command names the folder that it is to use.
static bool is_command(int argc, char **argv) {
    bool has_place = argc > 2;
    for (int i = 1; i < argc; i++) has_place |= strstr(argv[i], "{dir}") != NULL;
    return has_place;
}

// --- output

static enum status print(const struct sweep *sweep) {
    struct output output;
    int code = 0;
    enum status status = output_open(&output, "sweep", NULL);
    if (status != STATUS_OK) return status;
    if (options.json)
        sweep_write(sweep, output_json(&output, 3));
    else
        code = sweep_print(sweep, output.out);
    return output_end(&output, "memory", code);
}

static enum status print_chart(const struct sweep *sweep) {
    struct output output;
    enum status status = output_open(&output, "sweep", options.chart);
    return status == STATUS_OK ? output_end(&output, options.chart, sweep_print_chart(sweep, output.out)) : status;
}

// A sweep in which every point failed is a failure.
static enum status conclude(const struct sweep *sweep) {
    size_t failed = 0;
    for (size_t i = 0; i < sweep->points; i++) failed += sweep->point[i].failed != NULL;
    if (failed && failed == sweep->points) {
        struct problem problem = {0};
        problem_set(&problem, ERR_NOTHING, "every point failed", "%s", sweep->point[0].failed);
        return cli_problem("sweep", "", &problem, ERR_NOTHING);
    }
    enum status status = print(sweep);
    return status == STATUS_OK && options.chart ? print_chart(sweep) : status;
}

// --- the verb

static enum status run(struct sweep *sweep, struct model *model, const char *name) {
    struct problem problem = {0};
    struct sweep_settings settings = {.model = model,
                                      .launcher = options.launcher,
                                      .stall = options.stall,
                                      .seconds = options.seconds,
                                      .path = options.path,
                                      .anew = options.force,
                                      .progress = !options.quiet && isatty(STDERR_FILENO) ? show_progress : NULL};
    int code = make_grid(&sweep->grid, &problem);
    if (code == 0) code = sweep_run(sweep, &settings, &problem);
    if (settings.progress) fputs("\r\033[K", stderr);
    return code < 0 ? cli_problem("sweep", name, &problem, code) : conclude(sweep);
}

static enum status sweep_words(struct sweep *sweep, char **words) {
    char *text = join_words(words);
    sweep->grid.command = words;
    sweep->grid.program = text;
    if (options.model.standard_streams || options.launcher)
        return cli_usage("sweep", "--launcher and --standard-streams", "only for a MODEL or LOG");
    enum status status = run(sweep, NULL, words[0]);
    free(text);
    return status;
}

static enum status sweep_model(struct sweep *sweep, const char *name) {
    struct argument argument;
    enum status status = argument_open_model(&argument, "sweep", name, &options.model);
    if (status != STATUS_OK) return status;
    if (!options.quiet) argument_warn(&argument);
    sweep->grid.model = name;
    status = run(sweep, &argument.model, name);
    argument_close(&argument);
    return status;
}

static enum status sweep_verb(int argc, char **argv) {
    struct sweep sweep = {0};
    if (argc < 2) return cli_usage("sweep", "MODEL|LOG or a command", "is missing");
    if (!options_percent(options.precision, &sweep.precision))
        return cli_usage("sweep", options.precision, "must be more than 0 % and less than 100 %, such as " PRECISION);
    if (options.chart && !page_has_template()) return cli_usage("sweep", "--chart", PAGE_MISSING);
    enum status status = output_check("sweep", options.path);
    if (status == STATUS_OK) status = output_check("sweep", options.chart);
    if (status != STATUS_OK) return status;
    status = is_command(argc, argv) ? sweep_words(&sweep, argv + 1) : sweep_model(&sweep, argv[1]);
    sweep_free(&sweep);
    return status;
}

const struct verb verb_sweep = {
    .name = "sweep",
    .summary = "time a program or model over sizes of the page cache, places, processes and interfaces",
    .usage = "[OPTION]... MODEL|LOG --on DIR...\n"
             "[OPTION]... --on DIR... -- COMMAND [ARG]...",
    .about =
        "Runs COMMAND, or replays a model, at every point of a grid: each DIR with each size of the page cache, each\n"
        "number of processes and each interface. In COMMAND, {dir}, {np} and {interface} are replaced. Runs alternate\n"
        "over the points until each time is known well enough. The page cache is limited by a cgroup of its own.",
    .options = rows,
    .run = sweep_verb,
};
