#include "late/late.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "base/locate.h"

const char *const late_names[] = {LATE_NAMES NULL};

const void *late_load(const char *name) {
    char file[64], path[PATH_MAX];
    snprintf(file, sizeof file, "ioseer-%s.so", name);
    void *module = locate_private_file(file, path) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    return module ? dlsym(module, "late_functions") : NULL;
}
