#include "cli/model_argument.h"

#include <stdio.h>

#include "base/err.h"
#include "cli/verb.h"

int model_argument_options(struct model_options *options, const char *verb, const char *layer, double gap_seconds)
{
    int found = layer ? call_layer_find(layer) : LAYER_NONE;
    if (found < 0) return cli_usage(verb, layer, "not a layer: mpiio, posix or stdio");
    *options = (struct model_options){.layer = (unsigned)found, .gap_ns = (int64_t)(gap_seconds * 1e9)};
    return STATUS_OK;
}

int model_argument_open(struct model_argument *argument, const char *verb, char *word,
                        const struct model_options *options)
{
    char *words[] = {(char *)verb, word, NULL};
    *argument = (struct model_argument){0};
    int status = log_argument_open(&argument->log, verb, 2, words);
    if (status != STATUS_OK) return status;
    int code = model_from_log(&argument->model, argument->log.log, options);
    if (code == 0) return STATUS_OK;
    log_argument_close(&argument->log);
    return cli_fail(verb, word, code);
}

void model_argument_close(struct model_argument *argument)
{
    model_free(&argument->model);
    if (argument->log.log) log_argument_close(&argument->log);
}

int model_argument_output(const struct model_argument *argument, struct output *output, const char *path)
{
    return log_argument_output(&argument->log, output, path);
}

void model_argument_warn(const struct model_argument *argument)
{
    if (argument->log.log) log_argument_warn(&argument->log);
}
