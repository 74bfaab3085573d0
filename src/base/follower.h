// How a program that no library can be preloaded into is started: through `ioseer-follow`, which starts a tracer and
// becomes the program. Its own environment is empty, so that nothing is preloaded into it; it gets the program's
// environment as further arguments:
//   ioseer-follow PATH COUNT ARGUMENT… VARIABLE…      COUNT: number of arguments
#pragma once

#include <stddef.h>

#define FOLLOWER_NAME "ioseer-follow"
// Instead of PATH, followed by a number of seconds (0: no limit) and processes: joins them. Its environment has the
// settings. Its exit status is an errno, 0 once they are joined.
#define FOLLOWER_JOINS "-"

enum { FOLLOWER_PATH = 1, FOLLOWER_COUNT, FOLLOWER_FIRST };

struct follower_count {
    char text[24];
};

static inline size_t follower_count_words(char *const *words) {
    size_t count = 0;
    while (words && words[count]) count++;
    return count;
}

// Number of words that follower_fill needs, the final NULL included.
static inline size_t follower_room(char *const *argv, char *const *envp) {
    return FOLLOWER_FIRST + follower_count_words(argv) + follower_count_words(envp) + 1;
}

static inline void follower_fill(char **words, struct follower_count *count, const char *follower, const char *path,
                                 char *const *argv, char *const *envp) {
    size_t arguments = follower_count_words(argv), variables = follower_count_words(envp);
    char *digit = count->text + sizeof count->text - 1;
    *digit = 0;
    size_t rest = arguments;
    do *--digit = (char)('0' + rest % 10);
    while (rest /= 10);
    words[0] = (char *)follower;
    words[FOLLOWER_PATH] = (char *)path;
    words[FOLLOWER_COUNT] = digit;
    for (size_t i = 0; i < arguments; i++) words[FOLLOWER_FIRST + i] = argv[i];
    for (size_t i = 0; i < variables; i++) words[FOLLOWER_FIRST + arguments + i] = envp[i];
    words[FOLLOWER_FIRST + arguments + variables] = NULL;
}
