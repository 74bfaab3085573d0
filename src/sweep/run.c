#include "sweep/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/text_list.h"
#include "log/log.h"
#include "record/record.h"
#include "replay/replay.h"
#include "replay/workspace.h"
#include "sweep/grid.h"
#include "sweep/working_set.h"

enum { END_MS = 10000, POLL_MS = 200, RECORD_WAIT_SECONDS = 2, PATIENCE_SECONDS = 20 };

struct running {
    const struct sweep *sweep;
    const struct sweep_settings *settings;
    const struct sweep_point *point;
    const char *group; // cgroup.procs, or NULL
    struct run_result *result;
};

static const struct sweep_target *target_of(const struct running *r) {
    return &r->sweep->grid.target[r->point->target];
}

__attribute__((format(printf, 3, 4))) static int fail(struct running *r, int code, const char *format, ...) {
    va_list words;
    if (*r->result->why) return code;
    va_start(words, format);
    vsnprintf(r->result->why, sizeof r->result->why, format, words);
    va_end(words);
    return code;
}

// --- the working set

// For the first run of a point: the others touch the same.
static int measure_set(struct running *r, const struct model *model, uint32_t program) {
    struct run_result *result = r->result;
    const size_t most = sizeof result->phase / sizeof *result->phase;
    if (r->point->runs) return 0;
    uint64_t *by_phase = calloc(model->phases + 1, sizeof *by_phase);
    RETURN_IF(!by_phase, -ENOMEM);
    int code = working_set_of(model, program, by_phase, &result->working_set);
    for (size_t i = model->program[program].first; i < model->program[program].end && !code; i++) {
        if (result->phases < most) result->phase[result->phases++] = (struct sweep_phase){i + 1, by_phase[i]};
    }
    free(by_phase);
    return code;
}

// --- a model

// The replay scales the model, which is this process's own copy.
static int run_model(struct running *r) {
    const struct sweep_settings *settings = r->settings;
    const struct sweep_grid *grid = &r->sweep->grid;
    const char *interface = grid->interface[r->point->interface];
    struct problem problem = {0};
    struct replay_outcome outcome;
    struct replay_settings replay = {.target = target_of(r)->name,
                                     .launcher = settings->launcher,
                                     .stall = settings->stall,
                                     .group = r->group,
                                     .repeat = 1,
                                     .job = {.variant = strcmp(interface, grid_as_recorded) ? interface : NULL,
                                             .np = grid->np[r->point->np],
                                             .think = true}};
    int code = replay_repeat(replay, settings->model, grid->model, &outcome, &problem);
    const struct replay_result *result = code < 0 ? NULL : outcome.run;
    for (size_t i = 0; result && i < result->phases; i++)
        r->result->io += result->phase[i].time + result->phase[i].others;
    uint32_t program = outcome.program;
    replay_outcome_free(&outcome);
    if (code < 0) return fail(r, code, "%s%s%s", problem.what, *problem.what ? ": " : "", problem.why);
    return measure_set(r, settings->model, program);
}

// --- a program

static int add_word(struct running *r, struct text_list *words, const char *word, const char *folder) {
    const struct sweep_grid *grid = &r->sweep->grid;
    char np[16], *text = strdup(word);
    snprintf(np, sizeof np, "%u", grid->np[r->point->np]);
    const struct {
        const char *place, *text;
    } by[] = {{"{dir}", folder}, {"{np}", np}, {"{interface}", grid->interface[r->point->interface]}};
    for (size_t i = 0; i < sizeof by / sizeof *by && text; i++) {
        size_t from = 0;
        for (char *at; text && (at = strstr(text + from, by[i].place));) {
            char *longer = NULL;
            from = (size_t)(at - text) + strlen(by[i].text);
            if (asprintf(&longer, "%.*s%s%s", (int)(at - text), text, by[i].text, at + strlen(by[i].place)) < 0)
                longer = NULL;
            free(text);
            text = longer;
        }
    }
    return text_list_take(words, text);
}

