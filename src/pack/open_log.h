// Opens what a user names as LOG: a log, or a directory of spill files, which is packed into a temporary log first.
#pragma once

#include <stdbool.h>

#include "base/problem.h"
#include "log/log.h"

// `is_directory` becomes true where `path` is a directory. The caller ignores SIGXFSZ: a temporary log that may not
// grow large enough is an error, like a full disk.
int pack_open_log(struct log **log, const char *path, bool *is_directory, struct problem *problem);
