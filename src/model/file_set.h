// Groups file names that differ only in decimal numbers: /d/out.0 … /d/out.15 are one set. A model refers to the set.
// Names are bytes and include the directories.
//
// A number is a run of at most 18 digits; a longer run is text. Names of one set have the same text around their
// numbers and the same way of writing numbers: 9 and 10 are in one set, 007 and 123 too, 7 and 007 are not.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FILE_SET_MAX_DIGITS = 18 };

// A number that varies, as a function of the member's index i: with k = i / every % count it is first + step * k, or
// value[k] if `value` is not NULL. So dump 0 … 2 of ranks 0 … 15 is {every 16, count 3} and {every 1, count 16}, and a
// number that appears twice in each name takes no more room than one.
struct file_set_number {
    uint64_t first;
    int64_t step;
    uint64_t every;  // members that follow each other with the same number, at least 1
    uint64_t count;  // different places, at least 1
    uint64_t *value; // `count` of them, or NULL if the numbers are regular
    unsigned width;  // shorter numbers have zeros in front; 1 for none
};

struct file_set {
    // With numbers that vary, `*` stands for each of them and a backslash before `*`, `?`, `[` and itself makes it
    // plain: a pattern of base/glob.h. Without such numbers there is one member, and this is its name.
    char *pattern;
    size_t member_count;
    size_t number_count;            // of those that vary
    struct file_set_number *number; // in the order of the pattern
};

struct file_sets {
    size_t set_count;
    struct file_set *set; // in an order that does not depend on that of the names
    struct file_place {
        uint32_t set;
        uint32_t member; // rank in the order of the numbers, the leftmost first; equal names are one member
    } * place;           // of each name
};

int file_sets_make(struct file_sets *sets, const char *const *names, size_t count);
void file_sets_free(struct file_sets *sets);

// For sets that come from a file: 0, or ERR_FORMAT if the functions below must not be called.
int file_set_check(const struct file_set *set);

// Writes the member's name with a closing zero. Returns its length, or ERR_LIMIT if it does not fit.
int file_set_member_name(const struct file_set *set, size_t index, char *name, size_t size);
