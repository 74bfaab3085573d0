// Why a library function failed, in words that a user understands. A library never prints: it fills a problem and
// returns a negative code; the verb prints both with cli_problem (cli/verb.h) as "ioseer VERB: what: why".
//
//   int system_open(struct system *system, const char *path, struct problem *problem)
//   {
//       int fd = open(path, O_RDONLY);
//       if (fd < 0) return problem_code(problem, -errno, path);
//       if (is_empty(fd)) return problem_set(problem, ERR_NOTHING, path, "it has no points");
//
// Each function returns `code`, so that a failure is one line. A problem that is zero ({0}) is empty; the caller may
// then fill it with a general reason. The first reason stays: later ones do not replace it.
#pragma once

#include "base/json_in.h"

struct problem {
    char what[4096]; // file, option or other subject of the problem; empty: none
    char why[1024];  // empty: only the code is known
    int signal;      // that ended the work (with -EINTR): nothing is printed, the exit status is 128 + signal
};

int problem_set(struct problem *problem, int code, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Uses the text of the code (base/err.h).
int problem_code(struct problem *problem, int code, const char *what);
// For a JSON file that could not be read, with the line and the reason if `error` has them.
int problem_json(struct problem *problem, int code, const char *path, const struct json_in_error *error);
