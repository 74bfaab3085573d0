// The parts of `ioseer doctor`: each check fills one of these in.
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct check {
    const char *name;
    bool ok;
    char detail[512];
    const char *fix; // what to do; NULL where all is well
};

// Both take a printf format and return nothing, so that a check can end with either.
void check_passes(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_fails(struct check *check, const char *fix, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Whether a program (searched in PATH) can be recorded.
void doctor_program(struct check *check, const char *program);

// Whether the library to preload is found and can be loaded.
void doctor_library(struct check *check);

// Whether a recording works from end to end.
void doctor_recording(struct check *check);

// The list of captured calls. Returns 0 or a code of base/err.h.
int doctor_calls_text(FILE *out);
int doctor_calls_json(FILE *out);
