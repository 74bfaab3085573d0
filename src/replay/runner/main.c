// The runner's only argument is the file of its job (replay/contract.h).
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "model/file/read.h"
#include "model/model.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

// ioseer looks for this prefix in what the runner and its launcher print.
static int fail(const char *what, unsigned line, const char *why) {
    if (line)
        fprintf(stderr, "ioseer replay: %s:%u: %s\n", what, line, why);
    else
        fprintf(stderr, "ioseer replay: %s: %s\n", what, why);
    return 1;
}

static int fail_json(const char *path, int code, const struct json_in_error *error) {
    return fail(path, error->line, error->line ? error->message : err_text(code));
}

static void fail_rank(const char *why) {
    char rank[32];
    snprintf(rank, sizeof rank, "rank %d", world.rank);
    fail(rank, 0, why);
}

void runner_give_up(const char *why) {
    fail_rank(why);
    _exit(world_end(1));
}

static int run_task(struct runner *runner) {
    FORWARD(model_infer_communicators(&runner->model, runner->job->program));
    runner->scaled = runner->model.program[runner->job->program].np != (uint32_t)world.size;
    FORWARD(model_scale(&runner->model, runner->job->program, (uint32_t)world.size));
    if (runner->job->task == TASK_EXCHANGE) return exchange_run(runner->job);
    return runner->job->task == TASK_MICROBENCH ? microbench_run(runner->job) : runner_run(runner);
}

int main(int argc, char **argv) {
    struct replay_job job = {0};
    struct runner runner = {.job = &job};
    struct json_in_error error = {0};
    struct json_in memory;
    if (argc != 2) {
        fprintf(stderr, "%s: is started by ioseer replay\n", argv[0]);
        return 2;
    }
    int code = contract_read_job(&job, &memory, argv[1], &error);
    if (code < 0) return fail_json(argv[1], code, &error);
    code = model_read(&runner.model, job.model, &error);
    if (!code && job.program >= runner.model.programs) code = ERR_USAGE;
    if (code < 0) return fail_json(job.model, code, &error);
    bool prepares = job.task == TASK_PREPARE;
    code = world_start(&argc, &argv, prepares ? 1 : (int)job.np, (int)model_threads(&runner.model, job.program));
    if (!code) watch_tell(&job, "the start of the replay", 0, 0);
    if (!code && prepares) {
        code = runner_prepare(&runner);
        return code < 0 ? fail(job.directory, 0, err_text(code)) : 0;
    }
    if (!code) code = run_task(&runner);
    if (code < 0) fail_rank(err_text(code));
    int status = world_end(code < 0);
    model_free(&runner.model);
    json_in_free(&memory);
    return status;
}
