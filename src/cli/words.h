// Numbers and codes in words, for people.
#ifndef IOSEER_CLI_WORDS_H
#define IOSEER_CLI_WORDS_H

#include <stdint.h>
#include <stdio.h>

#include "log/log.h"

struct words { // room for one short text; functions return it so that several fit one printf
    char text[96];
};

struct words words_bytes(uint64_t bytes);                   // "1.5 MiB"
struct words words_seconds(int64_t ns);                     // "1.234 s", "35 us"
struct words words_percent(double fraction);                // "99.7 %"; never rounded up to 100
struct words words_exit(const struct log_process *process); // as in JSON: "clean", "signal 9" …
struct words words_count(uint64_t count, const char *noun); // "1 event", "12,345 events"

const char *words_loss(unsigned reason);                    // enum loss_reason
const char *words_left_out(unsigned reason);                // enum left_out
const char *words_file_system(const struct log_file *file); // the type's name as in the log, or "UNKNOWN"

// A file name or word of a command on one line: control characters become escapes such as \n or \x1b.
void words_print_name(FILE *out, const char *name);

// What is wrong with a log, as one line without its end; prints nothing and returns 0 where nothing is.
int words_print_health(FILE *out, const struct log_health *health);

#endif
