#include "cli/anonymous.h"

#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "pack/pack.h"

int anonymous_prepare(struct anonymous_work *work, struct log *log, const char *key_path, struct problem *problem) {
    *work = (struct anonymous_work){.log = log, .options = {.replace = true}};
    return key_path ? anonymous_key_file(&work->key, key_path, problem) : anonymous_key_make(&work->key);
}

int anonymous_make(void *context, const char *path) {
    struct anonymous_work *work = context;
    return anonymous_write(work->log, path, &work->key, &work->options, &work->left_out);
}

int anonymous_argument(struct anonymous_work *work, struct argument *argument, bool quiet, struct problem *problem) {
    struct log *log;
    FORWARD(pack_open_temporary(&log, anonymous_make, work, problem));
    if (!quiet) argument_warn(argument);
    log_close(argument->log);
    argument->log = work->log = log;
    argument->is_directory = false;
    argument->path = "anonymous";
    return 0;
}
