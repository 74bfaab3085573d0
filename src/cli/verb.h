// A verb of the command line: one file and one row in verbs.def.
#pragma once

#include "base/json_in.h"
#include "base/options.h"
#include "base/problem.h"

// Exit status of a verb. `record` exits as its command does, or with the shell's numbers if the command could not run.
enum status {
    STATUS_OK = 0,
    STATUS_FAILURE = 1,
    STATUS_USAGE = 2,
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128, // and the number of the signal that ended the work
};

struct verb {
    const char *name;
    const char *summary;                       // one line, for `ioseer --help`
    const char *usage;                         // what follows the verb: "[OPTION]... LOG"; one line per form
    const char *about;                         // a paragraph for `ioseer VERB --help`
    const struct option_row *options;          // ended by a row without a name
    bool command_follows;                      // options end at the first word that is not an option (record)
    enum status (*run)(int argc, char **argv); // gets the words left after the options
};

#define VERB(name) extern const struct verb verb_##name;
#include "cli/verbs.def"
#undef VERB

// Prints one line on standard error, "ioseer VERB: " and the text: something that the user should know.
void cli_warn(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Prints "ioseer VERB: ", or "ioseer: " if it is NULL, before the text of an error.
void cli_prefix(const char *verb);

// Prints "ioseer VERB: what: why" on standard error and returns STATUS_FAILURE. `code` as in base/err.h.
enum status cli_fail(const char *verb, const char *what, int code);

// The same for a JSON file that could not be read; with the line and the reason if `error` has them.
enum status cli_fail_json(const char *verb, const char *path, int code, const struct json_in_error *error);

// The same with the reason in words and STATUS_USAGE.
enum status cli_usage(const char *verb, const char *what, const char *why);

// Prints the reason that a library gave for a failure; `what` if it gave none. Returns the exit status: STATUS_USAGE
// for ERR_USAGE, 128 + signal if a signal ended the work, else STATUS_FAILURE.
enum status cli_problem(const char *verb, const char *what, const struct problem *problem, int code);
