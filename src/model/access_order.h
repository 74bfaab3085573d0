// How the operations of one kind follow each other in their file.
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

// Adds the next operation. The first one, for example of a process, follows none.
static inline void access_order_follow(struct access_order *order, const struct op *op, bool is_first) {
    int64_t offset = op->at[AT_OFFSET], end = offset + op->at[AT_SIZE] - op->at[AT_SHORT];
    if (!is_first && order->last_member == op->at[AT_MEMBER]) {
        if (!order->steps++) order->disp = offset - order->last_offset;
        order->consecutive += offset == order->last_end;
        order->forward += offset >= order->last_end;
        order->regular += offset - order->last_offset == order->disp;
    }
    order->last_offset = offset;
    order->last_end = end;
    order->last_member = op->at[AT_MEMBER];
}

// Random: many steps go backwards, in no regular way.
static inline const char *access_order_mode(const struct access_order *order) {
    if (order->consecutive == order->steps) return "sequential";
    if (order->regular == order->steps) return "strided";
    uint64_t backward = order->steps - order->forward;
    if (order->steps >= 4 && backward * 5 >= order->steps && order->forward * 20 >= order->steps) return "random";
    return "irregular";
}
