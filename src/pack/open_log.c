// Opens what a user names as LOG: a log, a spill directory, or another program's log.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "log/log.h"
#include "pack/import.h"
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

// What the user named.
struct foreign {
    const char *path;
    struct problem *problem;
};

static int make_of_directory(void *context, const char *temporary) {
    const struct foreign *from = context;
    struct pack_options options = {.replace = true};
    struct pack_result result;
    int code = pack_directory(NULL, from->path, temporary, &options, &result);
    return code == ERR_NOTHING ? problem_set(from->problem, code, from->path, "no spill files in it") : code;
}

static int make_of_import(void *context, const char *temporary) {
    const struct foreign *from = context;
    struct import_result result;
    return import_file(from->path, temporary, true, &result, from->problem);
}

int pack_open_log(struct log **log, const char *path, bool *is_directory, struct problem *problem) {
    struct stat status;
    *is_directory = false;
    if (stat(path, &status)) return problem_code(problem, -errno, path);
    *is_directory = S_ISDIR(status.st_mode);
    int (*make)(void *, const char *) = *is_directory             ? make_of_directory
                                        : import_is_foreign(path) ? make_of_import
                                                                  : NULL;
    struct foreign from = {path, problem};
    int code = make ? pack_open_temporary(log, make, &from, problem) : log_open(log, path);
    if (code == ERR_FORMAT) problem_set(problem, code, path, "not an ioseer log");
    return code < 0 ? problem_code(problem, code, path) : 0;
}
