// Numbers and names as people read them.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct human { // one short text; returned by value, so that one printf can use several
    char text[96];
};

// Rounded as CONVENTIONS in ioseer(1) says, and as the page does (web/src/format.mjs).
struct human human_bytes(uint64_t bytes);                   // "1.5 MiB"
struct human human_bandwidth(double bytes_per_second);      // "1.5 MiB/s"
struct human human_seconds(int64_t ns);                     // "1.23 s", "35.0 us"
struct human human_time(double seconds);                    // the same
struct human human_long_time(double seconds);               // sums over many programs: in hours from 2 on
struct human human_percent(double fraction);                // "99.7 %"; less than all is not 100
struct human human_count(uint64_t count, const char *noun); // "1 event", "12,345 events"

// Writes the digits of `value`, at least `least` of them, so that they end before `end`; returns where they begin.
// printf is too slow for output of millions of numbers.
static inline char *human_digits(char *end, uint64_t value, unsigned least) {
    for (; value || least; value /= 10) {
        *--end = (char)('0' + value % 10);
        if (least) least--;
    }
    return end;
}

// A file name or word of a command on one line: control characters, also those that turn the direction of text, become
// escapes such as \n or \x1b.
void human_print_name(FILE *out, const char *name);
size_t human_plain(const char *text, size_t len); // bytes before the first one to escape
struct human human_escape(unsigned char byte);    // one of these

// Words in lines of HUMAN_LINE columns, or fewer in a narrow terminal. The first line begins with `first`; the others
// are indented by its length.
enum { HUMAN_LINE = 100 };
void human_paragraph(FILE *out, const char *first, const char *text);
// Words from column `indent` on, in lines of `most` columns.
void human_words(FILE *out, unsigned indent, unsigned most, const char *text);
