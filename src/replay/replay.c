#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/human.h"
#include "log/log.h"
#include "model/file/write.h"
#include "model/model.h"
#include "model/phase_list.h"
#include "model/variant.h"
#include "replay/launch.h"

enum { MOST_PROCESSES = 1 << 20 };

int replay_check_options(const char *cache_text, uint64_t repeat, uint64_t np, uint32_t *cache,
                         struct problem *problem) {
    static const char *const names[CACHE_COUNT] = {"as-recorded", "cold", "warm"};
    for (*cache = 0; *cache < CACHE_COUNT && strcmp(names[*cache], cache_text);) ++*cache;
    if (*cache == CACHE_COUNT) return problem_set(problem, ERR_USAGE, cache_text, "not cold, warm or as-recorded");
    if (repeat > REPLAY_MOST_RUNS) return problem_set(problem, ERR_USAGE, "--repeat", "too many");
    if (np > MOST_PROCESSES) return problem_set(problem, ERR_USAGE, "--np", "too many");
    return 0;
}

uint32_t replay_main_program(const struct model *model) { return model_main_program(model); }

int replay_check_model(const struct model *model, const char *name, const char *verb, struct problem *problem) {
    if (model->phases && (model->files || !model->unphased_inherited)) return 0;
    if (model->unphased_untraced)
        return problem_set(problem, ERR_NOTHING, name, "its I/O is in counters only, not in a trace");
    if (!model->unphased_inherited) return problem_set(problem, ERR_NOTHING, name, "it has no I/O to %s", verb);
    return problem_set(problem, ERR_NOTHING, name,
                       "all its I/O is on files that were open before it began: --standard-streams uses these");
}

// --- phases that are chosen

// How MPI-IO uses a set of files in the chosen phases.
struct mpi_use {
    bool opens;
    bool uses;
};

static void note_mpi_use(const struct op_kind *kind, void *context) {
    struct mpi_use *use = context; // by set
    if (kind->layer != LAYER_MPIIO || kind->set == OP_NO_SET || kind->error) return;
    *(kind->class == CLASS_OPEN ? &use[kind->set].opens : &use[kind->set].uses) = true;
}

// Processes open a file of MPI-IO together and set their views, so the chosen phases must contain that open.
static int check_mpi_files(const struct model *model, uint32_t program, const char *phases, const char *option,
                           struct problem *problem) {
    struct mpi_use *use = calloc(model->files + 1, sizeof *use);
    int code = use ? phase_kinds(model, program, phases, note_mpi_use, use) : -ENOMEM;
    for (size_t i = 0; i < model->files && !code; i++) {
        if (!use[i].uses || use[i].opens) continue;
        code = problem_set(problem, ERR_USAGE, option, "they use %s, which an earlier phase opens: add that phase",
                           model->file[i].set->pattern);
    }
    free(use);
    return code;
}

// Whether the program has the phases of the list (NULL: all), and they can run without the others. ERR_USAGE if not.
static int check_phases(const struct model *model, uint32_t program, const char *phases, struct problem *problem) {
    const char *at = phases;
    char option[256];
    size_t first, last, lowest = model->program[program].first + 1, highest = model->program[program].end;
    if (!phases) return 0;
    snprintf(option, sizeof option, "--phases %s", phases);
    int found = *at ? 1 : ERR_USAGE;
    while (found == 1 && (found = phase_list_next(&at, &first, &last)) == 1) {
        if (first >= lowest && last <= highest) continue;
        return problem_set(problem, ERR_USAGE, option, "there is no phase %zu in the program, which has %zu-%zu",
                           first < lowest || first > highest ? first : last, lowest, highest);
    }
    if (found < 0) return problem_set(problem, ERR_USAGE, option, "not a list as in 1,3-5");
    return check_mpi_files(model, program, phases, option, problem);
}

// --- one run

struct session {
    const struct replay_settings *settings;
    const struct model *model;
    struct problem *problem;
    struct workspace workspace;
    sigset_t signals; // blocked before the session
    size_t run;       // counts from 1
};

static void watch_phase(void *context) {
    const struct session *session = context;
    unsigned phase = 0;
    FILE *in = fopen(session->workspace.file[WORKSPACE_PHASE], "re");
    if (in && fscanf(in, "%u", &phase) != 1) phase = 0;
    if (in) fclose(in);
    size_t phases = session->model->program[session->settings->job.program].end;
    session->settings->progress(session->run, phase, phases, session->settings->context);
}

static int save_model(const char *path, const struct model *model) {
    FILE *out = fopen(path, "we");
    RETURN_IF(!out, -errno);
    int code = model_write(model, out);
    if (fclose(out) && !code) code = -errno;
    return code;
}

