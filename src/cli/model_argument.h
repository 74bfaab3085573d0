// The MODEL or LOG argument of a verb: a model, or a log (or the directory of a job's spill files) to make one from.
#pragma once

#include "cli/log_argument.h"
#include "model/model.h"

struct model_argument {
    struct log_argument log; // log.log is NULL where the word names a model
    struct model model;
};

// Parses the options --layer and --gap. Prints what is wrong; returns an exit status.
enum status model_argument_options(struct model_options *options, const char *verb, const struct model_choice *rows);

// Opens what `word` names. Prints what is wrong; returns an exit status. The options are for logs: a model has its own.
enum status model_argument_open(struct model_argument *argument, const char *verb, char *word,
                                const struct model_options *options);
void model_argument_close(struct model_argument *argument);

// output_open for the verb, but never over the argument itself.
enum status model_argument_output(const struct model_argument *argument, struct output *output, const char *path);

// A whole verb that prints what one LOG or MODEL says: opens argv[1] and the output, calls `print`, warns about damage.
// `print` returns 0 or a negative code. Returns an exit status.
enum status model_argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                                 const struct model_choice *rows,
                                 int (*print)(const struct model *model, struct output *output));

// One line on standard error where a part of the log could not be read.
void model_argument_warn(const struct model_argument *argument);

// Where the model has several programs: one line that says which of them is `done` ("replayed", "predicted").
void model_argument_print_program(FILE *out, const struct model *model, uint32_t program, const char *done);
