// The LOG, MODEL or LOG|MODEL argument of a verb: a log, a directory of spill files (packed into a temporary log), or a
// model.
#pragma once

#include "cli/option_rows.h"
#include "cli/output.h"
#include "log/log.h"
#include "model/model.h"

struct argument {
    const char *verb;
    const char *path;
    struct log *log; // NULL if the word names a model
    bool is_directory;
    struct model model; // argument_open_model reads it or makes it from the log
};

// These print what is wrong and return an exit status. Close the argument only after STATUS_OK.
enum status argument_open_log(struct argument *argument, const char *verb, const char *word);
// `choice` is for logs and may be NULL: a model already contains its layer and gap.
enum status argument_open_model(struct argument *argument, const char *verb, const char *word,
                                const struct model_choice *choice);
void argument_close(struct argument *argument);

// Refuses any number of words but one; `what` names it.
enum status argument_count(const char *verb, const char *what, int argc, char **argv);
// Refuses a path for output that is the argument itself.
enum status argument_spare(const struct argument *argument, const char *path);
// output_open for the verb, but never over the argument.
enum status argument_output(const struct argument *argument, struct output *output, const char *path);

// Says on standard error if a part of the log could not be read, or a model lacks what the log never had. Call it
// after reading.
void argument_warn(const struct argument *argument);

// A whole verb that prints what one LOG says, or with `choice` one LOG or MODEL: opens argv[1] and the output, calls
// `print`, warns about damage. `print` returns 0 or a negative code. Returns an exit status.
enum status argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                           const struct model_choice *choice,
                           int (*print)(const struct argument *argument, struct output *output));

// If the model has several programs, prints one line that says which of them is `done` ("replayed", "predicted").
void argument_print_program(FILE *out, const struct model *model, uint32_t program, const char *done);
