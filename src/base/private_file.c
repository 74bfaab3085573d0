#include "base/private_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

int private_file_program(char path[PATH_MAX]) {
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    RETURN_IF(len < 0, -errno);
    path[len] = 0;
    return 0;
}

int private_file_path(const char *name, char path[PATH_MAX]) {
    static const char *const folders[] = {"src/rec", "src/replay", "src/doctor", "../lib/ioseer"};
    char program[PATH_MAX], candidate[PATH_MAX + 64];
    FORWARD(private_file_program(program));
    const char *program_folder = dirname(program);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/%s", program_folder, folders[i], name);
        if (realpath(candidate, path)) return 0;
    }
    return -ENOENT;
}
