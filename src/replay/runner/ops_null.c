// Does no I/O: only waits as long as the job says. Any time beyond that is the runner's own.
#include "base/clock.h"
#include "replay/runner/runner.h"

static int64_t null_wait(struct replay_thread *thread, int64_t bytes) {
    const struct replay_job *job = thread->runner->job;
    double until = clock_seconds() + (double)job->delay_ns / 1e9;
    if (job->delay_rate > 0) until += (double)bytes / job->delay_rate;
    while (clock_seconds() < until) continue;
    return bytes;
}

static int64_t null_plain(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    (void)step;
    files_opened(thread->runner, file);
    null_wait(thread, 0);
    return 0;
}

static int64_t null_transfer(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                             void *data) {
    (void)file, (void)data;
    return null_wait(thread, step->op->at[AT_SIZE] - step->op->at[AT_SHORT]);
}

const struct replay_backend replay_null = {
    .open = null_plain,
    .close = null_plain,
    .transfer = null_transfer,
    .other = null_plain,
};
