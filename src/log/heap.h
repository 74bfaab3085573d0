// A heap of event sequences. The one with the earliest next event is on top.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_turn {
    int64_t start_ns; // of the next event
    uint64_t id;      // orders events that start at the same time: parents come before children of their stream
    void *owner;
};

struct log_heap {          // all zero is empty
    struct log_turn *turn; // the earliest is turn[0]
    size_t count;
};

// Both numbers as one, so that a comparison needs no branch.
static inline unsigned __int128 log_turn_key(const struct log_turn *turn) {
    return (unsigned __int128)((uint64_t)turn->start_ns ^ UINT64_C(1) << 63) << 64 | turn->id;
}

static inline bool log_turn_before(const struct log_turn *a, const struct log_turn *b) {
    return log_turn_key(a) < log_turn_key(b);
}

int log_heap_push(struct log_heap *heap, struct log_turn turn);
// Removes the top. The heap must not be empty.
void log_heap_pop(struct log_heap *heap);
// Replaces the top by its next event.
void log_heap_replace(struct log_heap *heap, struct log_turn turn);
