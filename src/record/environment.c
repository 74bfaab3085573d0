#include "record/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/follower.h"
#include "base/glob.h"
#include "base/locate.h"
#include "base/preload.h"
#include "base/program_file.h"
#include "base/settings.h"
#include "fmt/call.h"

static const char *const batch_names[] = {SETTINGS_BATCH_NAMES, NULL};
static const char *const stored_names[] = {SETTINGS_STORED_NAMES, NULL};

static int find_library(char library[PATH_MAX], struct problem *problem) {
    int code = locate_private_file("libioseer.so", library);
    if (code < 0) return problem_code(problem, code, "libioseer.so");
    if (!strpbrk(library, ": ")) return 0;
    return problem_set(problem, ERR_USAGE, "libioseer.so", "LD_PRELOAD takes no path with a space or colon");
}

// Beside the log, or where the user wants it. The name is absolute, because the command may change directory.
static int name_spill_dir(const char *log_path, const char *suffix, char **name, struct problem *problem) {
    char log_folder[PATH_MAX], log_name[PATH_MAX], parent[PATH_MAX];
    const char *chosen = getenv(SETTING_SPILL);
    bool is_chosen = chosen && *chosen;
    RETURN_IF(strlen(log_path) >= PATH_MAX, problem_code(problem, -ENAMETOOLONG, log_path));
    const char *folder = dirname(strcpy(log_folder, log_path));
    const char *base = is_chosen ? "ioseer" : basename(strcpy(log_name, log_path));
    if (euidaccess(folder, W_OK | X_OK)) return problem_code(problem, -errno, folder);
    if (is_chosen) folder = chosen;
    if (!realpath(folder, parent)) return problem_code(problem, -errno, folder);
    return asprintf(name, "%s/%s.spill-%s", parent, base, suffix) < 0 ? -ENOMEM : 0;
}

// The ranks of one launch share a directory, so its name comes from the launch.
static int make_spill_dir(struct record_job *job, struct problem *problem) {
    char *name = NULL;
    bool shared = record_ranks_several(&job->ranks);
    FORWARD(name_spill_dir(job->options->log_path, shared ? job->ranks.launch : "XXXXXX", &name, problem));
    bool made = shared ? mkdir(name, 0700) == 0 || errno == EEXIST : mkdtemp(name) != NULL;
    int code = made ? 0 : problem_code(problem, -errno, name);
    // Root's programs may become other users, whose processes must be able to make their files too.
    if (made && geteuid() == 0 && chmod(name, 01733)) {
        code = problem_code(problem, -errno, name);
        rmdir(name);
    }
    if (code == 0) job->spill_dir = name;
    if (code < 0) free(name);
    return code;
}

static bool is_own_variable(const char *variable) {
    static const char *const names[] = {
        SETTING_JOB,           SETTING_LIBRARY,       SETTING_TRACE_CAP,       SETTING_FILE_CAP,
        SETTING_INCLUDE,       SETTING_EXCLUDE,       SETTING_CALLSITES,       SETTING_FOLLOWER,
        SETTING_FOLLOW_ALL,    SETTING_SPILL_VERSION, SETTING_UNWANTED_LAYERS, SETTING_UNWANTED_CLASSES,
        SETTING_JOB_ROOT,      SETTING_JOB_KEY,       SETTING_JOB_START,       SETTING_TRACE_FILE,
        SETTING_TRACE_PROGRAM, SETTING_TRACE_RANK,    SETTING_TRACE_SMALLER,   SETTING_TRACE_SLOWER,
        SETTING_TRACE_FROM,    SETTING_TRACE_FOR,     SETTING_TRACE_SAMPLE,    SETTING_JOB_COUNTER,
        "LD_PRELOAD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if (!strncmp(variable, names[i], len) && variable[len] == '=') return true;
    }
    return false;
}

