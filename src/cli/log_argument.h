// The LOG argument of a verb: a log, or the directory of a job's spill files, which is packed on the fly.
#pragma once

#include <stdbool.h>

#include "cli/option_rows.h"
#include "cli/output.h"
#include "log/log.h"

struct log_argument {
    const char *verb;
    const char *path;
    struct log *log;
    bool is_directory;
};

// Opens argv[1], which must be the only word. Prints what is wrong; returns an exit status.
enum status log_argument_open(struct log_argument *argument, const char *verb, int argc, char **argv);
void log_argument_close(struct log_argument *argument);

// Refuses a path for output that is the log itself. Prints that; returns an exit status.
enum status log_argument_spare(const struct log_argument *argument, const char *path);

// output_open for the verb, but never over the log that is being read.
enum status log_argument_output(const struct log_argument *argument, struct output *output, const char *path);

// Prints one line on standard error if a part of the log could not be read. Call it after reading.
void log_argument_warn(const struct log_argument *argument);

// A whole verb that prints what one LOG says: opens argv[1] and the output, calls `print`, warns about damage.
// `print` returns 0 or a negative code. Returns an exit status.
enum status log_argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                               int (*print)(struct log *log, struct output *output));
