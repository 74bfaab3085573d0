// Which MPI a program is linked with, and whether its MPI-IO will be seen.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/checks.h"

static const struct {
    const char *library, *name;
    bool is_built;
} mpis[] = {
    {"libmpi.so.40", "Open MPI", BUILT_WITH_OPENMPI},
    {"libmpich.so", "MPICH", BUILT_WITH_MPICH},
    {"libmpi.so.12", "MPICH or one with its interface", BUILT_WITH_MPICH},
};
enum { MPIS = sizeof mpis / sizeof *mpis };

// In the child: the loader prints the libraries of the program, and does not start it.
static void list_libraries(int out, const char *program) {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    execl(program, program, (char *)NULL);
    _exit(127);
}

static size_t find_mpi(const char *program) {
    int ends[2];
    char line[4096];
    size_t found = MPIS;
    if (pipe2(ends, O_CLOEXEC) < 0) return MPIS;
    pid_t child = fork();
    if (child == 0) list_libraries(ends[1], program);
    close(ends[1]);
    FILE *libraries = fdopen(ends[0], "r");
    while (libraries && fgets(line, sizeof line, libraries)) {
        for (size_t i = 0; i < MPIS; i++) {
            if (found == MPIS && strstr(line, mpis[i].library)) found = i;
        }
    }
    if (libraries) fclose(libraries);
    if (child > 0) waitpid(child, NULL, 0);
    return found;
}

void doctor_program_mpi(struct doctor_check *check, const char *program) {
    size_t mpi = find_mpi(program);
    size_t used = strlen(check->detail);
    if (mpi == MPIS) return;
    if (mpis[mpi].is_built) {
        snprintf(check->detail + used, sizeof check->detail - used, "; it uses %s (%s), and its MPI-IO will be seen",
                 mpis[mpi].name, mpis[mpi].library);
        return;
    }
    doctor_fail(check, "install the headers of that MPI and build ioseer again",
                "%s uses %s (%s), for which ioseer was not built: only the calls below MPI-IO will be seen", program,
                mpis[mpi].name, mpis[mpi].library);
}
