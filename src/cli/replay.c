// `ioseer replay`: runs the I/O of a model again, on storage that the program may never have used.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "measure/statistics.h"
#include "model/phase_list.h"
#include "replay/replay.h"

static struct {
    const char *on, *launcher, *phases, *cache, *null, *output, *log, *variant;
    uint64_t np, repeat;
    double stall;
    struct model_choice model;
    bool verify, no_think, keep, no_similarity, json, quiet;
} options = {.repeat = 1, .cache = "as-recorded", .stall = REPLAY_STALL_SECONDS};

static const struct option_row rows[] = {
    {"on", 0, OPTION_TEXT, &options.on, "DIR", "replay in a new folder in DIR"},
    {"np", 0, OPTION_COUNT, &options.np, "N", "number of processes (default: as recorded)"},
    ROW_LAUNCHER(&options.launcher),
    ROW_STALL(&options.stall),
    {"repeat", 0, OPTION_COUNT, &options.repeat, "N", "number of runs (default: 1)"},
    {"phases", 0, OPTION_TEXT, &options.phases, "LIST", "replay only these phases, such as 1,3-5"},
    {"variant", 0, OPTION_TEXT, &options.variant, "VARIANT", "do the same I/O by other calls: collective,cb_nodes=2"},
    ROW_CACHE_STATE(&options.cache),
    {"verify", 0, OPTION_FLAG, &options.verify, NULL, "check the data that is read"},
    {"no-think", 0, OPTION_FLAG, &options.no_think, NULL, "do not pause between operations"},
    {"null", 0, OPTION_TEXT, &options.null, "NS[,RATE]",
     "do no I/O: each operation takes NS nanoseconds, plus its bytes at RATE bytes per second"},
    {"keep", 0, OPTION_FLAG, &options.keep, NULL, "keep the files after the replay"},
    {"no-similarity", 0, OPTION_FLAG, &options.no_similarity, NULL,
     "do not record the first run or compare it with the model"},
    {"log", 0, OPTION_TEXT, &options.log, "LOG", "keep the log of the recorded run in LOG"},
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    ROW_QUIET(&options.quiet, "suppress progress messages and warnings"),
    {0},
};

// --- output

struct printing {
    const struct model *model;
    const struct replay_outcome *outcome;
};

enum value { PHASE_TIME, PHASE_OTHERS, TOTAL_TIME };

static struct interval median_of(const struct printing *p, enum value value, size_t phase) {
    double seconds[REPLAY_MOST_RUNS];
    for (size_t i = 0; i < p->outcome->runs; i++) {
        const struct replay_result *run = &p->outcome->run[i];
        seconds[i] = value == TOTAL_TIME   ? run->total
                     : value == PHASE_TIME ? run->phase[phase].time
                                           : run->phase[phase].others;
    }
    return statistics_median(seconds, p->outcome->runs);
}

static double share(uint64_t part, uint64_t all) { return all ? (double)part / (double)all : 1; }

static void write_phases(const struct printing *p, struct json_out *json) {
    const struct model_program *program = &p->model->program[p->outcome->program];
    key_array(json, "phases");
    for (size_t i = program->first; i < program->end; i++) {
        if (!phase_list_has(options.phases, i + 1)) continue;
        struct interval time = median_of(p, PHASE_TIME, i);
        json_object(json);
        key_number(json, "id", i + 1);
        interval_write(json, "time", &time);
        json_members(json, m_double("recorded", (double)p->model->phase[i].duration_ns / 1e9),
                     m_double("other", median_of(p, PHASE_OTHERS, i).middle),
                     m_double("other_recorded", (double)p->model->phase[i].other_ns / 1e9));
        json_close(json);
    }
    json_close(json);
}

static void print_json(const struct printing *p, struct json_out *json) {
    const struct replay_outcome *o = p->outcome;
    const struct model_program *program = &p->model->program[p->outcome->program];
    const struct similarity *similarity = &o->similarity;
    struct interval total = median_of(p, TOTAL_TIME, 0);
    json_object(json);
    json_members(json, m_text("program", p->model->command), m_text("executable", program->name),
                 m_number("programs", p->model->programs));
    write_phases(p, json);
    interval_write(json, "total", &total);
    json_members(json, m_number("np", program->np), m_number("runs", o->runs),
                 m_double_if("similarity", o->compared, share(similarity->alike, similarity->ops)),
                 m_double_if("pauses", o->compared && !options.no_think, share(similarity->paused, similarity->alike)),
                 m_text("difference", o->compared && *similarity->first ? similarity->first : NULL),
                 m_number("wrong_bytes", o->run[o->runs - 1].wrong_bytes));
    json_close(json);
}

static int print_phases(const struct printing *p, FILE *out) {
    static const struct table_column columns[] = {
        {"PHASE", TABLE_TEXT}, {"TIME", TABLE_UNIT}, {"95 % INTERVAL", TABLE_NUMBER}, {"RECORDED", TABLE_UNIT}, {0}};
    const struct model_program *program = &p->model->program[p->outcome->program];
    struct table table = table_begin(out, columns);
    for (size_t i = program->first; i < program->end; i++) {
        if (!phase_list_has(options.phases, i + 1)) continue;
        struct interval time = median_of(p, PHASE_TIME, i);
        table_number(&table, i + 1);
        table_text(&table, human_time(time.middle).text);
        table_printf(&table, p->outcome->runs > 1 ? "%s - %s" : "", human_time(time.low).text,
                     human_time(time.high).text);
        table_duration(&table, p->model->phase[i].duration_ns);
        table_row(&table);
    }
    table_text(&table, "total");
    table_text(&table, human_time(median_of(p, TOTAL_TIME, 0).middle).text);
    table_row(&table);
    return table_end(&table);
}

