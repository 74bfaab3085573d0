#include "replay/replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_in.h"
#include "base/private_file.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "model/file/write.h"

enum { MANY_FILES = 65536 };

static const char folder_prefix[] = "ioseer-replay.";
static const char lock_name[] = "ioseer-replay-in-use"; // locked as long as the replay runs; nothing else is ours
static const char lock_text[] = "A replay's folder; the next one removes it if this one could not.\n";

bool replay_cache_is_known(const char *state)
{
    return !strcmp(state, "cold") || !strcmp(state, "warm") || !strcmp(state, "as-recorded");
}

uint32_t replay_main_program(const struct model *model)
{
    uint32_t best = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < model->phases; i++) {
        const struct model_family *family = &model->family[model->phase[i].family];
        uint64_t bytes = 0;
        for (size_t k = 0; k < model->phases; k++) {
            const struct model_family *other = &model->family[model->phase[k].family];
            if (other->program == family->program) bytes += other->weight + 1;
        }
        if (bytes > most) {
            most = bytes;
            best = family->program;
        }
    }
    return best;
}

int replay_check_model(const char *verb, const char *name, const struct model *model)
{
    if (model->phases) return STATUS_OK;
    fprintf(stderr, "ioseer %s: %s: it has no I/O to %s\n", verb, name, verb);
    return STATUS_FAILURE;
}

void replay_print_program(FILE *out, const struct model *model, uint32_t program, const char *done)
{
    const struct model_program *taken = &model->program[program];
    const char *name = taken->name ? taken->name : "one of them", *base = strrchr(name, '/');
    if (model->programs < 2) return;
    fprintf(out, "Of %s in the log, ", human_count(model->programs, "program").text);
    human_print_name(out, base ? base + 1 : name);
    if (taken->end - taken->first == 1)
        fprintf(out, " (phase %zu)", taken->end);
    else
        fprintf(out, " (phases %zu-%zu)", taken->first + 1, taken->end);
    fprintf(out, " moved the most bytes and is %s.\n\n", done);
}

// --- folders

// Whether the folder is a replay's whose ioseer is gone: it holds our lock file, and nobody the lock.
static bool is_stale(const char *folder)
{
    char path[PATH_MAX], text[sizeof lock_text] = "";
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", folder, lock_name) >= (int)sizeof path) return false;
    if (lstat(folder, &about) < 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool is_ours = read(fd, text, sizeof text) == sizeof lock_text - 1 && !strcmp(text, lock_text);
    bool stale = is_ours && flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return stale;
}

static void remove_stale(const char *target)
{
    DIR *directory = opendir(target);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[PATH_MAX];
        size_t length = sizeof folder_prefix - 1;
        if (strncmp(entry->d_name, folder_prefix, length) || strlen(entry->d_name) != length + 6) continue;
        if (snprintf(path, sizeof path, "%s/%s", target, entry->d_name) < (int)sizeof path && is_stale(path))
            replay_remove_tree(path);
    }
    if (directory) closedir(directory);
}

static int make_folder(const char *in, char **folder)
{
    RETURN_IF(asprintf(folder, "%s/%sXXXXXX", in, folder_prefix) < 0, -ENOMEM);
    if (!mkdtemp(*folder)) {
        int code = -errno;
        free(*folder);
        *folder = NULL;
        return code;
    }
    return 0;
}

// The file gets its name when it is locked: nobody finds it without the lock. It stays open as long as the folder is
// in use.
static int lock_folder(const char *folder, int *lock)
{
    char path[PATH_MAX], early[PATH_MAX];
    RETURN_IF(snprintf(path, sizeof path, "%s/%s", folder, lock_name) >= (int)sizeof path, -ENAMETOOLONG);
    RETURN_IF(snprintf(early, sizeof early, "%s/.%s", folder, lock_name) >= (int)sizeof early, -ENAMETOOLONG);
    int fd = open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    RETURN_IF(fd < 0, -errno);
    *lock = fd;
    RETURN_IF(flock(fd, LOCK_EX | LOCK_NB) < 0, -errno);
    RETURN_IF(write(fd, lock_text, sizeof lock_text - 1) != sizeof lock_text - 1, -ENOSPC);
    return rename(early, path) < 0 ? -errno : 0;
}

static int name_in(const char *folder, const char *name, char **path)
{
    return asprintf(path, "%s/%s", folder, name) < 0 ? -ENOMEM : 0;
}

static int copy_name(const char *name, char **path)
{
    *path = strdup(name);
    return *path ? 0 : -ENOMEM;
}

