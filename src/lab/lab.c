#include "lab/lab.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/locate.h"
#include "lab/run.h"
#include "stack/stack.h"

enum { MOST_SHOWN = 100 };

int lab_new(struct lab **out, const struct lab_options *options) {
    struct lab *lab = calloc(1, sizeof *lab);
    RETURN_IF(!lab, -ENOMEM);
    lab->options = *options;
    pthread_mutex_init(&lab->lock, NULL);
    getrlimit(RLIMIT_NOFILE, &lab->files);
    int code = realpath(options->folder, lab->logs) ? 0 : -errno;
    if (code == 0) code = lab_setup_init(&lab->setup, lab->logs);
    *out = lab;
    return code;
}

static struct lab_run *last_run(const struct lab *lab) { return lab->runs ? lab->run[lab->runs - 1] : NULL; }

static bool is_under_way(const struct lab *lab) { return lab->runs && last_run(lab)->stage != LAB_ENDED; }

void lab_end(struct lab *lab) {
    pthread_mutex_lock(&lab->lock);
    if (is_under_way(lab)) last_run(lab)->is_stopping = true;
    pthread_mutex_unlock(&lab->lock);
    if (lab->has_thread) pthread_join(lab->thread, NULL);
}

// --- what a page shows

static int stack_json(const struct stack *stack, void *context) {
    json_object_of(context, m_text("name", stack->name), m_text("mount", stack->client[0].mount),
                   m_number("servers", stack->servers));
    return 0;
}

// What can be chosen here and now.
static void choices_json(struct json_out *json) {
    char path[PATH_MAX];
    key_object(json, "choices");
    key_array(json, "mpi");
    for (const struct lab_mpi *mpi = lab_mpis; mpi->name; mpi++) {
        if (locate_program(mpi->launcher, path))
            json_object_of(json, m_text("name", mpi->name), m_text("title", mpi->title));
    }
    json_close(json);
    key_array(json, "presets");
    for (const struct speed_preset *preset = speed_presets; preset->name; preset++)
        json_object_of(json, m_text("name", preset->name), m_text("about", preset->about));
    json_close(json);
    key_texts(json, "layouts", stack_layout_names, LAYOUT_COUNT);
    key_bool(json, "may_start_stacks",
             geteuid() == 0 && locate_program("glusterfsd", path) && locate_private_file("ioseer-probe.so", path) == 0);
    key_array(json, "stacks");
    stack_each(stack_json, json);
    json_close(json);
    json_close(json);
}

static void status_json(const struct lab_run *run, struct json_out *json) {
    bool has_ended = run->stage == LAB_ENDED && run->status >= 0;
    bool is_signal = has_ended && WIFSIGNALED(run->status);
    json_members(json, m_number_if("exit", has_ended && !is_signal, (uint64_t)WEXITSTATUS(run->status)),
                 m_number_if("signal", is_signal, (uint64_t)WTERMSIG(run->status)), m_bool("stopped", run->is_stopping),
                 m_text("problem", *run->why ? run->why : NULL), m_signed_if("log", run->log >= 0, run->log),
                 m_text("log_name", strrchr(run->plan.log, '/') + 1), m_text("log_path", run->plan.log));
}

static void sums_json(const struct lab_run *run, struct json_out *json) {
    json_members(json, m_number("number", run->number), m_text("stage", lab_stage_names[run->stage]),
                 m_text("storage", run->plan.words), m_seconds("started", (int64_t)run->started_ns));
    key_texts(json, "command", (const char *const *)run->plan.record.text, run->plan.record.count);
    status_json(run, json);
}

static void output_json(const char *key, const struct lab_output *output, struct json_out *json) {
    key_object(json, key);
    json_key(json, "text");
    json_bytes(json, output->text, output->len);
    key_bool(json, "cut", output->is_cut);
    json_close(json);
}

static void run_json(const struct lab_run *run, struct json_out *json) {
    json_object(json);
    sums_json(run, json);
    lab_progress_json(&run->progress, json);
    output_json("output", &run->record.output[0], json);
    output_json("errors", &run->record.output[1], json);
    json_close(json);
}

