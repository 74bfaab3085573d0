// Files that belong to ioseer alone: libioseer.so, the plugins for each MPI and the replay runners. All of them are
// installed in PREFIX/lib/ioseer, whatever the system calls its library directory, and found from the running program:
// an installation works in a DESTDIR and after it was moved.
#pragma once

#include <limits.h>

// The absolute path of the running program.
int private_file_program(char path[PATH_MAX]);

// The absolute path of the private file `name`; -ENOENT if it is missing. In the build tree, the path where it is
// built.
int private_file_path(const char *name, char path[PATH_MAX]);