static int save_model(const char *path, const struct model *model)
{
    FILE *out = fopen(path, "we");
    RETURN_IF(!out, -errno);
    int code = model_write(model, out);
    if (fclose(out) && !code) code = -errno;
    return code;
}

static const struct replay_place no_place = {.folder_lock = -1, .work_lock = -1, .guard.end = -1};

int replay_place_make(struct replay_place *place, const struct replay_settings *settings, const struct model *model)
{
    const char *temporary = getenv("TMPDIR");
    char target[PATH_MAX];
    *place = no_place;
    RETURN_IF(!realpath(settings->target, target), -errno); // the runner may change its directory
    remove_stale(target);
    if (!temporary || !*temporary) temporary = "/tmp";
    remove_stale(temporary);
    FORWARD(make_folder(target, &place->folder));
    FORWARD(lock_folder(place->folder, &place->folder_lock));
    FORWARD(make_folder(temporary, &place->work));
    FORWARD(lock_folder(place->work, &place->work_lock));
    replay_guard_start(&place->guard, place->folder, place->work);
    FORWARD(name_in(place->work, "model.json", &place->model));
    FORWARD(name_in(place->work, "result.json", &place->result));
    FORWARD(settings->log ? copy_name(settings->log, &place->log) : name_in(place->work, "replay.ioseer", &place->log));
    FORWARD(name_in(place->work, "error", &place->error));
    FORWARD(name_in(place->work, "phase", &place->phase));
    return save_model(place->model, model);
}

// A folder that is kept is the user's: without its lock file no replay takes it for one that was left behind.
static void release_folder(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, lock_name) < (int)sizeof path) unlink(path);
}

void replay_place_remove(struct replay_place *place, bool keep_files)
{
    if (place->work) replay_end_processes(place->work);
    if (place->folder && keep_files) release_folder(place->folder);
    // Some network file systems keep the name of a file that is removed while it is open.
    if (place->folder_lock >= 0) close(place->folder_lock);
    if (place->work_lock >= 0) close(place->work_lock);
    if (place->folder && !keep_files) replay_remove_tree(place->folder);
    if (place->work) replay_remove_tree(place->work);
    replay_guard_dismiss(&place->guard);
    free(place->folder);
    free(place->work);
    free(place->model);
    free(place->result);
    free(place->log);
    free(place->error);
    free(place->phase);
    *place = no_place;
}

// The runner's files of the run before.
static void empty_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[PATH_MAX];
        if (*entry->d_name != '.' && strcmp(entry->d_name, lock_name) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path) {
            replay_remove_tree(path);
        }
    }
    if (directory) closedir(directory);
}

// --- the command

struct command {
    char *word[128];
    size_t count;
    char *memory[128]; // to be freed
    size_t owned;
};

static int add_word(struct command *command, const char *word)
{
    RETURN_IF(command->count + 2 > sizeof command->word / sizeof *command->word, ERR_LIMIT);
    char *copy = strdup(word);
    RETURN_IF(!copy, -ENOMEM);
    command->memory[command->owned++] = copy;
    command->word[command->count++] = copy;
    return 0;
}

// A launcher's words, with the number of processes in place of {np}.
static int add_launcher(struct command *command, const char *launcher, uint32_t np)
{
    char *text = strdup(launcher), *rest = NULL, number[16];
    RETURN_IF(!text, -ENOMEM);
    int code = 0;
    snprintf(number, sizeof number, "%u", np);
    for (char *word = strtok_r(text, " \t", &rest); word && !code; word = strtok_r(NULL, " \t", &rest)) {
        char *place = strstr(word, "{np}"), whole[512];
        if (place) snprintf(whole, sizeof whole, "%.*s%s%s", (int)(place - word), word, number, place + 4);
        code = add_word(command, place ? whole : word);
    }
    free(text);
    return code;
}

static bool names_open_mpi(const char *launcher)
{
    return strstr(launcher, "openmpi") || strstr(launcher, "ompi");
}

static bool is_open_mpi(const struct replay_settings *settings, const struct model *model)
{
    if (settings->launcher) return names_open_mpi(settings->launcher);
    return model->mpi && strstr(model->mpi, "Open MPI");
}