// The last line that the program said, or how it ended.
static int fail_as(struct running *r, const struct workspace *workspace, int status) {
    char line[512], last[512] = "";
    FILE *in = fopen(workspace->file[WORKSPACE_ERROR], "re");
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        if (strspn(line, " \t-=") < strlen(line)) memcpy(last, line, sizeof last);
    }
    if (in) fclose(in);
    const char *between = *last ? ": " : "";
    if (WIFSIGNALED(status))
        return fail(r, ERR_NOTHING, "ended by SIG%s%s%s", sigabbrev_np(WTERMSIG(status)), between, last);
    return fail(r, ERR_NOTHING, "exit status %d%s%s", WEXITSTATUS(status), between, last);
}

static int read_log(struct running *r, const char *path) {
    struct log *log;
    struct model model;
    FORWARD(log_open(&log, path));
    int code = model_from_log(&model, log, &(struct model_options){0});
    if (code == 0) {
        struct problem problem = {0};
        code = replay_check_model(&model, "the program", "time", &problem);
        if (code < 0) fail(r, code, "%s", problem.why);
        if (model.unphased_untraced) code = fail(r, ERR_LIMIT, "it makes more calls than a trace can have");
        uint32_t program = code < 0 ? 0 : replay_main_program(&model);
        for (size_t i = 0; code == 0 && i < model.phases; i++) {
            bool is_its = i >= model.program[program].first && i < model.program[program].end;
            if (is_its) r->result->io += (double)(model.phase[i].duration_ns + model.phase[i].other_ns) / 1e9;
        }
        if (code == 0) code = measure_set(r, &model, program);
        model_free(&model);
    }
    log_close(log);
    return code;
}

static void redirect(const struct workspace *workspace) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int error = open(workspace->file[WORKSPACE_ERROR], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
}

static int record_words(struct running *r, const struct workspace *workspace, char **words) {
    struct record_options options = {.log_path = workspace->file[WORKSPACE_LOG],
                                     .group = r->group,
                                     .wait_seconds = RECORD_WAIT_SECONDS,
                                     .trace_cap_bytes = SETTING_DEFAULT_TRACE_CAP,
                                     .file_cap = SETTING_DEFAULT_FILE_CAP,
                                     .no_devices = true};
    struct record_job job;
    struct record_result done;
    struct problem problem = {0};
    setenv("TMPDIR", workspace->work, 1); // what identifies the program's processes when they must be ended
    redirect(workspace);
    FORWARD(record_check(&options, &problem));
    int code = record_job_prepare(&job, &options, words, &problem);
    if (code < 0) return fail(r, code, "cannot be recorded: %s", problem.why);
    double start = clock_seconds();
    code = record_command(&job, &done);
    r->result->wall = clock_seconds() - start;
    record_job_free(&job);
    if (code < 0) return code;
    if (done.is_guard) _exit(0);
    if (done.exec_error) return fail(r, -done.exec_error, "%s: %s", words[0], err_text(-done.exec_error));
    if (done.status) return fail_as(r, workspace, done.status);
    return done.packed ? done.pack_code : ERR_NOTHING;
}

static int run_program(struct running *r) {
    struct workspace workspace;
    struct text_list words = {0};
    int code = workspace_make(&workspace, target_of(r)->name, NULL);
    if (code < 0) fail(r, code, "%s: %s", target_of(r)->name, err_text(code));
    for (char **word = r->sweep->grid.command; *word && !code; word++)
        code = add_word(r, &words, *word, workspace.folder);
    char **command = calloc(words.count + 1, sizeof *command);
    if (!command && !code) code = -ENOMEM;
    if (code == 0) {
        memcpy(command, words.text, words.count * sizeof *command);
        code = record_words(r, &workspace, command);
        if (code == 0) code = read_log(r, workspace.file[WORKSPACE_LOG]);
    }
    free(command);
    text_list_free(&words);
    workspace_remove(&workspace, false);
    return code;
}

