// Which collective calls of the processes belong together. Collective calls on a communicator are ordered: the n-th
// open of each of its processes is the same call, and so is the n-th collective call on the file that it opened. Such a
// sequence of calls is a *meeting*; the number of a call in it is its *turn*. When all processes have closed a file,
// the next one that the communicator opens goes on with its meeting.
#pragma once

#include "base/lookup.h"
#include "log/event.h"

struct meeting_turn {
    uint32_t meeting; // below `count` of the meetings; valid if there are several processes
    uint32_t turn;
    uint64_t size;    // number of processes that make the call; 0: unknown
    int64_t until_ns; // one of them makes no call after this time; INT64_MIN: one is not in the log
};

struct meetings {
    const struct log *log;
    struct meetings_process *process; // by index in the log's table
    struct meeting *meeting;
    size_t count;
    struct lookup comm_of;  // process and number of a communicator -> meeting of its opens
    struct lookup world_of; // the same for logs without communicators: world -> meeting
    struct lookup opens;    // process and meeting of a communicator -> opens so far
    struct lookup file_of;  // meeting and turn of an open -> meeting of the file
};

int meetings_init(struct meetings *meetings, const struct log *log);
// Collective calls of MPI-IO, those of each process in their order.
int meetings_enter(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn);
void meetings_free(struct meetings *meetings);
