// Opens what a user names as LOG: a log or a spill directory.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "log/log.h"
#include "pack/pack.h"

// The log needs no name once it is open.
int pack_open_temporary(struct log **log, int (*make)(void *context, const char *path), void *context,
                        struct problem *problem) {
    const char *folder = getenv("TMPDIR");
    char *temporary = NULL;
    if (!folder || !*folder) folder = "/tmp";
    RETURN_IF(asprintf(&temporary, "%s/ioseer-XXXXXX", folder) < 0, -ENOMEM);
    int fd = mkstemp(temporary), code = fd < 0 ? problem_code(problem, -errno, folder) : 0;
    if (fd >= 0) {
        close(fd);
        code = make(context, temporary);
        if (code == 0) code = log_open(log, temporary);
        unlink(temporary);
    }
    free(temporary);
    return code;
}

static int make_of_directory(void *path, const char *temporary) {
    struct pack_options options = {.replace = true};
    struct pack_result result;
    return pack_directory(NULL, path, temporary, &options, &result);
}

static int open_directory(struct log **log, const char *path, struct problem *problem) {
    int code = pack_open_temporary(log, make_of_directory, (void *)path, problem);
    return code == ERR_NOTHING ? problem_set(problem, code, path, "no spill files in it") : code;
}

int pack_open_log(struct log **log, const char *path, bool *is_directory, struct problem *problem) {
    struct stat status;
    *is_directory = false;
    if (stat(path, &status)) return problem_code(problem, -errno, path);
    *is_directory = S_ISDIR(status.st_mode);
    int code = *is_directory ? open_directory(log, path, problem) : log_open(log, path);
    if (code == ERR_FORMAT) problem_set(problem, code, path, "not an ioseer log");
    return code < 0 ? problem_code(problem, code, path) : 0;
}