static int session_start(struct session *session) {
    int code = workspace_make(&session->workspace, session->settings->target, session->settings->log);
    launch_hold_signals(&session->signals); // its guard does not hold them
    RETURN_IF(code < 0, code);
    return save_model(session->workspace.file[WORKSPACE_MODEL], session->model);
}

static int session_end(struct session *session, bool keep, int code) {
    workspace_remove(&session->workspace, keep);
    int signal = launch_release_signals(&session->signals);
    if (signal && code >= 0) session->problem->signal = signal, code = -EINTR;
    return code < 0 ? problem_code(session->problem, code, session->settings->target) : 0;
}

static int read_result(const struct session *session, struct replay_result *result) {
    struct json_in_error error = {0};
    int code = contract_read_result(result, session->workspace.file[WORKSPACE_RESULT], &error);
    if (code < 0) return problem_json(session->problem, code, "the result of the runner", &error);
    bool complete = result->phases == session->model->phases || session->settings->job.task != TASK_RUN;
    return complete ? 0 : problem_code(session->problem, ERR_FORMAT, "the result of the runner");
}

static int run(struct session *session, bool recorded, struct replay_result *result) {
    const struct replay_settings *settings = session->settings;
    const struct workspace *workspace = &session->workspace;
    struct launch launch = {.workspace = workspace,
                            .target = settings->repeat ? NULL : settings->target, // one of several
                            .model = session->model,
                            .launcher = settings->launcher,
                            .stall = settings->stall,
                            .group = settings->group,
                            .progress = settings->progress ? watch_phase : NULL,
                            .context = session};
    struct replay_job prepare = settings->job;
    prepare.task = TASK_PREPARE;
    session->run++;
    workspace_empty(workspace);
    unlink(workspace->file[WORKSPACE_RESULT]);
    unlink(workspace->file[WORKSPACE_PHASE]);
    if (!settings->job.null) FORWARD(launch_run(&launch, prepare, session->problem));
    launch.recorded = recorded;
    FORWARD(launch_run(&launch, settings->job, session->problem));
    return read_result(session, result);
}

int replay_once(const struct replay_settings *settings, const struct model *model, struct replay_result *result,
                struct problem *problem) {
    struct session session = {.settings = settings, .model = model, .problem = problem};
    *result = (struct replay_result){0};
    int code = session_start(&session);
    if (!code) code = run(&session, false, result);
    if (!code && result->failed)
        code = problem_set(problem, ERR_NOTHING, settings->target, "%s", result->first_failure);
    return session_end(&session, false, code);
}

// --- the log of the first run

