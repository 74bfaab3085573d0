// The runner's own command line, which only `ioseer replay` writes:
//   ioseer-replay-MPI MODEL DIRECTORY RESULT PROGRAM NP [prepare] [verify] [think] [cache=STATE] [latency] [drop]
//   [durable] [probe] [null=DELAY_NS,RATE] [phases=LIST] [progress=FILE]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/file/read.h"
#include "model/scale.h"
#include "replay/runner/microbench.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

static void parse_word(struct runner_options *options, const char *word)
{
    if (!strcmp(word, "verify")) options->verify = true;
    if (!strcmp(word, "think")) options->think = true;
    if (!strcmp(word, "prepare")) options->prepare = true;
    if (!strcmp(word, "latency")) options->latency = true;
    if (!strcmp(word, "drop")) options->drop = true;
    if (!strcmp(word, "durable")) options->durable = true;
    if (!strcmp(word, "probe")) options->probe = true;
    if (!strcmp(word, "cache=cold")) options->cache = CACHE_COLD;
    if (!strcmp(word, "cache=warm")) options->cache = CACHE_WARM;
    if (!strncmp(word, "phases=", 7)) options->phases = word + 7;
    if (!strncmp(word, "progress=", 9)) options->progress = word + 9;
    if (!strncmp(word, "null=", 5)) {
        char *rate;
        options->null = true;
        options->delay_ns = strtoll(word + 5, &rate, 10);
        if (*rate == ',') options->delay_rate = strtod(rate + 1, NULL);
    }
}

int main(int argc, char **argv)
{
    struct runner_options options = {0};
    struct runner runner = {.options = &options};
    struct json_in_error error;
    if (argc < 6) {
        fprintf(stderr, "%s: is started by ioseer replay\n", argv[0]);
        return 2;
    }
    options.directory = argv[2];
    options.result = argv[3];
    options.program = (unsigned)strtoul(argv[4], NULL, 10);
    for (int i = 6; i < argc; i++) parse_word(&options, argv[i]);
    int np = options.prepare ? 1 : atoi(argv[5]); // one process makes what all of them find
    int code = model_read(&runner.model, argv[1], &error);
    if (!code && options.program >= runner.model.programs) code = ERR_USAGE;
    if (code < 0) {
        fprintf(stderr, "ioseer replay: %s:%u: %s\n", argv[1], error.line, error.line ? error.message : err_text(code));
        return 1;
    }
    int threads = (int)model_threads(&runner.model, options.program);
    code = world_start(&argc, &argv, np, threads);
    if (!code && options.prepare) {
        code = runner_prepare(&runner);
        if (code < 0) fprintf(stderr, "ioseer replay: %s: %s\n", options.directory, err_text(code));
        return code < 0;
    }
    if (!code) code = model_scale(&runner.model, options.program, (uint32_t)world_size());
    if (!code) code = options.probe ? probe_run(options.directory, options.result) : runner_run(&runner);
    if (code < 0) fprintf(stderr, "ioseer replay: rank %d: %s\n", world_rank(), err_text(code));
    int status = world_end(code < 0);
    model_free(&runner.model);
    return status;
}
