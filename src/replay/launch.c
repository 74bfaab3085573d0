#include "replay/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/locate.h"
#include "base/process.h"
#include "base/text_list.h"
#include "replay/stall.h"

enum { MANY_FILES = 65536 };

static const char mpich_launcher[] = "mpiexec.mpich -n {np}", open_mpi_launcher[] = "mpiexec.openmpi -n {np}";
static const char message_prefix[] = "ioseer replay: "; // of the runner's messages on standard error

// --- which runner

const char *launch_default_launcher(void) {
    char path[PATH_MAX];
    if (locate_program("mpiexec.mpich", path) && !locate_private_file("ioseer-replay-mpich", path))
        return mpich_launcher;
    if (locate_program("mpiexec.openmpi", path) && !locate_private_file("ioseer-replay-openmpi", path))
        return open_mpi_launcher;
    return NULL;
}

static bool is_open_mpi(const char *launcher) { return strstr(launcher, "openmpi") || strstr(launcher, "ompi"); }

const char *launch_mpi_name(const char *launcher) {
    return !launcher ? "" : is_open_mpi(launcher) ? "Open MPI" : "MPICH";
}

// --- the command

// The words of a launcher, with the number of processes in place of {np}.
static int add_launcher(struct text_list *command, const char *launcher, uint32_t np) {
    char *text = strdup(launcher), *rest = NULL;
    RETURN_IF(!text, -ENOMEM);
    int code = 0;
    for (char *word = strtok_r(text, " \t", &rest); word && !code; word = strtok_r(NULL, " \t", &rest)) {
        const char *place = strstr(word, "{np}");
        code = place ? text_list_add(command, "%.*s%u%s", (int)(place - word), word, np, place + 4)
                     : text_list_add(command, "%s", word);
    }
    free(text);
    return code;
}

static int add_recording(struct text_list *command, const struct workspace *workspace) {
    char program[PATH_MAX];
    FORWARD(locate_ioseer(program));
    const char *const words[] = {program, "record", "-q", "--force", "-o", workspace->file[WORKSPACE_LOG], "--exclude"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) FORWARD(text_list_add(command, "%s", words[i]));
    FORWARD(text_list_add(command, "%s/*", workspace->work));
    return text_list_add(command, "--");
}

static int make_command(struct text_list *command, const struct launch *launch, const struct replay_job *job,
                        struct problem *problem) {
    const struct model *model = launch->model;
    const char *launcher = launch->launcher, *runner = "ioseer-replay-serial";
    char path[PATH_MAX];
    if (launch->recorded) FORWARD(add_recording(command, launch->workspace));
    if (model->program[job->program].is_mpi && job->task != TASK_PREPARE) {
        if (!launcher) launcher = model->mpi && strstr(model->mpi, "Open MPI") ? open_mpi_launcher : mpich_launcher;
        runner = is_open_mpi(launcher) ? "ioseer-replay-openmpi" : "ioseer-replay-mpich";
        FORWARD(add_launcher(command, launcher, job->np));
    }
    if (locate_private_file(runner, path) < 0)
        return problem_set(problem, ERR_NOTHING, "the runner failed",
                           "%s: is missing; install ioseer-mpi, or build ioseer where that MPI is installed", runner);
    FORWARD(text_list_add(command, "%s", path));
    // The folder in the command line identifies the processes of the replay when they must be ended.
    return text_list_add(command, "%s", launch->workspace->file[WORKSPACE_JOB]);
}

// --- running it

// A shell closes a file when it gives its number to another one. The model does not show that, so the replay keeps such
// files open.
static void allow_many_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= MANY_FILES) return;
    limit.rlim_cur = limit.rlim_max < MANY_FILES ? limit.rlim_max : MANY_FILES;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// In the child: executes the command. Open MPI needs permission to run as root, and to start more processes than cores.
static void become(const struct launch *launch, char **command) {
    const struct workspace *workspace = launch->workspace;
    setpgid(0, 0);
    allow_many_files();
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("TMPDIR", workspace->work, 1); // files that a killed launcher leaves there go with the folder
    int null = open("/dev/null", O_RDWR);
    int error = open(workspace->file[WORKSPACE_ERROR], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, 0);
    dup2(null, 1);
    dup2(error, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int outside = process_enter_group(launch->group);
    if (!outside) execvp(command[0], command);
    dprintf(2, "%s: %s\n", outside ? launch->group : command[0], outside ? err_text(outside) : strerror(errno));
    _exit(127);
}

static void end_child(const struct launch *launch, pid_t child) {
    kill(-child, SIGTERM);
    workspace_end_processes(launch->workspace);
    kill(-child, SIGKILL);
    waitpid(child, NULL, 0);
}

static sigset_t caught_signals(void) {
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t caught;
    sigemptyset(&caught);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&caught, signals[i]);
    return caught;
}

void launch_hold_signals(sigset_t *before) {
    sigset_t caught = caught_signals();
    sigprocmask(SIG_BLOCK, &caught, before);
}

