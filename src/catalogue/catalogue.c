#include "catalogue/catalogue.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "catalogue/schema.h"

int catalogue_default_place(char path[], struct problem *problem) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool has_data = data && *data == '/';
    int len = snprintf(path, PATH_MAX, "%s%s/ioseer/catalogue.db",
                       has_data ? data
                       : home   ? home
                                : "",
                       has_data ? "" : "/.local/share");
    if (*path != '/' || (!has_data && !(home && *home)))
        return problem_set(problem, ERR_USAGE, "--db", "is needed: there is no home directory");
    return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

// Only the user may look into it: the catalogue names files.
static int make_folders(const char *path, struct problem *problem) {
    char folder[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0700) && errno != EEXIST) return problem_code(problem, -errno, folder);
    }
    return 0;
}

int catalogue_open(struct catalogue *catalogue, const char *place, enum store_access access, struct problem *problem) {
    char path[PATH_MAX];
    *catalogue = (struct catalogue){0};
    if (!place) {
        FORWARD(catalogue_default_place(path, problem));
        if (access == STORE_WRITES) FORWARD(make_folders(path, problem));
        place = path;
    }
    FORWARD(store_open(&catalogue->store, place, access, problem));
    int code = schema_open(catalogue->store, access, problem);
    if (code < 0) catalogue_close(catalogue);
    return code;
}

void catalogue_close(struct catalogue *catalogue) {
    store_close(catalogue->store);
    catalogue->store = NULL;
}
