// Finds programs as the shell does, and files that belong to ioseer alone: libioseer.so, the plugins for each MPI and
// the replay runners. These are installed in PREFIX/lib/ioseer, whatever the system calls its library directory, and
// found from the running program: an installation works in a DESTDIR and after it was moved.
#pragma once

#include <limits.h>
#include <stdbool.h>

// The executable file that the shell would run for `program`, which may be a path; false if there is none.
bool locate_program(const char *program, char path[PATH_MAX]);

// The absolute path of the running program.
int locate_ioseer(char path[PATH_MAX]);

// The absolute path of the private file `name`; -ENOENT if it is missing. In the build tree, the path where it is
// built.
int locate_private_file(const char *name, char path[PATH_MAX]);
