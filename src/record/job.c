#include "record/job.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/glob.h"
#include "base/private_file.h"
#include "base/settings.h"

// Variables that change what a program's I/O looks like, or name its batch job: that they are set is stored. Values may
// be private, and are stored only where the user asks for them.
static const char *const stored_names[] = {
    "ROMIO_*",       "OMPI_MCA_io*", "OMPI_MCA_fs*", "OMPI_MCA_fbtl*", "OMPI_MCA_fcoll*", "OMPI_MCA_sharedfp*",
    "MPICH_MPIIO_*", "HDF5_*",       "PNETCDF_*",    "SLURM_JOB_ID",   "PBS_JOBID",       "LSB_JOBID",
    "FLUX_JOB_ID",
};

static const char *const batch_names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"};

enum { STORED_NAMES = sizeof stored_names / sizeof stored_names[0], OWN_VARIABLES = 8 };

static int complain(char problem[512], const char *what, int code)
{
    snprintf(problem, 512, "%s: %s", what, err_text(code));
    return code;
}

static int find_library(char library[PATH_MAX], char problem[512])
{
    int code = private_file_path("libioseer.so", library);
    RETURN_IF(code < 0, complain(problem, "libioseer.so", code));
    if (!strpbrk(library, ": ")) return 0;
    snprintf(problem, 512, "libioseer.so: LD_PRELOAD takes no path with a space or colon");
    return ERR_USAGE;
}

// Beside the log, or where the user wants it; always an absolute name, because the command may change directory.
static int name_spill_dir(const char *log_path, const char *suffix, char **name, char problem[512])
{
    char *copies[2] = {strdup(log_path), strdup(log_path)};
    char folder[PATH_MAX];
    int code = copies[0] && copies[1] ? 0 : -ENOMEM;
    const char *chosen = getenv(SETTING_SPILL);
    const char *log_folder = code ? "." : dirname(copies[0]);
    if (code == 0 && euidaccess(log_folder, W_OK | X_OK)) code = complain(problem, log_folder, -errno);
    bool is_chosen = chosen && *chosen;
    const char *parent = is_chosen ? chosen : log_folder;
    if (code == 0 && !realpath(parent, folder)) code = complain(problem, parent, -errno);
    if (code == 0 && asprintf(name, "%s/%s.spill-%s", folder, is_chosen ? "ioseer" : basename(copies[1]), suffix) < 0) {
        code = -ENOMEM;
    }
    free(copies[0]);
    free(copies[1]);
    return code;
}

// The ranks of one launch share a directory, so its name follows from the launch.
static int make_spill_dir(const char *log_path, const struct record_ranks *ranks, char **spill_dir, char problem[512])
{
    char *name = NULL;
    bool shared = record_ranks_several(ranks);
    FORWARD(name_spill_dir(log_path, shared ? ranks->launch : "XXXXXX", &name, problem));
    bool made = shared ? mkdir(name, 0700) == 0 || errno == EEXIST : mkdtemp(name) != NULL;
    if (!made) {
        int code = complain(problem, name, -errno);
        free(name);
        return code;
    }
    // Root's programs may become other users, whose processes must be able to make their files too.
    if (geteuid() == 0 && chmod(name, 01733)) {
        int code = complain(problem, name, -errno);
        rmdir(name);
        free(name);
        return code;
    }
    *spill_dir = name;
    return 0;
}

static bool is_own_variable(const char *variable)
{
    static const char *const names[] = {SETTING_JOB,     SETTING_LIBRARY, SETTING_TRACE_CAP, SETTING_FILE_CAP,
                                        SETTING_INCLUDE, SETTING_EXCLUDE, SETTING_CALLSITES, "LD_PRELOAD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i]);
        if (!strncmp(variable, names[i], len) && variable[len] == '=') return true;
    }
    return false;
}

static int add_variable(struct record_job *job, const char *name, const char *value)
{
    char *variable;
    RETURN_IF(asprintf(&variable, "%s=%s", name, value) < 0, -ENOMEM);
    job->environment[job->variables++] = variable;
    return 0;
}

static int add_number(struct record_job *job, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return add_variable(job, name, text);
}

static int add_patterns(struct record_job *job, const char *name, const struct option_list *patterns)
{
    if (patterns->count == 0) return 0;
    size_t len = 1;
    for (size_t i = 0; i < patterns->count; i++) len += strlen(patterns->item[i]) + 1;
    char *lines = calloc(1, len);
    RETURN_IF(!lines, -ENOMEM);
    char *at = lines;
    for (size_t i = 0; i < patterns->count; i++) {
        if (i) at = stpcpy(at, "\n");
        at = stpcpy(at, patterns->item[i]);
    }
    int code = add_variable(job, name, lines);
    free(lines);
    return code;
}

