// Names for the codes in a log. base/human.h formats numbers.
#pragma once

#include <stdio.h>

#include "base/human.h"
#include "log/event.h"

struct human describe_exit(const struct log_process *process); // as in JSON: "clean", "signal 9" …

// The name of the event's error: "ENOENT", of MPI-IO "MPI_ERR_NO_SUCH_FILE"; NULL if there is none, or if it is not
// known.
const char *describe_error(const struct log_event *event);

// "17", or of a group "0-32766,32768", cut with an ellipsis. Of a process without a rank "".
struct human describe_ranks(const struct log_process *process);
const char *describe_loss(unsigned reason);                    // enum loss_reason
const char *describe_via(enum process_via via);                // "preload", "ptrace", "link"; NULL if it is not known
const char *describe_event_via(const struct log_event *event); // the same, or "probe"
const char *describe_untied_why(unsigned reason);              // in words
const char *describe_untied(unsigned reason);                  // enum untied_reason: "no-thread" …
const char *describe_left_out(unsigned reason);                // enum left_out
const char *describe_file_system(const struct log_file *file); // the type's name as in the log, or "UNKNOWN"

// Prints what is wrong with a log, without a newline. Returns the number of problems and prints nothing if it is 0.
int describe_health(FILE *out, const struct log_health *health);