static void past_json(const struct lab_run *run, struct json_out *json) {
    const struct live_sums *sums = &run->progress.sums;
    json_object(json);
    sums_json(run, json);
    json_members(json, m_double("seconds", run->progress.seconds), m_number("bytes_read", sums->bytes[0]),
                 m_number("bytes_written", sums->bytes[1]));
    json_close(json);
}

int lab_json(void *context, struct json_out *json) {
    struct lab *lab = context;
    json_object(json);
    choices_json(json);
    pthread_mutex_lock(&lab->lock);
    json_key(json, "setup");
    lab_setup_json(&lab->setup, json);
    json_key(json, "run");
    if (lab->runs)
        run_json(last_run(lab), json);
    else
        json_null(json);
    key_array(json, "runs"); // the last one first
    for (size_t i = 0; i < lab->runs && i < MOST_SHOWN; i++) past_json(lab->run[lab->runs - 1 - i], json);
    json_close(json);
    pthread_mutex_unlock(&lab->lock);
    json_close(json);
    return 0;
}

// --- what a page asks for

static int start(struct lab *lab, struct lab_refusal *refusal) {
    sigset_t all, before;
    struct lab_run *run = calloc(1, sizeof *run);
    RETURN_IF(!run, -ENOMEM);
    *run = (struct lab_run){.number = (unsigned)lab->runs + 1, .status = -1, .log = -1};
    run->started_ns = clock_ns(CLOCK_REALTIME);
    for (int i = 0; i < 2; i++) run->record.output[i].fd = run->storage.output[i].fd = -1;
    const struct lab_places places = {run->number, lab->options.guard->work, lab->logs};
    int code = lab_plan_make(&run->plan, &lab->setup, &places, refusal);
    if (code == 0) code = array_push(lab->run, lab->runs, run);
    if (code < 0) {
        lab_plan_free(&run->plan);
        free(run);
        return code;
    }
    if (lab->has_thread) pthread_join(lab->thread, NULL); // it has ended
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); // signals are for the thread that waits for them
    code = -pthread_create(&lab->thread, NULL, lab_run_all, lab);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    lab->has_thread = code == 0;
    if (code < 0) run->stage = LAB_ENDED;
    return code;
}

static int set_up(struct lab *lab, const struct json_value *body, struct lab_refusal *refusal) {
    return lab_setup_read(&lab->setup, body, refusal);
}

static int run(struct lab *lab, const struct json_value *body, struct lab_refusal *refusal) {
    if (is_under_way(lab))
        return lab_refuse(refusal, ERR_EXISTS, NULL,
                          "Run %u is under way, perhaps started in another tab. Stop it first, or wait for its end.",
                          last_run(lab)->number);
    FORWARD(lab_setup_read(&lab->setup, body, refusal));
    return start(lab, refusal);
}

// A page that shows an older run must not stop a newer one.
static int stop(struct lab *lab, const struct json_value *body, struct lab_refusal *refusal) {
    uint64_t number;
    if (json_in_uint64(json_in_member(body, "run"), &number) < 0)
        return lab_refuse(refusal, ERR_USAGE, NULL, "the number of a run is missing");
    if (!is_under_way(lab) || last_run(lab)->number != number)
        return lab_refuse(refusal, ERR_USAGE, NULL, "This run has ended already.");
    last_run(lab)->is_stopping = true;
    return 0;
}

static const struct action {
    const char *name;
    int (*act)(struct lab *lab, const struct json_value *body, struct lab_refusal *refusal);
} actions[] = {{"setup", set_up}, {"run", run}, {"stop", stop}};

static const struct action *find_action(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (!strcmp(actions[i].name, name)) return &actions[i];
    }
    return NULL;
}

bool lab_has_action(const char *name) { return find_action(name); }

int lab_act(struct lab *lab, const char *name, const char *body, size_t len, struct lab_refusal *refusal) {
    struct json_in in;
    struct json_in_error error;
    const struct action *action = find_action(name);
    *refusal = (struct lab_refusal){0};
    RETURN_IF(!action, ERR_NOTHING);
    if (json_in_parse(&in, body, len, &error) < 0)
        return lab_refuse(refusal, ERR_USAGE, NULL, "not JSON: %s", error.message);
    pthread_mutex_lock(&lab->lock);
    int code = action->act(lab, in.root, refusal);
    pthread_mutex_unlock(&lab->lock);
    json_in_free(&in);
    return code;
}