int launch_release_signals(const sigset_t *before) {
    sigset_t ending = caught_signals();
    sigdelset(&ending, SIGCHLD);
    int first = 0, signal;
    while ((signal = sigtimedwait(&ending, NULL, &(struct timespec){0})) > 0) first = first ? first : signal;
    sigprocmask(SIG_SETMASK, before, NULL);
    return first;
}

// Waits for the child; a signal to us ends it, and a stall. Returns its status as waitpid gives it, or an error.
static int wait_for(const struct launch *launch, pid_t child, struct stall *stall, struct problem *problem) {
    static const struct timespec often = {.tv_nsec = 200000000};
    sigset_t caught = caught_signals();
    char why[sizeof problem->why];
    int status;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        if (ended < 0 && errno == ECHILD) return -ECHILD; // SIGCHLD is ignored, so the kernel keeps no status
        int signal = sigtimedwait(&caught, NULL, &often);
        if (launch->progress) launch->progress(launch->context);
        bool is_ours = signal < 0 || signal == SIGCHLD;
        if (is_ours && !stall_found(stall, why, sizeof why)) continue;
        end_child(launch, child);
        if (is_ours && launch->target) return problem_set(problem, -ETIMEDOUT, launch->target, "stalled: %s", why);
        if (is_ours) return problem_set(problem, -ETIMEDOUT, "stalled", "%s", why);
        problem->signal = signal;
        return -EINTR;
    }
}

static int run_command(const struct launch *launch, const struct text_list *words, struct stall *stall,
                       struct problem *problem) {
    char **command = calloc(words->count + 1, sizeof *command);
    RETURN_IF(!command, -ENOMEM);
    memcpy(command, words->text, words->count * sizeof *command);
    pid_t child = fork();
    if (!child) become(launch, command);
    int status = child < 0 ? -errno : wait_for(launch, child, stall, problem);
    free(command);
    return status;
}

// The reason is the runner's own first message, or else the last line that a launcher printed.
static int fail_with_message(const struct workspace *workspace, struct problem *problem) {
    size_t prefix = sizeof message_prefix - 1;
    char line[512], last[512] = "";
    FILE *in = fopen(workspace->file[WORKSPACE_ERROR], "re");
    while (in && fgets(line, sizeof line, in)) {
        if (strspn(line, " \t\n-=") < strlen(line)) memcpy(last, line, sizeof last);
        if (!strncmp(line, message_prefix, prefix)) break;
    }
    if (in) fclose(in);
    last[strcspn(last, "\n")] = 0;
    const char *text = strncmp(last, message_prefix, prefix) ? last : last + prefix;
    return problem_set(problem, ERR_NOTHING, "the runner failed", "%s", *text ? text : "it said nothing");
}

// The longest time that a process of the recorded run can have been in one call.
static double longest_call(const struct model *model, uint32_t program) {
    int64_t longest = 0;
    for (size_t i = model->program[program].first; i < model->program[program].end; i++) {
        const struct model_phase *phase = &model->phase[i];
        if (phase->duration_ns > longest) longest = phase->duration_ns;
        if (phase->other_ns > longest) longest = phase->other_ns;
    }
    return (double)longest / 1e9;
}

static struct stall make_stall(const struct launch *launch, const struct replay_job *job) {
    struct stall stall = {.path = job->slots, .np = job->task == TASK_PREPARE ? 1 : job->np};
    int fd = job->slots ? open(job->slots, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return stall;
    close(fd);
    struct stat model;
    if (stat(job->model, &model) == 0) stall.model_bytes = (double)model.st_size;
    stall.limit = launch->stall + (double)job->delay_ns / 1e9;
    if (job->task == TASK_RUN) stall.limit += longest_call(launch->model, job->program);
    return stall;
}

int launch_run(const struct launch *launch, struct replay_job job, struct problem *problem) {
    const struct workspace *workspace = launch->workspace;
    struct text_list command = {0};
    job.model = workspace->file[WORKSPACE_MODEL];
    job.directory = workspace->folder;
    job.result = workspace->file[WORKSPACE_RESULT];
    job.progress = launch->progress && job.task == TASK_RUN ? workspace->file[WORKSPACE_PHASE] : NULL;
    job.slots = launch->stall ? workspace->file[WORKSPACE_SLOTS] : NULL;
    struct stall stall = make_stall(launch, &job);
    int code = contract_write_job(&job, workspace->file[WORKSPACE_JOB]);
    if (!code) code = make_command(&command, launch, &job, problem);
    int status = code ? code : run_command(launch, &command, &stall, problem);
    text_list_free(&command);
    if (status < 0) return status;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return 0;
    workspace_end_processes(workspace); // a killed launcher may leave ranks behind
    if (WIFSIGNALED(status))
        return problem_set(problem, ERR_NOTHING, "the runner failed", "ended by a signal: %s",
                           strsignal(WTERMSIG(status)));
    return fail_with_message(workspace, problem);
}
