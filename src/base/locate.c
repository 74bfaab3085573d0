#include "base/locate.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static bool is_executable_file(const char *path) {
    struct stat status;
    return access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool locate_program(const char *program, char path[PATH_MAX]) {
    if (strchr(program, '/')) return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX && access(program, X_OK) == 0;
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t len = strcspn(at, ":"); // an empty folder means the current one
        int written = snprintf(path, PATH_MAX, "%.*s/%s", len ? (int)len : 1, len ? at : ".", program);
        if (written < PATH_MAX && is_executable_file(path)) return true;
        at += len + (at[len] == ':');
    }
    return false;
}

int locate_ioseer(char path[PATH_MAX]) {
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    RETURN_IF(len < 0, -errno);
    path[len] = 0;
    return 0;
}

int locate_private_file(const char *name, char path[PATH_MAX]) {
    static const char *const folders[] = {"src/rec",         "src/late",    "src/replay",   "src/doctor",
                                          "src/stack/probe", "../src/late", "../lib/ioseer"}; // ../src: of bench/
    char program[PATH_MAX], candidate[PATH_MAX + 64];
    FORWARD(locate_ioseer(program));
    const char *program_folder = dirname(program);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/%s", program_folder, folders[i], name);
        if (realpath(candidate, path)) return 0;
    }
    return -ENOENT;
}
