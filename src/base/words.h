// Numbers in words, for people.
#ifndef IOSEER_BASE_WORDS_H
#define IOSEER_BASE_WORDS_H

#include <stdint.h>

struct words { // room for one short text; functions return it so that several fit one printf
    char text[96];
};

struct words words_bytes(uint64_t bytes);                   // "1.5 MiB"
struct words words_seconds(int64_t ns);                     // "1.234 s", "35 us"
struct words words_time(double seconds);                    // the same
struct words words_percent(double fraction);                // "99.7 %"; never rounded up to 100
struct words words_count(uint64_t count, const char *noun); // "1 event", "12,345 events"

#endif
