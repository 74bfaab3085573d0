// Which MPI a program is linked with, and whether its MPI-IO will be seen.
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/locate.h"
#include "doctor/checks.h"
#include "doctor/trial.h"

static const struct {
    const char *library, *name, *plugin;
} mpis[] = {
    {"libmpi.so.40", "Open MPI", "libioseer-openmpi.so"},
    {"libmpich.so", "MPICH", "libioseer-mpich.so"},
    {"libmpi.so.12", "MPICH or one with its interface", "libioseer-mpich.so"},
};
enum { MPIS = sizeof mpis / sizeof *mpis };

// The dynamic loader that the program names.
static bool read_loader(const char *program, char loader[PATH_MAX]) {
    Elf64_Ehdr elf;
    Elf64_Phdr segment;
    int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool found = false;
    memset(loader, 0, PATH_MAX);
    unsigned segments = fd >= 0 && pread(fd, &elf, sizeof elf, 0) == sizeof elf ? elf.e_phnum : 0;
    for (unsigned i = 0; i < segments && !found; i++) {
        off_t at = (off_t)(elf.e_phoff + i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != sizeof segment) break;
        found = segment.p_type == PT_INTERP && segment.p_filesz < PATH_MAX &&
                pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) == (ssize_t)segment.p_filesz;
    }
    if (fd >= 0) close(fd);
    return found;
}

// In the child: the loader prints the libraries of the program. It is started itself, because a program that is asked
// to list its libraries may run instead. The alarm ends it if it hangs.
static void list_libraries(int out, const char *loader, const char *program) {
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;
    sigemptyset(&none);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(TRIAL_SECONDS);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execl(loader, loader, "--list", program, (char *)NULL);
    _exit(127);
}

static size_t find_mpi(const char *program) {
    int ends[2];
    char line[4096], loader[PATH_MAX];
    size_t found = MPIS;
    const char *name = read_loader(program, loader) ? strrchr(loader, '/') : NULL;
    if (!name || strncmp(name, "/ld", 3) != 0) return MPIS; // another program would do whatever it does
    if (pipe2(ends, O_CLOEXEC) < 0) return MPIS;
    pid_t child = fork();
    if (child == 0) list_libraries(ends[1], loader, program);
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
    char plugin[PATH_MAX];
    if (mpi == MPIS) return;
    if (locate_private_file(mpis[mpi].plugin, plugin) == 0) {
        snprintf(check->detail + used, sizeof check->detail - used, "; it uses %s (%s), and its MPI-IO will be seen",
                 mpis[mpi].name, mpis[mpi].library);
        return;
    }
    doctor_fail(check, "install ioseer-mpi, or install the headers of that MPI and build ioseer again",
                "%s uses %s (%s), and ioseer is here without its part for it: only the calls below MPI-IO will be seen",
                program, mpis[mpi].name, mpis[mpi].library);
}
