// A stack as the words of a command line describe it.
#pragma once

#include "base/options.h"
#include "stack/stack.h"

struct stack_options {
    const char *name, *layout, *layers, *cache, *mount, *ports, *hosts, *remote;
    uint64_t servers, shard_bytes, redundancy, owner; // 0: not given
    bool plain;
    struct option_list bricks;
    struct option_list emulate, block, read_bandwidth, write_bandwidth; // each [SERVER=]VALUE
    struct option_list pin, avoid;                                      // each DIR=SERVER
};

// Fills in a stack for stack_up(). ERR_USAGE, with the reason, if the options make none. stack_forget() in any case.
int stack_from_options(struct stack *stack, const struct stack_options *options, struct problem *problem);