static bool is_installed(const char *program)
{
    const char *at = getenv("PATH");
    char path[PATH_MAX];
    while (at && *at) {
        size_t length = strcspn(at, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", (int)length, at, program) < (int)sizeof path &&
            !access(path, X_OK)) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

const char *replay_launcher_here(void)
{
    char path[PATH_MAX];
    if (is_installed("mpiexec.mpich") && !private_file_path("ioseer-replay-mpich", path))
        return "mpiexec.mpich -n {np}";
    if (is_installed("mpiexec.openmpi") && !private_file_path("ioseer-replay-openmpi", path))
        return "mpiexec.openmpi -n {np}";
    return NULL;
}

const char *replay_mpi_name(const char *launcher)
{
    return !launcher ? "" : names_open_mpi(launcher) ? "Open MPI" : "MPICH";
}

void replay_print_error(const char *verb, const char *path)
{
    char line[512], last[512] = "";
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) {
        if (strspn(line, " \t\n-=") < strlen(line)) memcpy(last, line, sizeof last);
        if (!strncmp(line, "ioseer replay: ", 15)) break;
    }
    if (in) fclose(in);
    last[strcspn(last, "\n")] = 0;
    const char *text = strncmp(last, "ioseer replay: ", 15) ? last : last + 15;
    fprintf(stderr, "ioseer %s: the runner failed: %s\n", verb, *text ? text : "it said nothing");
}

// Why there is no result, in the place where the runner itself would say it.
static void note_reason(const struct replay_place *place, const char *what, const char *why)
{
    FILE *out = fopen(place->error, "we");
    if (!out) return;
    fprintf(out, "ioseer replay: %s: %s\n", what, why);
    fclose(out);
}

static int add_runner(struct command *command, const struct replay_place *place, const struct replay_settings *settings,
                      const struct model *model, bool prepare)
{
    bool is_mpi = model->program[settings->program].is_mpi && !prepare, open_mpi = is_open_mpi(settings, model);
    char path[PATH_MAX], text[512];
    if (is_mpi) {
        const char *launcher = open_mpi ? "mpiexec.openmpi -n {np}" : "mpiexec.mpich -n {np}";
        FORWARD(add_launcher(command, settings->launcher ? settings->launcher : launcher, settings->np));
    }
    const char *runner = !is_mpi ? "ioseer-replay-serial" : open_mpi ? "ioseer-replay-openmpi" : "ioseer-replay-mpich";
    if (private_file_path(runner, path) < 0) {
        note_reason(place, runner, "is missing; it is made with ioseer, where that MPI is installed");
        return ERR_NOTHING;
    }
    FORWARD(add_word(command, path));
    FORWARD(add_word(command, place->model));
    FORWARD(add_word(command, place->folder));
    FORWARD(add_word(command, place->result));
    snprintf(text, sizeof text, "%u", settings->program);
    FORWARD(add_word(command, text));
    snprintf(text, sizeof text, "%u", settings->np);
    FORWARD(add_word(command, text));
    if (prepare) FORWARD(add_word(command, "prepare"));
    if (settings->verify) FORWARD(add_word(command, "verify"));
    if (settings->think) FORWARD(add_word(command, "think"));
    if (settings->latency) FORWARD(add_word(command, "latency"));
    if (settings->drop) FORWARD(add_word(command, "drop"));
    if (settings->durable) FORWARD(add_word(command, "durable"));
    if (settings->probe) FORWARD(add_word(command, "probe"));
    snprintf(text, sizeof text, "cache=%s", settings->cache);
    FORWARD(add_word(command, text));
    if (settings->null) {
        snprintf(text, sizeof text, "null=%s", settings->null);
        FORWARD(add_word(command, text));
    }
    snprintf(text, sizeof text, "progress=%s", place->phase);
    if (place->progress && !prepare) FORWARD(add_word(command, text));
    if (settings->phases) {
        snprintf(text, sizeof text, "phases=%s", settings->phases);
        FORWARD(add_word(command, text));
    }
    return 0;
}

static int add_recording(struct command *command, const struct replay_place *place)
{
    char program[PATH_MAX], pattern[PATH_MAX + 2];
    FORWARD(private_file_program(program));
    snprintf(pattern, sizeof pattern, "%s/*", place->work);
    const char *const words[] = {program, "record", "-q", "--force", "-o", place->log, "--exclude", pattern, "--"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) FORWARD(add_word(command, words[i]));
    return 0;
}

// --- running it

// A shell closes a file by giving its number to another one, which the model does not tell: the replay's stay open.
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MANY_FILES) return;
    limit.rlim_cur = limit.rlim_max < MANY_FILES ? limit.rlim_max : MANY_FILES;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Open MPI wants to be told that root may, and that there may be more processes than cores.