static int add_patterns(struct text_list *environment, const char *name, const struct option_list *patterns) {
    if (patterns->count == 0) return 0;
    char *variable = strdup(name);
    for (size_t i = 0; i < patterns->count && variable; i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%c%s", variable, i ? '\n' : '=', patterns->item[i]) < 0) longer = NULL;
        free(variable);
        variable = longer;
    }
    return text_list_take(environment, variable);
}

static int add_seconds(struct text_list *environment, const char *name, double seconds) {
    return seconds > 0 ? text_list_add(environment, "%s=%.9f", name, seconds) : 0;
}

static int add_triggers(struct text_list *list, const struct record_triggers *triggers) {
    FORWARD(text_list_add(list, SETTING_JOB_START "=%" PRIu64, clock_ns(CLOCK_REALTIME)));
    FORWARD(add_patterns(list, SETTING_TRACE_FILE, &triggers->files));
    FORWARD(add_patterns(list, SETTING_TRACE_PROGRAM, &triggers->programs));
    if (triggers->ranks) FORWARD(text_list_add(list, SETTING_TRACE_RANK "=%s", triggers->ranks));
    if (triggers->smaller_bytes)
        FORWARD(text_list_add(list, SETTING_TRACE_SMALLER "=%" PRIu64, triggers->smaller_bytes));
    FORWARD(add_seconds(list, SETTING_TRACE_SLOWER, triggers->slower_seconds));
    FORWARD(add_seconds(list, SETTING_TRACE_FROM, triggers->from_seconds));
    return add_seconds(list, SETTING_TRACE_FOR, triggers->for_seconds);
}

// What the user preloads stays in front.
static int add_preload(struct text_list *environment, const char *library, const char *command) {
    const char *theirs = getenv("LD_PRELOAD");
    char path[PATH_MAX], runtime[PRELOAD_NAME_ROOM] = "";
    if (!theirs) theirs = "";
    if (preload_find(command, getenv("PATH"), path, sizeof path)) preload_runtime(path, runtime);
    char *list = malloc(strlen(theirs) + strlen(runtime) + strlen(library) + 3);
    RETURN_IF(!list, -ENOMEM);
    preload_join(list, theirs, runtime, library);
    int code = text_list_add(environment, "LD_PRELOAD=%s", list);
    free(list);
    return code;
}

// Programs that the library cannot be loaded into start through ioseer-follow.
static int add_follower(struct record_job *job) {
    const struct record_options *options = job->options;
    bool found = !options->no_ptrace && locate_private_file(FOLLOWER_NAME, job->follower) == 0;
    if (!found) strcpy(job->follower, options->no_ptrace ? "-" UNFOLLOWED_UNWANTED : "-" UNFOLLOWED_MISSING);
    job->follows_all = found && options->ptrace;
    FORWARD(text_list_add(&job->environment, SETTING_FOLLOWER "=%s", job->follower));
    return job->follows_all ? text_list_add(&job->environment, SETTING_FOLLOW_ALL "=1") : 0;
}

// The bits of all names that are not in the list.
static unsigned others_than(const char *list, int (*find)(const char *name), unsigned count) {
    unsigned wanted = 0;
    char name[32];
    for (const char *at = list; list && *at;) {
        size_t len = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        int found = find(name);
        if (found > 0) wanted |= 1u << found;
        at += len + (at[len] == ',');
    }
    return list ? ((1u << count) - 1) & ~wanted & ~1u : 0;
}

static int add_wanted(struct record_job *job) {
    const char *layers = job->options->layers, *classes = job->options->classes;
    if (!layers && !classes) return 0;
    FORWARD(text_list_add(&job->environment, SETTING_UNWANTED_LAYERS "=%u",
                          others_than(layers, call_layer_find, LAYER_COUNT)));
    FORWARD(text_list_add(&job->environment, SETTING_UNWANTED_CLASSES "=%u",
                          others_than(classes, call_class_find, CLASS_COUNT)));
    int len = asprintf(&job->only, "%s%s%s%s%s", layers ? "layers " : "", layers ? layers : "",
                       layers && classes ? "; " : "", classes ? "classes " : "", classes ? classes : "");
    if (len < 0) job->only = NULL;
    job->about.only = job->only;
    return len < 0 ? -ENOMEM : 0;
}

