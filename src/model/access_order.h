// How operations of one kind follow each other in their file.
#pragma once

#include <stdbool.h>

#include "model/op.h"

struct access_order {
    int64_t last_offset;
    int64_t last_end;
    int64_t last_member;
    int64_t disp; // the first step
    uint64_t steps;
    uint64_t consecutive;
    uint64_t forward;
    uint64_t regular; // steps by `disp`
};

// The next operation. The first one, of a process say, follows none.
static inline void access_order_follow(struct access_order *course, const struct op *op, bool is_first)
{
    int64_t offset = op->at[AT_OFFSET], end = offset + op->at[AT_SIZE] - op->at[AT_SHORT];
    if (!is_first && course->last_member == op->at[AT_MEMBER]) {
        if (!course->steps++) course->disp = offset - course->last_offset;
        course->consecutive += offset == course->last_end;
        course->forward += offset >= course->last_end;
        course->regular += offset - course->last_offset == course->disp;
    }
    course->last_offset = offset;
    course->last_end = end;
    course->last_member = op->at[AT_MEMBER];
}

// Random: a good part of the steps goes backwards, and not in some regular way.
static inline const char *access_order_mode(const struct access_order *course)
{
    if (course->consecutive == course->steps) return "sequential";
    if (course->regular == course->steps) return "strided";
    uint64_t backward = course->steps - course->forward;
    if (course->steps >= 4 && backward * 5 >= course->steps && course->forward * 20 >= course->steps) return "random";
    return "irregular";
}
