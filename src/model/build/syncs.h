// Where the ranks of a program wait for each other.
#pragma once

#include "model/build/communicators.h"

// Ranks that wait for each other once.
struct sync_event {
    uint8_t sync;          // enum op_sync; collective operations are SYNC_BARRIER
    bool is_cancelled;     // it cannot happen
    bool is_open;          // all ranks, or the sender, were here: nobody waits any more
    uint32_t root;         // rank in the program; of messages: the sender
    uint32_t receiver;     // of messages
    uint32_t communicator; // joined; messages: NO_COMMUNICATOR
    uint32_t expected;     // ranks
    uint32_t arrived;
    size_t waiting; // the first item that waits, or SIZE_MAX
};

// A thread's part in an event.
struct sync_item {
    size_t event;
    size_t station;
    uint32_t order; // among all items of the program: when it happens
    bool is_done;
    size_t next; // that waits for the same event, or SIZE_MAX
};

// Where a thread may wait: between two operations, or in a collective one.
struct sync_station {
    uint32_t thread;
    size_t transfers, others; // operations of the thread before it
    bool is_io;
    bool goes_on; // an operation follows
    size_t partner_first, partner_end;
    size_t first, end; // items
};

struct syncs {
    struct sync_event *event;
    size_t events;
    struct sync_item *item; // by station
    size_t items;
    struct sync_station *station; // by thread, in its order
    size_t stations;
};

// Gives each item its place in an order in which all of them can happen, and cancels events that cannot
// (sync_order.c).
int syncs_order(struct syncs *syncs, const struct recorded *recorded);