static int make_environment(struct record_job *job, const char *library) {
    const struct record_options *options = job->options;
    struct text_list *list = &job->environment;
    for (char **variable = environ; *variable; variable++) {
        if (!is_own_variable(*variable)) FORWARD(text_list_add(list, "%s", *variable));
    }
    FORWARD(text_list_add(list, SETTING_JOB "=%s", job->spill_dir));
    FORWARD(text_list_add(list, SETTING_LIBRARY "=%s", library));
    FORWARD(text_list_add(list, SETTING_SPILL_VERSION "=%d", SPILL_VERSION));
    FORWARD(text_list_add(list, SETTING_TRACE_CAP "=%" PRIu64, options->no_trace ? 0 : options->trace_cap_bytes));
    FORWARD(text_list_add(list, SETTING_FILE_CAP "=%" PRIu64, options->file_cap));
    FORWARD(add_triggers(list, &options->triggers));
    FORWARD(add_patterns(list, SETTING_INCLUDE, &options->include));
    FORWARD(add_patterns(list, SETTING_EXCLUDE, &options->exclude));
    if (options->callsites) FORWARD(text_list_add(list, SETTING_CALLSITES "=1"));
    FORWARD(add_wanted(job));
    FORWARD(add_follower(job));
    if (!job->follows_all) FORWARD(add_preload(list, library, job->plan.command[0]));
    FORWARD(array_room(list->text, list->count));
    list->text[list->count] = NULL;
    job->plan.environment = list->text;
    return 0;
}

// As the recorder does for programs that run unseen.
static int mark_unfollowed(const struct record_job *job, const char *why) {
    return symlink(why, job->mark) && errno != EEXIST ? -errno : 0;
}

// As the recorder decides about the programs that the command starts (rec/exec_exit_wait.c).
static int plan_follower(struct record_job *job) {
    struct record_plan *plan = &job->plan;
    struct program_file file;
    bool found = locate_program(plan->command[0], job->program) && program_file_look_through(&file, job->program) == 0;
    if (!found) return 0;
    RETURN_IF(asprintf(&job->mark, "%s/command" SPILL_UNFOLLOWED_SUFFIX, job->spill_dir) < 0, -ENOMEM);
    job->is_outdated = file.kind == PROGRAM_STATIC && file.is_outdated;
    if (program_file_gains_rights(job->program) && geteuid()) return mark_unfollowed(job, UNFOLLOWED_RIGHTS);
    bool is_reached = file.kind != PROGRAM_STATIC && !program_file_gains_rights(job->program);
    if (is_reached && !job->follows_all) return 0;
    if (job->follower[0] == '-') return mark_unfollowed(job, job->follower + 1);
    job->words = malloc(follower_room(plan->command, plan->environment) * sizeof *job->words);
    RETURN_IF(!job->words, -ENOMEM);
    follower_fill(job->words, &job->word_count, job->follower, job->program, plan->command, plan->environment);
    plan->follower = job->words;
    plan->mark = job->mark;
    return 0;
}

// What is run is ioseer-follow, and what the log describes is the first process.
static int plan_join(struct record_job *job, struct problem *problem) {
    const struct record_options *options = job->options;
    if (!job->follows_all) return problem_set(problem, ERR_NOTHING, FOLLOWER_NAME, "is missing; install ioseer again");
    FORWARD(text_list_add(&job->joins, "%s", job->follower));
    FORWARD(text_list_add(&job->joins, FOLLOWER_JOINS));
    FORWARD(text_list_add(&job->joins, "%.6f", options->for_seconds));
    for (size_t i = 0; i < options->pids.count; i++) FORWARD(text_list_add(&job->joins, "%s", options->pids.item[i]));
    FORWARD(array_room(job->joins.text, job->joins.count));
    job->joins.text[job->joins.count] = NULL;
    job->plan.command = job->joins.text;
    job->about.joins = true;
    return 0;
}

