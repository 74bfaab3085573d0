#include "base/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int problem_set(struct problem *problem, int code, const char *what, const char *format, ...) {
    va_list words;
    if (*problem->what || *problem->why) return code;
    snprintf(problem->what, sizeof problem->what, "%s", what ? what : "");
    va_start(words, format);
    vsnprintf(problem->why, sizeof problem->why, format, words);
    va_end(words);
    return code;
}

int problem_code(struct problem *problem, int code, const char *what) {
    return problem_set(problem, code, what, "%s", err_text(code));
}

int problem_json(struct problem *problem, int code, const char *path, const struct json_in_error *error) {
    char place[sizeof problem->what];
    if (!error->line) return problem_code(problem, code, path);
    snprintf(place, sizeof place, "%s:%u", path, error->line);
    return problem_set(problem, code, place, "%s", error->message);
}