static int print_text(const struct printing *p, FILE *out) {
    const struct similarity *similarity = &p->outcome->similarity;
    const struct replay_result *last = &p->outcome->run[p->outcome->runs - 1];
    argument_print_program(out, p->model, p->outcome->program, "replayed");
    FORWARD(print_phases(p, out));
    if (p->outcome->compared) {
        fprintf(out, "\n%s of the operations are as recorded",
                human_percent(share(similarity->alike, similarity->ops)).text);
        if (*similarity->first) fprintf(out, "; first difference: %s", similarity->first);
        fputc('\n', out);
    }
    if (p->outcome->compared && !options.no_think)
        fprintf(out, "%s of these follow pauses as long as the recorded ones, within %.0f %% or %s\n",
                human_percent(share(similarity->paused, similarity->alike)).text, 100 * SIMILARITY_PAUSE_SHARE,
                human_seconds(SIMILARITY_PAUSE_NS).text);
    if (last->skipped)
        fprintf(out, "%s cannot be replayed and %s left out; the first: %s\n",
                human_count(last->skipped, "operation").text, last->skipped == 1 ? "was" : "were", last->first_skipped);
    return 0;
}

static enum status print_outcome(const struct printing *p) {
    struct output output;
    int code = 0, status = output_open(&output, "replay", options.output);
    if (status != STATUS_OK) return status;
    if (options.json)
        print_json(p, output_json(&output, 2));
    else
        code = print_text(p, output.out);
    return output_end(&output, "memory", code);
}

// --- the verb

static void show_progress(size_t run, unsigned phase, size_t phases, void *context) {
    (void)context;
    fprintf(stderr, "\rreplay %zu of %zu: ", run, (size_t)options.repeat);
    fprintf(stderr, phase ? "phase %u of %zu\033[K" : "making files\033[K", phase, phases);
}

// --null NS or --null NS,RATE
static bool parse_null(struct replay_job *job) {
    size_t digits = strspn(options.null, "0123456789");
    char *end = (char *)options.null + digits;
    double rate = 1;
    if (*end == ',' && end[1] >= '0' && end[1] <= '9') job->delay_rate = rate = strtod(end + 1, &end);
    job->null = true;
    job->delay_ns = strtoull(options.null, NULL, 10);
    return digits && digits < 19 && !*end && rate > 0 && isfinite(rate);
}

static enum status check_options(int argc, struct replay_job *job) {
    struct problem problem = {0};
    if (!options.on) return cli_usage("replay", "--on DIR", "is missing");
    int code = replay_check_options(options.cache, options.repeat, options.np, &job->cache, &problem);
    if (code < 0) return cli_problem("replay", options.on, &problem, code);
    if (argc != 2) return cli_usage("replay", "MODEL|LOG", argc < 2 ? "is missing" : "give only one");
    if (options.null && !parse_null(job))
        return cli_usage("replay", options.null, "must be NS or NS,RATE, such as 1000,2e9");
    if (options.log && (options.no_similarity || options.null))
        return cli_usage("replay", "--log", "cannot be combined with --no-similarity or --null");
    if (options.variant && options.null) return cli_usage("replay", "--variant", "cannot be combined with --null");
    if (options.log && !access(options.log, F_OK)) return cli_fail("replay", options.log, -EEXIST);
    enum status status = output_check("replay", options.log);
    return status == STATUS_OK ? output_check("replay", options.output) : status;
}

static enum status replay_model(const struct replay_settings *settings, struct model *model, const char *name) {
    struct replay_outcome outcome;
    struct problem problem = {0};
    int code = replay_repeat(*settings, model, name, &outcome, &problem);
    if (settings->progress) fputs("\r\033[K", stderr);
    struct printing printing = {.model = model, .outcome = &outcome};
    enum status status = code < 0 ? cli_problem("replay", options.on, &problem, code) : print_outcome(&printing);
    if (outcome.kept && !options.quiet) cli_warn("replay", "the files are in %s", outcome.kept);
    replay_outcome_free(&outcome);
    return status;
}

static enum status replay_verb(int argc, char **argv) {
    struct argument argument;
    struct replay_settings settings = {.target = options.on,
                                       .launcher = options.launcher,
                                       .stall = options.stall,
                                       .job = {.phases = options.phases,
                                               .variant = options.variant,
                                               .np = (uint32_t)options.np,
                                               .verify = options.verify,
                                               .think = !options.no_think},
                                       .repeat = (size_t)options.repeat,
                                       .compare = !options.no_similarity && !options.null,
                                       .log = options.log,
                                       .keep = options.keep,
                                       .progress = !options.quiet && isatty(STDERR_FILENO) ? show_progress : NULL};
    enum status status = check_options(argc, &settings.job);
    if (status == STATUS_OK) status = argument_open_model(&argument, "replay", argv[1], &options.model);
    if (status != STATUS_OK) return status;
    if (!options.quiet) argument_warn(&argument);
    status = replay_model(&settings, &argument.model, argv[1]);
    argument_close(&argument);
    return status;
}

const struct verb verb_replay = {
    .name = "replay",
    .summary = "run a program's I/O again on other storage",
    .usage = "[OPTION]... MODEL|LOG --on DIR",
    .about =
        "Runs the operations of a model again, with the same number of processes, order and pauses, on files of its\n"
        "own in DIR. Prints how long each phase takes. Records one run and compares it with the model, operation by\n"
        "operation.",
    .options = rows,
    .run = replay_verb,
};