// Ours comes first; what the user preloads stays.
static int add_preload(struct record_job *job, const char *library)
{
    const char *theirs = getenv("LD_PRELOAD");
    if (!theirs || !*theirs || !strcmp(theirs, library)) return add_variable(job, "LD_PRELOAD", library);
    size_t len = strlen(library);
    if (!strncmp(theirs, library, len) && strchr(": ", theirs[len])) return add_variable(job, "LD_PRELOAD", theirs);
    char *both;
    RETURN_IF(asprintf(&both, "%s:%s", library, theirs) < 0, -ENOMEM);
    int code = add_variable(job, "LD_PRELOAD", both);
    free(both);
    return code;
}

static int make_environment(struct record_job *job, const struct record_options *options, const char *library)
{
    size_t count = 0;
    while (environ[count]) count++;
    job->environment = calloc(count + OWN_VARIABLES + 1, sizeof *job->environment);
    RETURN_IF(!job->environment, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        if (is_own_variable(environ[i])) continue;
        char *copy = strdup(environ[i]);
        RETURN_IF(!copy, -ENOMEM);
        job->environment[job->variables++] = copy;
    }
    FORWARD(add_variable(job, SETTING_JOB, job->spill_dir));
    FORWARD(add_variable(job, SETTING_LIBRARY, library));
    FORWARD(add_number(job, SETTING_TRACE_CAP, options->no_trace ? 0 : options->trace_cap_bytes));
    FORWARD(add_number(job, SETTING_FILE_CAP, options->file_cap));
    FORWARD(add_patterns(job, SETTING_INCLUDE, &options->include));
    FORWARD(add_patterns(job, SETTING_EXCLUDE, &options->exclude));
    if (options->callsites) FORWARD(add_variable(job, SETTING_CALLSITES, "1"));
    return add_preload(job, library);
}

static bool matters(const char *name)
{
    for (size_t i = 0; i < STORED_NAMES; i++) {
        if (glob_match(stored_names[i], name)) return true;
    }
    return false;
}

static bool is_asked_for(const char *name, const struct option_list *asked)
{
    for (size_t i = 0; i < asked->count; i++) {
        if (!strcmp(asked->item[i], name)) return true;
    }
    return false;
}

// The names and values stay where they are, in our own environment's text.
static int find_settings(struct record_job *job, const struct option_list *asked)
{
    size_t count = 0;
    while (environ[count]) count++;
    job->settings = calloc(count + 1, sizeof *job->settings);
    RETURN_IF(!job->settings, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(environ[i], '=');
        if (!equals) continue;
        char *name = strndup(environ[i], (size_t)(equals - environ[i]));
        RETURN_IF(!name, -ENOMEM);
        bool with_value = is_asked_for(name, asked);
        if (with_value || matters(name)) {
            const char *value = with_value ? equals + 1 : NULL;
            job->settings[job->about.setting_count++] = (struct pack_setting){.name = name, .value = value};
        } else {
            free(name);
        }
    }
    return 0;
}

static void describe(struct record_job *job, char **command)
{
    struct pack_job *about = &job->about;
    gethostname(job->host, sizeof job->host - 1);
    about->host = job->host;
    if (getcwd(job->cwd, sizeof job->cwd)) about->cwd = job->cwd;
    about->command = (const char *const *)command;
    while (command[about->command_words]) about->command_words++;
    about->uid = getuid();
    about->settings = job->settings;
    for (size_t i = 0; i < sizeof batch_names / sizeof batch_names[0] && !about->batch_id; i++) {
        about->batch_id = getenv(batch_names[i]);
    }
    about->start.epoch_ns = clock_ns(CLOCK_REALTIME);
}

int record_job_prepare(struct record_job *job, const struct record_options *options, const char *log_path,
                       char **command, char problem[512])
{
    *job = (struct record_job){0};
    char library[PATH_MAX];
    snprintf(problem, 512, "%s", err_text(-ENOMEM));
    int code = find_library(library, problem);
    job->ranks = record_ranks_find();
    if (code == 0) code = make_spill_dir(log_path, &job->ranks, &job->spill_dir, problem);
    if (code == 0 && record_ranks_several(&job->ranks)) code = record_ranks_arrive(&job->ranks, job->spill_dir);
    if (code == 0) code = make_environment(job, options, library);
    if (code == 0) code = find_settings(job, &options->env);
    if (code == 0) {
        describe(job, command);
        code = pack_save_job(&job->about, job->spill_dir);
        if (code == -EEXIST && record_ranks_several(&job->ranks)) code = 0; // another rank was first
        if (code < 0) complain(problem, job->spill_dir, code);
    }
    if (code < 0) {
        if (job->spill_dir && !record_ranks_several(&job->ranks)) pack_remove_directory(job->spill_dir);
        record_job_free(job);
    }
    return code;
}

void record_job_free(struct record_job *job)
{
    for (size_t i = 0; i < job->variables; i++) free(job->environment[i]);
    for (size_t i = 0; i < job->about.setting_count; i++) free((char *)job->settings[i].name);
    free(job->environment);
    free(job->settings);
    free(job->spill_dir);
    *job = (struct record_job){0};
}
