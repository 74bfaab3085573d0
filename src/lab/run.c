#include "lab/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "target/emulate/emulate.h"

enum { LOOK_MS = 100, UNMOUNT_MS = 10000 };

const char *const lab_stage_names[] = {[LAB_PREPARES] = "prepares",
                                       [LAB_RUNS] = "runs",
                                       [LAB_PACKS] = "packs",
                                       [LAB_CLEANS_UP] = "cleans up",
                                       [LAB_ENDED] = "ended"};

static void set_stage(struct lab *lab, struct lab_run *run, enum lab_stage stage) {
    pthread_mutex_lock(&lab->lock);
    run->stage = stage;
    pthread_mutex_unlock(&lab->lock);
}

static bool is_stopping(struct lab *lab, struct lab_run *run) {
    pthread_mutex_lock(&lab->lock);
    bool result = run->is_stopping;
    pthread_mutex_unlock(&lab->lock);
    return result;
}

// The first reason stays.
static void fail(struct lab *lab, struct lab_run *run, const char *what, const char *why) {
    pthread_mutex_lock(&lab->lock);
    if (!*run->why) snprintf(run->why, sizeof run->why, "%.150s: %.440s", what, why);
    pthread_mutex_unlock(&lab->lock);
}

static void take_output(struct lab *lab, struct lab_child *child) {
    lab_child_wait(child, LOOK_MS);
    pthread_mutex_lock(&lab->lock);
    lab_child_read(child);
    pthread_mutex_unlock(&lab->lock);
}

// --- storage

// The last line that it printed says why it failed.
static void fail_as_printed(struct lab *lab, struct lab_run *run, struct lab_child *child, const char *what) {
    char line[400];
    take_output(lab, child);
    const struct lab_output *output = &child->output[1];
    size_t len = output->len, begin;
    while (len && output->text[len - 1] == '\n') len--;
    for (begin = len; begin && output->text[begin - 1] != '\n';) begin--;
    snprintf(line, sizeof line, "%.*s", (int)(len - begin), output->text + begin);
    fail(lab, run, what, *line ? line : "it failed without a reason");
}

// Runs a command to its end. False, with the reason, if it fails.
static bool run_to_end(struct lab *lab, struct lab_run *run, char **words, const char *what) {
    struct lab_child *child = &run->storage;
    int status;
    *child = (struct lab_child){0};
    int code = lab_child_start(child, words, "/", &lab->files, NULL);
    if (code < 0) return fail(lab, run, what, err_text(code)), false;
    while (!lab_child_has_ended(child, &status)) take_output(lab, child);
    if (status) fail_as_printed(lab, run, child, what);
    lab_child_close(child);
    return status == 0;
}

// The emulator stays in the foreground: its mount is there when it can be seen.
static bool mount_emulated(struct lab *lab, struct lab_run *run) {
    static const char what[] = "The storage could not be emulated";
    struct lab_child *child = &run->storage;
    int status;
    int code = lab_child_start(child, run->plan.prepare.text, "/", &lab->files, NULL);
    if (code < 0) return fail(lab, run, what, err_text(code)), false;
    while (emulate_state_of(run->plan.mount) != EMULATE_SERVED) {
        if (lab_child_has_ended(child, &status)) return fail_as_printed(lab, run, child, what), false;
        take_output(lab, child);
    }
    return true;
}

static bool prepare(struct lab *lab, struct lab_run *run) {
    struct lab_refusal refusal;
    if (run->plan.storage == LAB_EMULATED && !mount_emulated(lab, run)) return false;
    if (run->plan.storage == LAB_NEW_STACK &&
        !run_to_end(lab, run, run->plan.prepare.text, "The stack could not be started"))
        return false;
    if (lab_plan_find_place(&run->plan, &refusal) == 0) return true;
    fail(lab, run, "The stack cannot be used", refusal.why);
    return false;
}

static void unmount_emulated(struct lab *lab, struct lab_run *run) {
    struct lab_child *child = &run->storage;
    int status;
    if (child->pid > 0) kill(child->pid, SIGTERM);
    for (int waited = 0; !lab_child_has_ended(child, &status); waited += LOOK_MS) {
        if (waited == UNMOUNT_MS) emulate_stop(run->plan.mount, true); // a process that goes on has files there
        usleep(LOOK_MS * 1000);
    }
    lab_child_close(child);
    (void)lab;
}

static void remove_storage(struct lab *lab, struct lab_run *run) {
    if (run->plan.storage == LAB_EMULATED) unmount_emulated(lab, run);
    if (run->plan.storage == LAB_NEW_STACK) run_to_end(lab, run, run->plan.end.text, "The stack could not be ended");
}

// --- the program

// What can be seen is shown; a look that fails is not worth to end a run for.
static void look(struct lab *lab, struct lab_run *run) {
    struct lab_progress *progress = &run->progress;
    lab_progress_look(progress, run->record.pid);
    pthread_mutex_lock(&lab->lock);
    lab_progress_take(progress);
    run->stage = progress->is_over ? LAB_PACKS : LAB_RUNS;
    pthread_mutex_unlock(&lab->lock);
}

static void follow(struct lab *lab, struct lab_run *run) {
    int status = 0;
    bool has_ended;
    run->ending = (struct lab_ending){.record = run->record.pid};
    do {
        take_output(lab, &run->record);
        if (is_stopping(lab, run)) lab_ending_step(&run->ending);
        has_ended = lab_child_has_ended(&run->record, &status);
        if (!has_ended) look(lab, run);
    } while (!has_ended);
    lab_guard_tell(lab->options.guard, 0);
    if (run->progress.is_open) look(lab, run); // the files are open still: what was written last is in them
    pthread_mutex_lock(&lab->lock);
    lab_child_read(&run->record);
    run->status = status;
    lab_progress_close(&run->progress);
    pthread_mutex_unlock(&lab->lock);
    lab_child_close(&run->record);
}

static void add_log(struct lab *lab, struct lab_run *run) {
    if (access(run->plan.log, F_OK)) return;
    int number = lab->options.add_log(lab->options.context, run->plan.log);
    if (number < 0) fail(lab, run, run->plan.log, err_text(number));
    pthread_mutex_lock(&lab->lock);
    run->log = number;
    pthread_mutex_unlock(&lab->lock);
}

static void record(struct lab *lab, struct lab_run *run) {
    set_stage(lab, run, LAB_RUNS);
    run->progress.begun_ns = clock_now_ns();
    int code = lab_child_start(&run->record, run->plan.record.text, run->plan.place, &lab->files, lab->options.guard);
    if (code < 0)
        fail(lab, run, "The program could not be started", err_text(code));
    else
        follow(lab, run);
}

void *lab_run_all(void *context) {
    struct lab *lab = context;
    pthread_mutex_lock(&lab->lock);
    struct lab_run *run = lab->run[lab->runs - 1];
    pthread_mutex_unlock(&lab->lock);
    if (prepare(lab, run) && !is_stopping(lab, run)) record(lab, run);
    set_stage(lab, run, LAB_CLEANS_UP);
    remove_storage(lab, run);
    add_log(lab, run);
    set_stage(lab, run, LAB_ENDED);
    return NULL;
}