// The runner names its files file-LETTERS or file-LETTERS.MEMBER.
static bool runner_file_of(const char *name, uint32_t *set, uint32_t *member, void *context) {
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

// The runner's own times contain the recorder's overhead for each operation; the times in the log do not.
static void replace_times(const struct model *model, uint32_t program, const struct model *again,
                          struct replay_result *result) {
    const struct model_program *of = &model->program[program], *by = &again->program[replay_main_program(again)];
    if (of->end - of->first != by->end - by->first) return;
    result->total = 0;
    for (size_t i = 0; i < of->end - of->first; i++) {
        const struct model_phase *phase = &again->phase[by->first + i];
        result->phase[of->first + i].time = (double)phase->duration_ns / 1e9;
        result->phase[of->first + i].others = (double)phase->other_ns / 1e9;
        result->total += (double)phase->duration_ns / 1e9;
    }
}

static int compare(const struct session *session, bool scaled, struct replay_outcome *outcome) {
    const struct replay_job *job = &session->settings->job;
    const struct model *model = session->model;
    struct model again;
    struct log *log;
    FORWARD(log_open(&log, session->workspace.file[WORKSPACE_LOG]));
    // The runner opens some files unseen, because the program got them open.
    struct model_options options = {.layer = model->layer, .gap_ns = model->gap_ns, .standard_streams = true};
    int code = model_from_log(&again, log, &options);
    if (!code) {
        struct similarity_input input = {.a = model,
                                         .b = &again,
                                         .a_program = job->program,
                                         .b_program = replay_main_program(&again),
                                         .phases = job->phases,
                                         .scaled = scaled,
                                         .file = runner_file_of};
        code = again.programs ? similarity_compare(&input, &outcome->similarity) : ERR_NOTHING;
        if (!code) replace_times(model, job->program, &again, &outcome->run[0]);
        model_free(&again);
    }
    log_close(log);
    outcome->compared = !code;
    return code;
}

// --- several runs

static int check_run(const struct replay_result *result, struct problem *problem) {
    char failed[128];
    snprintf(failed, sizeof failed, "%s failed; the first", human_count(result->failed, "operation").text);
    if (result->failed) return problem_set(problem, ERR_NOTHING, failed, "%s", result->first_failure);
    if (!result->wrong_bytes) return 0;
    return problem_set(problem, ERR_NOTHING, NULL, "%s read are not what was written",
                       human_bytes(result->wrong_bytes).text);
}

// The files need as much space as they had at the end; with more processes, proportionally more.
static int check_space(const struct model *model, const char *target, double copies, struct problem *problem) {
    struct statvfs about;
    uint64_t needed = 0;
    struct stat status;
    RETURN_IF(stat(target, &status) < 0, -errno);
    RETURN_IF(!S_ISDIR(status.st_mode), -ENOTDIR);
    RETURN_IF(statvfs(target, &about) < 0, -errno);
    for (size_t i = 0; i < model->files; i++) {
        const struct model_file *file = &model->file[i];
        needed += file->size_after > file->size_before ? file->size_after : file->size_before;
    }
    if (copies > 1) needed = (uint64_t)((double)needed * copies);
    uint64_t there = (uint64_t)about.f_bavail * about.f_frsize;
    if (needed <= there) return 0;
    return problem_set(problem, -ENOSPC, target, "needs %s, %s are free", human_bytes(needed).text,
                       human_bytes(there).text);
}

static int run_all(struct session *session, bool scaled, struct replay_outcome *outcome) {
    const struct replay_settings *settings = session->settings;
    outcome->run = calloc(settings->repeat, sizeof *outcome->run);
    RETURN_IF(!outcome->run, -ENOMEM);
    while (outcome->runs < settings->repeat) {
        struct replay_result *result = &outcome->run[outcome->runs++];
        bool recorded = outcome->runs == 1 && (settings->compare || settings->log);
        FORWARD(run(session, recorded, result));
        FORWARD(check_run(result, session->problem));
        int code = recorded && settings->compare ? compare(session, scaled, outcome) : 0;
        if (code < 0) return problem_code(session->problem, code, "comparing");
    }
    return 0;
}

// --- variants

// Whether the program, scaled to the processes of the replay, can do its I/O so.
static int check_variant(const struct model *model, const struct replay_job *job, bool scaled,
                         struct problem *problem) {
    struct variant variant;
    const char *why;
    if (!job->variant) return 0;
    FORWARD(variant_parse(&variant, job->variant));
    variant.np = scaled ? job->np : 0;
    FORWARD(variant_check_phases(&variant, model, job->program, job->phases, &why));
    return why ? problem_set(problem, ERR_USAGE, job->variant, "%s", why) : 0;
}

// How many processes a variant wants is one of the options of the replay.
static int use_variant(struct replay_job *job, struct problem *problem) {
    struct variant variant;
    if (!job->variant) return 0;
    if (variant_parse(&variant, job->variant) < 0)
        return problem_set(problem, ERR_USAGE, job->variant, "is no variant, such as collective,cb_nodes=2");
    if (job->np && variant.np && job->np != variant.np)
        return problem_set(problem, ERR_USAGE, job->variant, "and --np %u differ", job->np);
    if (variant.np) job->np = variant.np;
    return 0;
}

static int scale(struct model *model, const struct replay_job *job) {
    if (job->variant) FORWARD(model_infer_communicators(model, job->program));
    return model_scale(model, job->program, job->np);
}

int replay_repeat(struct replay_settings settings, struct model *model, const char *name,
                  struct replay_outcome *outcome, struct problem *problem) {
    struct session session = {.settings = &settings, .model = model, .problem = problem};
    struct replay_job *job = &settings.job;
    *outcome = (struct replay_outcome){.program = replay_main_program(model)};
    FORWARD(replay_check_model(model, name, "replay", problem));
    uint32_t np = model->program[outcome->program].np;
    job->program = outcome->program;
    FORWARD(use_variant(job, problem));
    if (job->variant) settings.compare = false; // it differs
    if (!job->np) job->np = np;
    FORWARD(check_phases(model, job->program, job->phases, problem));
    int code = job->null ? 0 : check_space(model, settings.target, (double)job->np / np, problem);
    if (code < 0) return problem_code(problem, code, settings.target);
    code = session_start(&session); // the runner scales the model itself
    if (!code) code = scale(model, job);
    if (!code && (code = check_variant(model, job, job->np != np, problem)) < 0) settings.keep = false;
    if (!code) code = run_all(&session, job->np != np, outcome);
    if (settings.keep && session.workspace.folder) outcome->kept = strdup(session.workspace.folder);
    return session_end(&session, settings.keep, code);
}

void replay_outcome_free(struct replay_outcome *outcome) {
    for (size_t i = 0; i < outcome->runs; i++) free(outcome->run[i].phase);
    free(outcome->run);
    free(outcome->kept);
    *outcome = (struct replay_outcome){0};
}
