// Checks whether recording works on this machine, and says how to repair what does not.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct doctor_check {
    const char *name;
    bool ok;
    char detail[512];
    const char *fix; // what to do; NULL if the check passes
};

enum { DOCTOR_MAX_CHECKS = 16 };

// Runs all checks, and also checks a program (searched in PATH) if it is not NULL. Returns the number of checks.
size_t doctor_run(struct doctor_check checks[DOCTOR_MAX_CHECKS], const char *program);
