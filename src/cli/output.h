// Where a verb's output goes: standard output, through a pager if it is long, or a file that appears whole or not at
// all.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/json_out.h"
#include "cli/verb.h"

struct output {
    const char *verb;
    const char *path;      // NULL: standard output
    char *beside;          // written first, then renamed to `path`; NULL if `path` is written directly
    FILE *out;             // stdout, the pager's stream or the file's
    struct json_out *json; // writes to `out`; NULL until output_json
    int error;             // the first failed write as -errno; errno itself is soon overwritten
};

// `path` may be NULL. Prints what is wrong; returns an exit status.
enum status output_open(struct output *o, const char *verb, const char *path);

// For what people watch while it is printed: without a pager. Call it before anything is printed.
void output_live(struct output *o);

// A writer of JSON, as json_out_begin makes it; output_close ends it. Ends the program if there is no memory.
struct json_out *output_json(struct output *o, unsigned unfold);

// Ends the writer, so that another value can follow.
void output_json_end(struct output *o);

// For verbs that work for a long time before they write: checks that `path` can be opened, and does not change it.
enum status output_check(const char *verb, const char *path);

// Remembers a failed write while errno still says why. Returns true if a write has failed: stop writing then.
bool output_failed(struct output *o);

// Ends the output and returns the exit status. If the verb has failed (and said so), removes the file. A reader that
// went away (EPIPE) needs no message; one that left the pager has seen enough: STATUS_OK.
enum status output_close(struct output *o, bool verb_failed);

// The same for a library's `code`: if it is negative and not an error of the output, prints it as a failure of `what`.
enum status output_end(struct output *o, const char *what, int code);
