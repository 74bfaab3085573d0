// A command that the lab runs, with the last part of what it prints.
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lab/ending.h"

enum { LAB_OUTPUT = 16 << 10 };

struct lab_output {
    int fd; // -1: closed
    size_t len;
    bool is_cut; // the first part is missing
    char text[LAB_OUTPUT];
};

struct lab_child {
    pid_t pid;
    struct lab_output output[2]; // standard output and error
};

// Starts the command in the folder, in a session of its own. It starts after the guard knows it; without a guard
// (NULL) the kernel ends it with the calling thread.
int lab_child_start(struct lab_child *child, char **words, const char *folder, const struct rlimit *files,
                    const struct lab_guard *guard);
// Waits for output, up to so many milliseconds.
void lab_child_wait(const struct lab_child *child, int milliseconds);
// Takes what it has printed. To be called under the lock that protects `output`.
void lab_child_read(struct lab_child *child);
// Whether it has ended, and how (as waitpid gives it).
bool lab_child_has_ended(struct lab_child *child, int *status);
void lab_child_close(struct lab_child *child);