static bool is_one_of(const char *name, const char *const *patterns) {
    while (*patterns && !glob_match(*patterns, name)) patterns++;
    return *patterns;
}

static bool is_asked_for(const char *name, const struct option_list *asked) {
    for (size_t i = 0; i < asked->count; i++) {
        if (!strcmp(asked->item[i], name)) return true;
    }
    return false;
}

// The values themselves stay in our own environment.
static int list_settings(struct record_job *job) {
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        if (!equals) continue;
        FORWARD(text_list_add(&job->names, "%.*s", (int)(equals - *variable), *variable));
        const char *name = job->names.text[job->names.count - 1];
        bool with_value = is_asked_for(name, &job->options->env);
        if (!with_value && !is_one_of(name, stored_names) && !is_one_of(name, batch_names)) continue;
        struct pack_setting setting = {.name = name, .value = with_value ? equals + 1 : NULL};
        FORWARD(array_push(job->settings, job->about.setting_count, setting));
    }
    return 0;
}

static bool find_folder(struct record_job *job) {
    char path[64];
    if (!job->options->pids.count) return getcwd(job->cwd, sizeof job->cwd);
    snprintf(path, sizeof path, "/proc/%.20s/cwd", job->options->pids.item[0]);
    return readlink(path, job->cwd, sizeof job->cwd - 1) > 0;
}

static int describe_job(struct record_job *job, struct problem *problem) {
    struct pack_job *about = &job->about;
    gethostname(job->host, sizeof job->host - 1);
    about->host = job->host;
    if (find_folder(job)) about->cwd = job->cwd;
    about->command = (const char *const *)job->plan.command;
    while (about->command[about->command_words]) about->command_words++;
    about->uid = getuid();
    if (!job->options->pids.count) { // the variables of a process that runs already are its own
        FORWARD(list_settings(job));
        about->settings = job->settings;
        for (size_t i = 0; batch_names[i] && !about->batch_id; i++) about->batch_id = getenv(batch_names[i]);
    }
    about->start.epoch_ns = clock_ns(CLOCK_REALTIME);
    int code = pack_save_job(about, job->spill_dir);
    if (code == -EEXIST && record_ranks_several(&job->ranks)) return 0; // another rank was first
    return code < 0 ? problem_code(problem, code, job->spill_dir) : 0;
}

static int prepare(struct record_job *job, struct problem *problem) {
    char library[PATH_MAX];
    FORWARD(find_library(library, problem));
    bool joins = job->options->pids.count;
    if (!joins) job->ranks = record_ranks_find();
    FORWARD(make_spill_dir(job, problem));
    if (record_ranks_several(&job->ranks)) FORWARD(record_ranks_arrive(&job->ranks, job->spill_dir));
    FORWARD(make_environment(job, library));
    if (!joins) FORWARD(plan_follower(job));
    FORWARD(describe_job(job, problem));
    return joins ? plan_join(job, problem) : 0;
}

int record_job_prepare(struct record_job *job, const struct record_options *options, char **command,
                       struct problem *problem) {
    const struct record_plan unrecorded = {.command = command,
                                           .environment = environ,
                                           .group = options->group,
                                           .file_limit = signal(SIGXFSZ, SIG_IGN),
                                           .still_runs = options->still_runs};
    *job = (struct record_job){.options = options, .plan = unrecorded};
    job->plan.wait_seconds = options->wait_seconds;
    int code = prepare(job, problem);
    if (code == 0) return 0;
    if (job->spill_dir && !record_ranks_several(&job->ranks)) pack_remove_directory(job->spill_dir);
    record_job_free(job);
    *job = (struct record_job){.options = options, .plan = unrecorded};
    return problem_code(problem, code, NULL);
}

void record_job_free(struct record_job *job) {
    text_list_free(&job->environment);
    text_list_free(&job->names);
    text_list_free(&job->joins);
    free(job->settings);
    free(job->words);
    free(job->mark);
    free(job->only);
    free(job->spill_dir);
    *job = (struct record_job){0};
}
