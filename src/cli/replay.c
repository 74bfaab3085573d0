// `ioseer replay`: a model's I/O again, on storage that the program may never have seen.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "log/log.h"
#include "model/compare/similarity.h"
#include "model/phase_list.h"
#include "model/scale.h"
#include "predict/statistics.h"
#include "replay/choose_phases.h"
#include "replay/replay.h"

static struct {
    const char *on;
    uint64_t np;
    const char *launcher;
    uint64_t repeat;
    const char *phases;
    const char *cache;
    const char *null;
    bool verify, no_think, keep, no_similarity, json, quiet;
    const char *output, *log;
} options = {.repeat = 1, .cache = "as-recorded"};

static const struct option_row rows[] = {
    {"on", 0, OPTION_TEXT, &options.on, "DIR", "replay in a folder of its own in there"},
    {"np", 0, OPTION_COUNT, &options.np, "N", "with so many processes (default: as recorded)"},
    {"launcher", 0, OPTION_TEXT, &options.launcher, "COMMAND", "starts the processes: 'mpiexec.mpich -n {np}'"},
    {"repeat", 0, OPTION_COUNT, &options.repeat, "N", "times (default 1); medians and 95 % intervals are printed"},
    {"phases", 0, OPTION_TEXT, &options.phases, "LIST", "only these, as in 1,3-5"},
    {"cache", 0, OPTION_TEXT, &options.cache, "STATE",
     "of files that are there before: cold, warm or as-recorded (the default)"},
    {"verify", 0, OPTION_FLAG, &options.verify, NULL, "check what is read"},
    {"no-think", 0, OPTION_FLAG, &options.no_think, NULL, "do not wait between operations as the program did"},
    {"null", 0, OPTION_TEXT, &options.null, "NS[,RATE]",
     "do no I/O: each operation waits NS nanoseconds, and its bytes at RATE bytes per second"},
    {"keep", 0, OPTION_FLAG, &options.keep, NULL, "leave the files"},
    {"no-similarity", 0, OPTION_FLAG, &options.no_similarity, NULL, "do not record a run to compare it"},
    {"log", 0, OPTION_TEXT, &options.log, "LOG", "keep the log of the run that is recorded"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print no progress"},
    {0},
};

// --- the replay's own log

// The runner's names: file-LETTERS or file-LETTERS.MEMBER.
static bool runner_file_of(const char *name, uint32_t *set, uint32_t *member, void *context)
{
    const char *base = strrchr(name, '/');
    (void)context;
    if (!base || strncmp(base, "/file-", 6)) return false;
    const char *at = base + 6;
    uint32_t number = 0, place = 1;
    for (; *at >= 'a' && *at <= 'z'; at++, place *= 26) number += (uint32_t)(*at - 'a' + 1) * place;
    *set = number - 1;
    *member = *at == '.' ? (uint32_t)strtoul(at + 1, NULL, 10) : 0;
    return true;
}

// What the recorder itself takes for an operation is in the times of the runner, which stands around it, but not in the
// log's.
static void take_times(const struct model *model, uint32_t program, const struct model *again,
                       struct replay_result *run)
{
    const struct model_program *of = &model->program[program], *by = &again->program[replay_main_program(again)];
    if (of->end - of->first != by->end - by->first) return;
    run->total = 0;
    for (size_t i = 0; i < of->end - of->first; i++) {
        const struct model_phase *phase = &again->phase[by->first + i];
        run->phase[of->first + i].time = (double)phase->duration_ns / 1e9;
        run->phase[of->first + i].others = (double)phase->other_ns / 1e9;
        run->total += (double)phase->duration_ns / 1e9;
    }
}

static int compare_with_log(const struct model *model, uint32_t program, const char *path, bool scaled,
                            struct similarity *out, struct replay_result *run)
{
    struct log *log;
    struct model again;
    FORWARD(log_open(&log, path));
    int code = model_from_log(&again, log, &(struct model_options){.layer = model->layer, .gap_ns = model->gap_ns});
    if (!code) {
        code = again.programs ? similarity_compare(model, program, options.phases, &again, replay_main_program(&again),
                                                   scaled, runner_file_of, NULL, out)
                              : ERR_NOTHING;
        if (!code) take_times(model, program, &again, run);
        model_free(&again);
    }
    log_close(log);
    return code;
}

// --- output

struct outcome {
    const struct model *model;
    uint32_t program;
    struct replay_result *run;
    size_t runs;
    bool scaled; // to another number of processes
    struct similarity similarity;
    bool has_similarity;
};

static struct interval phase_interval(const struct outcome *o, size_t phase, double *scratch)
{
    for (size_t i = 0; i < o->runs; i++) scratch[i] = o->run[i].phase[phase].time;
    return statistics_median(scratch, o->runs);
}

// Operations that are no transfers.
static double other_median(const struct outcome *o, size_t phase, double *scratch)
{
    for (size_t i = 0; i < o->runs; i++) scratch[i] = o->run[i].phase[phase].others;
    return statistics_median(scratch, o->runs).middle;
}

static struct interval total_interval(const struct outcome *o, double *scratch)
{
    for (size_t i = 0; i < o->runs; i++) scratch[i] = o->run[i].total;
    return statistics_median(scratch, o->runs);
}

static double share_alike(const struct similarity *similarity)
{
    return similarity->ops ? (double)similarity->alike / (double)similarity->ops : 1;
}

static double share_paused(const struct similarity *similarity)
{
    return similarity->alike ? (double)similarity->paused / (double)similarity->alike : 1;
}

static int print_json(const struct outcome *o, FILE *out, double *scratch)
{
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    const struct model_program *program = &o->model->program[o->program];
    json_object(json);
    key_text(json, "program", o->model->command);
    key_text(json, "executable", program->name);
    key_number(json, "programs", o->model->programs);
    json_key(json, "phases");
    json_array(json);
    for (size_t i = program->first; i < program->end; i++) {
        if (!phase_list_has(options.phases, i + 1)) continue;
        struct interval time = phase_interval(o, i, scratch);
        json_object(json);
        key_number(json, "id", i + 1);
        key_double(json, "time", time.middle);
        key_double(json, "low", time.low);
        key_double(json, "high", time.high);
        key_double(json, "recorded", (double)o->model->phase[i].duration_ns / 1e9);
        key_double(json, "other", other_median(o, i, scratch));
        key_double(json, "other_recorded", (double)o->model->phase[i].other_ns / 1e9);
        json_close(json);
    }
    json_close(json);
    struct interval total = total_interval(o, scratch);
    key_double(json, "total", total.middle);
    key_double(json, "low", total.low);
    key_double(json, "high", total.high);
    key_number(json, "np", program->np);
    key_number(json, "runs", o->runs);
    json_key(json, "similarity");
    if (o->has_similarity)
        json_double(json, share_alike(&o->similarity));
    else
        json_null(json);
    json_key(json, "pauses");
    if (o->has_similarity && !options.no_think)
        json_double(json, share_paused(&o->similarity));
    else
        json_null(json);
    key_text(json, "difference", o->has_similarity && *o->similarity.first ? o->similarity.first : NULL);
    key_number(json, "wrong_bytes", o->run[o->runs - 1].wrong_bytes);
    json_close(json);
    return json_out_end(json);
}

static void print_text(const struct outcome *o, FILE *out, double *scratch)
{
    const struct model_program *program = &o->model->program[o->program];
    replay_print_program(out, o->model, o->program, "replayed");
    fprintf(out, "%-8s %12s %26s %12s\n", "PHASE", "TIME", "95 % INTERVAL", "RECORDED");
    for (size_t i = program->first; i < program->end; i++) {
        if (!phase_list_has(options.phases, i + 1)) continue;
        struct interval time = phase_interval(o, i, scratch);
        char range[2 * sizeof(struct human) + 4];
        snprintf(range, sizeof range, "%s - %s", human_time(time.low).text, human_time(time.high).text);
        fprintf(out, "%-8zu %12s %26s %12s\n", i + 1, human_time(time.middle).text, o->runs > 1 ? range : "",
                human_seconds(o->model->phase[i].duration_ns).text);
    }
    struct interval total = total_interval(o, scratch);
    fprintf(out, "total    %12s\n", human_time(total.middle).text);
    if (o->has_similarity) {
        fprintf(out, "\n%s of the operations are as recorded", human_percent(share_alike(&o->similarity)).text);
        if (*o->similarity.first) fprintf(out, "; the first that is not: %s", o->similarity.first);
        fputc('\n', out);
        if (!options.no_think) {
            fprintf(out, "%s of these come after pauses as long as recorded, within %.0f %% or %s\n",
                    human_percent(share_paused(&o->similarity)).text, 100 * SIMILARITY_PAUSE_SHARE,
                    human_seconds(SIMILARITY_PAUSE_NS).text);
        }
    }
    if (o->run[o->runs - 1].skipped) {
        uint64_t skipped = o->run[o->runs - 1].skipped;
        fprintf(out, "%s %s left out; the first: %s\n", human_count(skipped, "operation").text,
                skipped == 1 ? "has no replay and was" : "have no replay and were", o->run[o->runs - 1].first_skipped);
    }
}

static int print_outcome(const struct outcome *o)
{
    struct output output;
    int status = output_open(&output, "replay", options.output);
    if (status != STATUS_OK) return status;
    double *scratch = malloc((o->runs + 1) * sizeof *scratch);
    if (!scratch)
        output.error = -ENOMEM;
    else if (options.json)
        output.error = print_json(o, output.out, scratch);
    else
        print_text(o, output.out, scratch);
    free(scratch);
    return output_close(&output, false);
}

// --- the verb

static int fail(const struct replay_place *place, const struct replay_result *result, int code)
{
    if (code == -EINTR) return 128 + place->signal;
    if (code == ERR_NOTHING) {
        replay_print_error("replay", place->error);
        return STATUS_FAILURE;
    }
    (void)result;
    return cli_fail("replay", options.on, code);
}

static int check_run(const struct replay_result *result)
{
    if (result->failed) {
        fprintf(stderr, "ioseer replay: %s failed; the first: %s\n", human_count(result->failed, "operation").text,
                result->first_failure);
        return STATUS_FAILURE;
    }
    if (result->wrong_bytes) {
        fprintf(stderr, "ioseer replay: %s read are not what was written\n", human_bytes(result->wrong_bytes).text);
        return STATUS_FAILURE;
    }
    return STATUS_OK;
}

// --- progress, on a terminal

static struct {
    size_t run, runs;
    size_t phases;
} progress;

static void show_progress(const struct replay_place *place)
{
    unsigned phase = 0;
    FILE *in = fopen(place->phase, "re");
    if (in && fscanf(in, "%u", &phase) != 1) phase = 0;
    if (in) fclose(in);
    fprintf(stderr, "\rreplay %zu of %zu: ", progress.run, progress.runs);
    if (phase)
        fprintf(stderr, "phase %u of %zu\033[K", phase, progress.phases);
    else
        fprintf(stderr, "making files\033[K");
    fflush(stderr);
}

static int run_all(struct replay_place *place, const struct replay_settings *settings, struct outcome *o)
{
    size_t runs = (size_t)options.repeat;
    o->run = calloc(runs, sizeof *o->run);
    if (!o->run) return cli_fail("replay", "memory", -ENOMEM);
    progress.runs = runs;
    progress.phases = o->model->program[o->program].end;
    if (!options.quiet && isatty(STDERR_FILENO)) place->progress = show_progress;
    for (size_t i = 0; i < runs; i++) {
        bool recorded = i == 0 && !options.no_similarity && !settings->null;
        progress.run = i + 1;
        unlink(place->phase);
        int code = replay_run(place, settings, o->model, recorded, &o->run[i]);
        if (place->progress) fputs("\r\033[K", stderr);
        o->runs = i + 1;
        if (code < 0) return fail(place, &o->run[i], code);
        int status = check_run(&o->run[i]);
        if (status != STATUS_OK) return status;
        if (!recorded) continue;
        code = compare_with_log(o->model, o->program, place->log, o->scaled, &o->similarity, &o->run[i]);
        if (code < 0) return cli_fail("replay", "comparing", code);
        o->has_similarity = true;
    }
    return print_outcome(o);
}

// The files of the program as large as they became, of more processes accordingly more.
static int check_space(const struct model *model, double copies)
{
    struct statvfs about;
    uint64_t needed = 0;
    struct stat target;
    if (stat(options.on, &target) < 0) return cli_fail("replay", options.on, -errno);
    if (!S_ISDIR(target.st_mode)) return cli_fail("replay", options.on, -ENOTDIR);
    if (statvfs(options.on, &about) < 0) return cli_fail("replay", options.on, -errno);
    for (size_t i = 0; i < model->files; i++) {
        const struct model_file *file = &model->file[i];
        needed += file->size_after > file->size_before ? file->size_after : file->size_before;
    }
    if (copies > 1) needed = (uint64_t)((double)needed * copies);
    uint64_t there = (uint64_t)about.f_bavail * about.f_frsize;
    if (needed <= there) return STATUS_OK;
    fprintf(stderr, "ioseer replay: %s: needs %s, %s are free\n", options.on, human_bytes(needed).text,
            human_bytes(there).text);
    return STATUS_FAILURE;
}

static int check_log(void)
{
    if (!options.log) return STATUS_OK;
    if (options.no_similarity || options.null) return cli_usage("replay", "--log", "no run is recorded");
    return access(options.log, F_OK) ? output_check("replay", options.log) : cli_fail("replay", options.log, -EEXIST);
}

// NS or NS,RATE
static int check_null(void)
{
    const char *at = options.null;
    if (!at) return STATUS_OK;
    size_t digits = strspn(at, "0123456789");
    double rate = 1;
    char *end = (char *)at + digits;
    if (*end == ',' && end[1] >= '0' && end[1] <= '9') rate = strtod(end + 1, &end);
    bool is_right = digits && digits < 19 && !*end && rate > 0 && isfinite(rate);
    if (is_right) return STATUS_OK;
    fprintf(stderr, "ioseer replay: --null %s: not NS or NS,RATE as in 1000,2e9\n", at);
    return STATUS_USAGE;
}

static int check_options(int argc)
{
    if (!options.on) return cli_usage("replay", "--on DIR", "is missing");
    if (!replay_cache_is_known(options.cache)) {
        return cli_usage("replay", options.cache, "not cold, warm or as-recorded");
    }
    if (options.repeat > REPLAY_MOST_RUNS) return cli_usage("replay", "--repeat", "too many");
    if (options.np > REPLAY_MOST_PROCESSES) return cli_usage("replay", "--np", "too many");
    if (argc != 2) return cli_usage("replay", "MODEL|LOG", argc < 2 ? "is missing" : "one is enough");
    int status = check_null();
    if (status == STATUS_OK) status = check_log();
    return status == STATUS_OK ? output_check("replay", options.output) : status;
}

static int replay_run_verb(int argc, char **argv)
{
    struct model_argument argument;
    int status = check_options(argc);
    if (status == STATUS_OK) status = model_argument_open(&argument, "replay", argv[1], &(struct model_options){0});
    if (status != STATUS_OK) return status;
    if (!options.quiet) model_argument_warn(&argument);
    struct model *model = &argument.model;
    struct replay_settings settings = {.target = options.on,
                                       .launcher = options.launcher,
                                       .phases = options.phases,
                                       .null = options.null,
                                       .log = options.log,
                                       .cache = options.cache,
                                       .verify = options.verify,
                                       .think = !options.no_think,
                                       .keep = options.keep};
    settings.program = replay_main_program(model);
    uint32_t np = model->phases ? model->program[settings.program].np : 1;
    settings.np = options.np ? (uint32_t)options.np : np;
    status = replay_check_model("replay", argv[1], model);
    if (status == STATUS_OK) status = replay_check_phases(model, settings.program, options.phases);
    if (status == STATUS_OK && !options.null) status = check_space(model, (double)settings.np / np);
    if (status == STATUS_OK) {
        bool scaled = settings.np != model->program[settings.program].np;
        struct replay_place place;
        int code = replay_place_make(&place, &settings, model);
        if (!code) code = model_scale(model, settings.program, settings.np);
        struct outcome outcome = {.model = model, .program = settings.program, .scaled = scaled};
        status = code < 0 ? cli_fail("replay", options.on, code) : run_all(&place, &settings, &outcome);
        for (size_t i = 0; i < outcome.runs; i++) free(outcome.run[i].phase);
        free(outcome.run);
        if (options.keep && place.folder && !options.quiet)
            fprintf(stderr, "ioseer replay: the files are in %s\n", place.folder);
        replay_place_remove(&place, options.keep);
    }
    model_argument_close(&argument);
    return status;
}

const struct verb verb_replay = {
    .name = "replay",
    .summary = "run a program's I/O again on other storage",
    .usage = "[OPTION]... MODEL|LOG --on DIR",
    .about =
        "Does the operations of a model again, in as many processes and in the same order, with the pauses that\n"
        "the program made between them, on files of its own in DIR, and prints how long each phase took. One run is\n"
        "recorded and compared with the model, operation by operation.",
    .options = rows,
    .run = replay_run_verb,
};