// --- the process

void run_hold_signals(sigset_t *before) {
    sigset_t ending = process_ending_signals();
    sigprocmask(SIG_BLOCK, &ending, before);
}

static void be_child(struct running *r, pid_t parent, int report) {
    sigset_t ending = process_ending_signals();
    setpgid(0, 0);                    // signals of the terminal are for the parent
    prctl(PR_SET_PDEATHSIG, SIGKILL); // the workspace's guard then ends the rest
    if (getppid() != parent) _exit(1);
    sigprocmask(SIG_UNBLOCK, &ending, NULL);
    struct run_result *result = r->result;
    result->code = r->settings->model ? run_model(r) : run_program(r);
    if (result->code < 0) fail(r, result->code, "%s", err_text(result->code));
    _exit(io_write_all(report, result, sizeof *result) < 0);
}

static bool ends_within(pid_t child, int timeout_ms) {
    int status;
    for (int waited = 0; waited <= timeout_ms; waited += POLL_MS) {
        if (waitpid(child, &status, WNOHANG) != 0) return true;
        poll(NULL, 0, POLL_MS);
    }
    return false;
}

static void end_child(pid_t child) {
    int status;
    kill(child, SIGTERM);
    if (ends_within(child, END_MS)) return;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

// Returns 0 when the child has told its result, or ended. Ranks whose neighbour was killed for its memory may wait for
// it forever.
static int await(pid_t child, int report, struct sweeping *sweeping, struct run_result *result) {
    sigset_t ending = process_ending_signals();
    int status;
    double killed = 0;
    for (;;) {
        int signal = sigtimedwait(&ending, NULL, &(struct timespec){0});
        double now = clock_seconds();
        if (signal > 0) sweeping->problem->signal = signal;
        if (!killed && memory_kills(&sweeping->limits)) killed = now;
        bool late = sweeping->deadline > 0 && now > sweeping->deadline;
        bool hangs = killed > 0 && now > killed + PATIENCE_SECONDS;
        if (signal > 0 || late || hangs) end_child(child);
        if (signal > 0 || late) return signal > 0 ? -EINTR : -ETIMEDOUT;
        if (hangs) return 0;
        if (poll(&(struct pollfd){.fd = report, .events = POLLIN}, 1, POLL_MS) > 0) break;
    }
    bool told = read(report, result, sizeof *result) == (ssize_t)sizeof *result;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (told) return 0;
    *result = (struct run_result){.code = -EIO, .why = "ended without a result"};
    return 0;
}

static int run_child(struct running *r, struct sweeping *sweeping) {
    int ends[2];
    RETURN_IF(pipe2(ends, O_CLOEXEC) < 0, -errno);
    pid_t parent = getpid(), child = fork();
    int code = child < 0 ? -errno : 0;
    if (!child) {
        memory_forget(&sweeping->limits);
        close(ends[0]);
        be_child(r, parent, ends[1]);
    }
    close(ends[1]);
    if (child > 0) code = await(child, ends[0], sweeping, r->result);
    close(ends[0]);
    return code;
}

int run_point(struct sweeping *sweeping, const struct sweep_point *point, struct run_result *result) {
    struct memory_limits *limits = &sweeping->limits;
    uint64_t memory = sweeping->sweep->grid.cache[point->cache];
    struct running running = {sweeping->sweep, sweeping->settings, point, memory ? limits->procs : NULL, result};
    *result = (struct run_result){0};
    int code = memory ? memory_limit(limits, memory) : 0;
    if (code < 0) problem_code(sweeping->problem, code, limits->group);
    if (code == 0) code = run_child(&running, sweeping);
    if (memory) memory_release(limits, &result->killed);
    return code < 0 ? problem_code(sweeping->problem, code, "run") : 0;
}
