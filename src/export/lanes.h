// Calls on lanes. Viewers of traces draw the calls of a track inside each other, so a call that begins inside another
// one must end inside it, too. Calls of one thread need not do that: asynchronous ones overlap, and so do requests to
// servers. Therefore a thread, or a server of a stack, has as many lanes as it needs. A call goes below the call that
// made it, if that is the innermost call of a lane and lasts as long, and otherwise to a lane that is empty. The first
// lane of a thread is for calls that it waits for.
#pragma once

#include "base/lookup.h"
#include "log/event.h"

struct lane_call { // under way
    uint64_t id;
    int64_t end_ns;
    const struct log_call *call;
    uint64_t bytes;  // that it moves
    uint32_t handle; // for formats
};

struct lane {
    const struct log_process *process; // whose thread it belongs to; NULL: to a server
    uint32_t tid;
    uint32_t server;
    uint32_t number;        // among the lanes of the same thread or server
    uint32_t next;          // of these, or LOOKUP_NONE
    struct lane_call *open; // the innermost one is the last
    size_t depth;
};

struct lanes {
    void *context;
    // On each lane in the order of time, ends before begins.
    int (*add)(void *context, uint32_t lane); // a new one
    int (*begin)(void *context, uint32_t lane, const struct log_event *event, struct lane_call *call);
    int (*end)(void *context, uint32_t lane, const struct lane_call *call);
    struct lane *lane;
    size_t count;
    struct lookup first; // lane of a thread or server
};

// Events come in the order of their starts, as consumers of a visit get them.
int lanes_event(struct lanes *lanes, const struct log_event *event);
// Ends all calls that are under way.
int lanes_finish(struct lanes *lanes);
void lanes_free(struct lanes *lanes);
