// A folder for trials of ioseer itself, and commands that run there.
#pragma once

#include <limits.h>

#include "doctor/checks.h"

enum { TRIAL_SECONDS = 20 }; // a launcher could wait forever

struct trial {
    char ioseer[PATH_MAX]; // the running program
    char folder[PATH_MAX];
    char log[PATH_MAX + 16];
    char file[PATH_MAX + 16]; // what the recorded program writes
    char messages[PATH_MAX + 16];
};

bool trial_prepare(struct trial *trial, struct doctor_check *check); // false: the check has failed
void trial_remove(const struct trial *trial);                        // the folder with all that is in it

// Runs a command with its messages in the trial's file; returns its wait status or -errno, -ETIMEDOUT after
// TRIAL_SECONDS.
int trial_run(const struct trial *trial, char **arguments, char **environment);
// The first line that the command printed.
void trial_message(const struct trial *trial, char line[256]);
