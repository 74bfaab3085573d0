#include "base/path_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_executable_file(const char *path) {
    struct stat status;
    return access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool path_search(const char *program, char path[PATH_MAX]) {
    if (strchr(program, '/')) return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX && access(program, X_OK) == 0;
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t len = strcspn(at, ":"); // an empty folder means the current one
        int written = snprintf(path, PATH_MAX, "%.*s/%s", len ? (int)len : 1, len ? at : ".", program);
        if (written < PATH_MAX && is_executable_file(path)) return true;
        at += len + (at[len] == ':');
    }
    return false;
}
