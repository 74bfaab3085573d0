// Checks whether a program can be recorded: the dynamic loader must start it and not ignore preloads, or it must be
// possible to follow it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/follower.h"
#include "base/locate.h"
#include "base/program_file.h"
#include "doctor/checks.h"

// Whether this process could attach to another one.
static bool can_follow(void) {
    char follower[PATH_MAX];
    int status;
    if (locate_private_file(FOLLOWER_NAME, follower) < 0) return false;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    if (child < 0) return false;
    bool is_attached = ptrace(PTRACE_SEIZE, child, 0, 0) == 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return is_attached;
}

static void check_elf(struct doctor_check *check, const char *path, const struct program_file *file) {
    enum program_kind kind = file->kind;
    bool is_outdated = kind == PROGRAM_STATIC && file->is_outdated;
    const char *own_build = "use a build of it for this machine";
    if (kind == PROGRAM_NOT_64_BIT) {
        doctor_fail(check, own_build, "%s is not a 64-bit program", path);
    } else if (kind == PROGRAM_OF_OTHER_MACHINE) {
        doctor_fail(check, own_build, "%s is for another kind of machine", path);
    } else if (program_file_gains_rights(path)) {
        doctor_fail(check, "record it as the user it changes to",
                    "%s changes its user, group or capabilities: the loader ignores preloads", path);
    } else if (kind == PROGRAM_LINKED) {
        doctor_pass(check, "%s is statically linked with ioseer: it records itself", path);
    } else if (is_outdated) {
        doctor_fail(check, "link it again", "%s is linked with another version of ioseer: it does not record itself",
                    path);
    } else if (kind == PROGRAM_STATIC && can_follow()) {
        doctor_pass(check, "%s is statically linked: it is followed with ptrace, which costs more for each call", path);
    } else if (kind == PROGRAM_STATIC) {
        doctor_fail(check, "link it dynamically, or permit ptrace",
                    "%s is statically linked: libraries cannot be preloaded into it, and ptrace is not permitted",
                    path);
    } else {
        doctor_pass(check, "%s is dynamically linked, for this machine, and can be recorded", path);
        doctor_program_mpi(check, path);
    }
}

// `#! /bin/sh -e` names /bin/sh, `#!/usr/bin/env -S A=1 python3 -u` the python3 that the shell would find.
static void find_interpreter(const char *line, char path[PATH_MAX]) {
    char words[PROGRAM_HEAD_BYTES + 1], *rest = words, program[PATH_MAX];
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
    char path[PATH_MAX];
    struct program_file file;
    if (!locate_program(program, path)) {
        doctor_fail(check, "check its name and rights", "%s: no such program", program);
        return;
    }
    for (int i = 0; i < PROGRAM_INTERPRETERS; i++) {
        int code = program_file_look(&file, path);
        if (code < 0) {
            const char *fix = code == -ENOENT ? "install it, or correct the script's first line" : "make it readable";
            doctor_fail(check, fix, "%s: %s", path, strerror(-code));
            return;
        }
        if (file.kind == PROGRAM_OTHER) {
            doctor_fail(check, "name a program", "%s is neither a program nor a script with #!", path);
            return;
        }
        if (file.kind != PROGRAM_SCRIPT) {
            check_elf(check, path, &file);
            return;
        }
        find_interpreter(file.head + 2, path);
    }
    doctor_fail(check, "name the interpreter itself", "%s: too many interpreters in a row", program);
}
