// Every kind of call that the events have: how many, how long they took, and how large they were.
#pragma once

#include "base/histogram.h"
#include "log/visit.h"

struct call_summary {
    const struct log_call *call;
    uint64_t failed;
    uint64_t bytes;             // moved
    struct histogram durations; // ns
    struct histogram sizes;     // bytes asked for; empty for calls without a size
};

struct call_list {
    struct call_summary **item; // by layer, then the longest time first
    size_t count;
};

int call_list_make(struct call_list *list, struct log *log);
void call_list_free(struct call_list *list);
