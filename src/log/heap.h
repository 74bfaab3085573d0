// Which of several sequences of events goes on first.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_turn {
    int64_t start_ns; // of the event that is due
    uint64_t id;      // puts the events of one moment in a fixed order, parents first within their stream
    void *owner;
};

struct log_heap {          // all zero is empty
    struct log_turn *turn; // the earliest on top
    size_t count;
};

// Both numbers in one, so that a comparison needs no branch.
static inline unsigned __int128 log_turn_key(const struct log_turn *turn)
{
    return (unsigned __int128)((uint64_t)turn->start_ns ^ UINT64_C(1) << 63) << 64 | turn->id;
}

static inline bool log_turn_before(const struct log_turn *a, const struct log_turn *b)
{
    return log_turn_key(a) < log_turn_key(b);
}

int log_heap_push(struct log_heap *heap, struct log_turn turn);
// Takes the top out; there must be one.
void log_heap_pop(struct log_heap *heap);
// The top has another event due now.
void log_heap_replace(struct log_heap *heap, struct log_turn turn);
