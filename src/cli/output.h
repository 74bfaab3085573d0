// Where a verb's output goes: standard output, or a file that appears whole or not at all.
#ifndef IOSEER_CLI_OUTPUT_H
#define IOSEER_CLI_OUTPUT_H

#include <stdio.h>

struct output {
    const char *verb;
    const char *path; // NULL: standard output
    char *beside;     // written first, then renamed to `path`; NULL where `path` is written directly
    FILE *out;
};

// `path` may be NULL. Prints what is wrong; returns an exit status.
int output_open(struct output *o, const char *verb, const char *path);

// Ends the output. `code` is the verb's own result so far (base/err.h): on failure a file is not left behind.
// A reader that went away (EPIPE) needs no message. Returns the exit status.
int output_close(struct output *o, int code);

#endif