static void become(const struct replay_place *place, struct command *command)
{
    setpgid(0, 0);
    allow_many_files();
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("TMPDIR", place->work, 1); // what a launcher that is killed leaves there goes with it
    int null = open("/dev/null", O_RDWR), error = open(place->error, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, 0);
    dup2(null, 1);
    dup2(error, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(command->word[0], command->word);
    dprintf(2, "%s: %s\n", command->word[0], strerror(errno));
    _exit(127);
}

// Waits for the child; a signal to us ends it. Returns its status as waitpid gives it, or -EINTR.
static int wait_for(struct replay_place *place, pid_t child, const sigset_t *caught)
{
    static const struct timespec often = {.tv_nsec = 200000000};
    int status;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        int signal = sigtimedwait(caught, NULL, &often);
        if (place->progress) place->progress(place);
        if (signal == SIGCHLD || signal < 0) continue;
        kill(-child, SIGTERM);
        replay_end_processes(place->work);
        kill(-child, SIGKILL);
        waitpid(child, &status, 0);
        place->signal = signal;
        return -EINTR;
    }
}

static int run_command(struct replay_place *place, struct command *command)
{
    sigset_t caught, before;
    sigemptyset(&caught);
    sigaddset(&caught, SIGCHLD);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &caught, &before);
    pid_t child = fork();
    if (!child) become(place, command);
    int status = child < 0 ? -errno : wait_for(place, child, &caught);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int read_result(const char *path, const struct model *model, struct replay_result *result)
{
    struct json_in json;
    struct json_in_error error;
    FORWARD(json_in_read(&json, path, &error));
    int code = 0;
    const struct json_value *phases = json_in_member(json.root, "phases");
    for (size_t i = 0; phases && i < json_in_length(phases) && !code; i++) {
        const struct json_value *phase = json_in_at(phases, i);
        uint64_t id = 0;
        code = json_in_uint64(json_in_member(phase, "id"), &id);
        if (code || !id || id > model->phases) continue;
        struct replay_phase *to = &result->phase[id - 1];
        code = json_in_double(json_in_member(phase, "time"), &to->time);
        if (!code) code = json_in_double(json_in_member(phase, "others"), &to->others);
        json_in_double(json_in_member(phase, "latency_p50"), &to->latency_p50);
        json_in_double(json_in_member(phase, "latency_p99"), &to->latency_p99);
        result->total += to->time;
    }
    if (!code) code = json_in_uint64(json_in_member(json.root, "wrong_bytes"), &result->wrong_bytes);
    if (!code) code = json_in_uint64(json_in_member(json.root, "failed"), &result->failed);
    if (!code) code = json_in_uint64(json_in_member(json.root, "skipped"), &result->skipped);
    const char *failure;
    if (json_in_text(json_in_member(json.root, "first_failure"), &failure, NULL) == 0)
        snprintf(result->first_failure, sizeof result->first_failure, "%s", failure);
    if (json_in_text(json_in_member(json.root, "first_skipped"), &failure, NULL) == 0)
        snprintf(result->first_skipped, sizeof result->first_skipped, "%s", failure);
    json_in_free(&json);
    return code;
}

// ERR_NOTHING where the runner failed: place->error says why.
static int start(struct replay_place *place, const struct replay_settings *settings, const struct model *model,
                 bool recorded, bool prepare)
{
    struct command command = {0};
    int code = recorded ? add_recording(&command, place) : 0;
    if (!code) code = add_runner(&command, place, settings, model, prepare);
    int status = code ? code : run_command(place, &command);
    for (size_t i = 0; i < command.owned; i++) free(command.memory[i]);
    if (status < 0) return status;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return 0;
    replay_end_processes(place->work); // a launcher that was killed may leave ranks behind
    if (WIFSIGNALED(status)) note_reason(place, "ended by a signal", strsignal(WTERMSIG(status)));
    return ERR_NOTHING;
}

int replay_run(struct replay_place *place, const struct replay_settings *settings, const struct model *model,
               bool recorded, struct replay_result *result)
{
    *result = (struct replay_result){.phase = calloc(model->phases + 1, sizeof *result->phase)};
    RETURN_IF(!result->phase, -ENOMEM);
    empty_folder(place->folder);
    unlink(place->result);
    if (!settings->null) FORWARD(start(place, settings, model, false, true));
    FORWARD(start(place, settings, model, recorded, false));
    return settings->probe ? 0 : read_result(place->result, model, result);
}
