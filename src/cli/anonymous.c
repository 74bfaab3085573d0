#include "cli/anonymous.h"

#include "base/err.h"
#include "base/human.h"
#include "pack/pack.h"

int anonymous_prepare(struct anonymous_work *work, const struct argument *argument, const char *key_path,
                      const struct anonymous_options *options, struct problem *problem) {
    *work = (struct anonymous_work){.log = argument->log, .options = *options};
    return key_path ? anonymous_key_file(&work->key, key_path, problem) : anonymous_key_make(&work->key);
}

int anonymous_make(void *context, const char *path) {
    struct anonymous_work *work = context;
    return anonymous_write(work->log, path, &work->key, &work->options, &work->left_out);
}

int anonymous_replace(struct anonymous_work *work, struct argument *argument, bool quiet, struct problem *problem) {
    struct log *log;
    FORWARD(pack_open_temporary(&log, anonymous_make, work, problem));
    if (!quiet) argument_warn(argument);
    log_close(argument->log);
    argument->log = work->log = log;
    argument->is_directory = false;
    argument->path = "anonymous";
    return 0;
}

void anonymous_warn(const struct anonymous_work *work, const struct argument *argument) {
    argument_warn(argument);
    if (work->left_out)
        cli_warn(argument->verb, "%s: left out: %s", argument->path,
                 human_count(work->left_out, "damaged record").text);
}
