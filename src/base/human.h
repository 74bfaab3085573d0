// Numbers in words, for people.
#pragma once

#include <stdint.h>

struct human { // room for one short text; functions return it so that several fit one printf
    char text[96];
};

struct human human_bytes(uint64_t bytes);                   // "1.5 MiB"
struct human human_seconds(int64_t ns);                     // "1.234 s", "35 us"
struct human human_time(double seconds);                    // the same
struct human human_percent(double fraction);                // "99.7 %"; never rounded up to 100
struct human human_count(uint64_t count, const char *noun); // "1 event", "12,345 events"
