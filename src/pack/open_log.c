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

// What makes a log at the path of what the user named.
typedef int make_log(const char *from, const char *log_path, struct problem *problem);

static int make_of_directory(const char *from, const char *log_path, struct problem *problem) {
    struct pack_options options = {.replace = true};
    struct pack_result result;
    int code = pack_directory(NULL, from, log_path, &options, &result);
    return code == ERR_NOTHING ? problem_set(problem, code, from, "no spill files in it") : code;
}

static int make_of_foreign(const char *from, const char *log_path, struct problem *problem) {
    struct import_result result;
    return import_file(from, log_path, true, &result, problem);
}

// The temporary log needs no name once it is open.
static int open_made(struct log **log, const char *path, make_log *make, struct problem *problem) {
    const char *folder = getenv("TMPDIR");
    char *temporary = NULL;
    if (!folder || !*folder) folder = "/tmp";
    RETURN_IF(asprintf(&temporary, "%s/ioseer-XXXXXX", folder) < 0, -ENOMEM);
    int fd = mkstemp(temporary), code = fd < 0 ? problem_code(problem, -errno, folder) : 0;
    if (fd >= 0) {
        close(fd);
        code = make(path, temporary, problem);
        if (code == 0) code = log_open(log, temporary);
        unlink(temporary);
    }
    free(temporary);
    return code;
}

int pack_open_log(struct log **log, const char *path, bool *is_directory, struct problem *problem) {
    struct stat status;
    *is_directory = false;
    if (stat(path, &status)) return problem_code(problem, -errno, path);
    *is_directory = S_ISDIR(status.st_mode);
    make_log *make = *is_directory ? make_of_directory : import_is_foreign(path) ? make_of_foreign : NULL;
    int code = make ? open_made(log, path, make, problem) : log_open(log, path);
    if (code == ERR_FORMAT) problem_set(problem, code, path, "not an ioseer log");
    return code < 0 ? problem_code(problem, code, path) : 0;
}
