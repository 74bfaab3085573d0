// Checks whether a program can be recorded: the dynamic loader must start it, and must not ignore preloads.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/locate.h"
#include "doctor/checks.h"

enum { HEAD_BYTES = 4096, MAX_INTERPRETERS = 4 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

static ssize_t read_head(const char *path, char head[HEAD_BYTES + 1]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    ssize_t got = pread(fd, head, HEAD_BYTES, 0);
    if (got < 0) got = -errno;
    close(fd);
    head[got < 0 ? 0 : got] = 0;
    return got;
}

// The loader ignores LD_PRELOAD for programs that gain rights when they start. A user with these rights gains none.
static bool gains_rights(const char *path) {
    struct stat st;
    if (stat(path, &st)) return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) return true;
    if ((st.st_mode & S_ISGID) && st.st_gid != getegid()) return true;
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool has_interpreter(const char *head, size_t len) {
    Elf64_Ehdr elf;
    memcpy(&elf, head, sizeof elf);
    for (size_t i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = elf.e_phoff + i * sizeof segment;
        if (elf.e_phentsize != sizeof segment || at > len || len - at < sizeof segment) return false;
        memcpy(&segment, head + at, sizeof segment);
        if (segment.p_type == PT_INTERP) return true;
    }
    return false;
}

static void check_elf(struct doctor_check *check, const char *path, const char *head, size_t len) {
    const char *own_build = "use a build of it for this machine";
    Elf64_Ehdr elf;
    if (len < sizeof elf || head[EI_CLASS] != ELFCLASS64) {
        doctor_fail(check, own_build, "%s is not a 64-bit program", path);
        return;
    }
    memcpy(&elf, head, sizeof elf);
    if (OWN_MACHINE != EM_NONE && elf.e_machine != OWN_MACHINE) {
        doctor_fail(check, own_build, "%s is for another kind of machine", path);
    } else if (!has_interpreter(head, len)) {
        doctor_fail(check, "link it dynamically", "%s is statically linked: libraries cannot be preloaded into it",
                    path);
    } else if (gains_rights(path)) {
        doctor_fail(check, "record it as the user it changes to",
                    "%s changes its user, group or capabilities: the loader ignores preloads", path);
    } else {
        doctor_pass(check, "%s is dynamically linked, for this machine, and can be recorded", path);
        doctor_program_mpi(check, path);
    }
}

// `#! /bin/sh -e` names /bin/sh, `#!/usr/bin/env -S A=1 python3 -u` the python3 that the shell would find.
static void find_interpreter(const char *line, char path[PATH_MAX]) {
    char words[HEAD_BYTES + 1], *rest = words, program[PATH_MAX];
    snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\r\n"), line);
    const char *word = strtok_r(words, " \t", &rest);
    snprintf(path, PATH_MAX, "%s", word ? word : "");
    const char *base = strrchr(path, '/');
    if (!word || strcmp(base ? base + 1 : path, "env")) return;
    while ((word = strtok_r(NULL, " \t", &rest)) && (word[0] == '-' || strchr(word, '='))) continue;
    if (!word) return;
    snprintf(path, PATH_MAX, "%s", word);
    if (locate_program(word, program)) memcpy(path, program, sizeof program);
}

void doctor_program(struct doctor_check *check, const char *program) {
    char head[HEAD_BYTES + 1], path[PATH_MAX];
    if (!locate_program(program, path)) {
        doctor_fail(check, "check its name and rights", "%s: no such program", program);
        return;
    }
    for (int i = 0; i < MAX_INTERPRETERS; i++) {
        ssize_t len = read_head(path, head);
        if (len < 0) {
            const char *fix = len == -ENOENT ? "install it, or correct the script's first line" : "make it readable";
            doctor_fail(check, fix, "%s: %s", path, strerror((int)-len));
            return;
        }
        if (len >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG)) {
            check_elf(check, path, head, (size_t)len);
            return;
        }
        if (strncmp(head, "#!", 2)) {
            doctor_fail(check, "name a program", "%s is neither a program nor a script with #!", path);
            return;
        }
        find_interpreter(head + 2, path);
    }
    doctor_fail(check, "name the interpreter itself", "%s: too many interpreters in a row", program);
}
