// GNU-style options from a table: one row gives name, letter, type, target, help.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_FLAG,     // bool *
    OPTION_TEXT,     // const char **
    OPTION_CHOICE,   // the same, one of the words of `argument`: "none|kernel"
    OPTION_CHOICES,  // the same, some of the words, with commas
    OPTION_NUMBER,   // uint64_t *
    OPTION_COUNT,    // uint64_t *, at least 1
    OPTION_SIZE,     // uint64_t *, bytes: 4k, 16M, 2GiB (powers of 1024), 100MB (powers of 1000)
    OPTION_DURATION, // double *, seconds: 10us, 5ms, 2s, 5min, 1h, 2
    OPTION_LIST,     // struct option_list *, may be given several times
    OPTION_WORDS,    // the same, and takes all words up to the next option
};

struct option_list {
    const char **item;
    size_t count;
};

struct option_row {
    const char *name; // without the dashes; NULL ends the table
    char letter;      // 0 for none
    enum option_type type;
    void *target;
    const char *argument; // "FILE", or what may be given: "none|kernel"; NULL for flags
    const char *help;     // one line
};

// Removes the options from argv (argv[0] is the verb and stays) and moves the other words to its front, in order. `--`
// ends the options and is removed. With `stop_at_word` the first word that is not an option ends them, too. Returns
// the number of words left (argv[0] included) or ERR_USAGE with one line in `problem`.
int options_parse(const struct option_row *rows, bool stop_at_word, int argc, char **argv, char problem[256]);

// Prints two aligned columns, one row per option, as wide as the terminal.
void options_print(const struct option_row *rows, FILE *out);

int options_size(const char *text, uint64_t *bytes);
int options_duration(const char *text, double *seconds);
bool options_percent(const char *text, double *fraction); // "5%" or "5 %", more than 0 and less than 100
bool options_are_ranks(const char *text);                 // numbers and ranges with commas: 0,4-7
