// Codes in words, for people; numbers are in base/words.h.
#ifndef IOSEER_CLI_WORDS_H
#define IOSEER_CLI_WORDS_H

#include <stdio.h>

#include "base/words.h"
#include "log/log.h"

struct words words_exit(const struct log_process *process); // as in JSON: "clean", "signal 9" …

const char *words_loss(unsigned reason);                    // enum loss_reason
const char *words_left_out(unsigned reason);                // enum left_out
const char *words_file_system(const struct log_file *file); // the type's name as in the log, or "UNKNOWN"

// A file name or word of a command on one line: control characters become escapes such as \n or \x1b.
void words_print_name(FILE *out, const char *name);

// What is wrong with a log, as one line without its end; prints nothing and returns 0 where nothing is.
int words_print_health(FILE *out, const struct log_health *health);

#endif
