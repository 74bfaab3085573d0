// Finds programs as the shell does.
#pragma once

#include <limits.h>
#include <stdbool.h>

// The executable file that the shell would run for `program`, which may be a path; false if there is none.
bool path_search(const char *program, char path[PATH_MAX]);
