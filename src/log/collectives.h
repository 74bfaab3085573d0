// What happens inside the collective calls of MPI-IO: the time of each call of each rank, divided into four parts.
//
//   wait      for the last rank of those that it meets in the call, and afterwards while another rank of the call
//             accesses the file and this one does not
//   io        file access: this rank is in calls below (POSIX), also while others are still missing
//   exchange  all ranks are there and none accesses the file, while data of the file, or who wants what of it, can move
//             between them: before the last file access of a write, and in all of a read
//   rest      what remains: after the last file access of a write, and in calls that move no data between ranks
//
// The parts of a call add up to its time: its duration or, if it is split, the time inside its begin and end. In a
// *two-phase* call some ranks, the aggregators, access the file for others. If each rank moved its own data, nothing
// was exchanged. The time of a two-phase call is also divided by round, except its rest:
//
//   write  a round ends with the last of its transfers on any rank: its exchange comes before
//   read   a round ends when a rank begins the first transfer of the next one: its exchange comes after
//
// The rounds are those of all ranks. Before a rank's call, and after it, they have none of its time. What precedes the
// first one or follows the last one belongs to it, so that each part is the sum of that part over the rounds.
//
// Memory is bounded by the calls that are in progress or wait for other ranks of the same call. A call that never finds
// them all, because a rank was lost or its calls were, is unmatched and not divided; neither are the calls after it on
// the same file, nor nonblocking ones.
#pragma once

#include "log/heap.h"
#include "log/meetings.h"
#include "log/visit.h"

enum inside_part { INSIDE_WAIT, INSIDE_EXCHANGE, INSIDE_IO, INSIDE_REST, INSIDE_PARTS };

extern const char *const inside_part_names[INSIDE_PARTS]; // "wait" …

struct inside_round {
    int64_t ns[INSIDE_REST]; // of each part but the rest
};

// One call of one rank.
struct collective_call {
    uint64_t id;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file; // or NULL
    uint64_t bytes;              // that it moved
    bool is_asked;               // it passes the filter
    bool is_matched;             // if not, the members below are 0
    int64_t ns[INSIDE_PARTS];
    uint32_t ranks;  // that made the call
    uint32_t rounds; // if two-phase: the most groups of transfers that one rank made below; otherwise 0
    const struct inside_round *by_round; // for the callback only; NULL if there are none, or too many for the memory
    bool is_aggregator;                  // it made some of these
    bool is_last;                        // it came after all others, and
    int64_t late_ns; // so long others waited for it alone: they were in the call, and some in no file access
};

// A negative return value stops the visit.
typedef int log_collective_callback(const struct collective_call *call, void *context);

struct collective_process {
    uint64_t calls; // matched, with other ranks
    uint64_t last;  // of these: it came last
    int64_t late_ns;
};

struct log_collectives {
    struct log *log;
    log_collective_callback *callback; // or NULL
    void *context;
    const struct log_filter *filter;    // or NULL: the callback gets only calls that pass it
    struct collective_process *process; // by index in the log's table
    uint64_t calls;                     // matched
    uint64_t unmatched, nonblocking;
    int64_t ns[INSIDE_PARTS]; // of the matched ones, over all ranks
    // Private.
    struct meetings meetings;
    struct collective_queue *queue; // by meeting
    size_t queues;
    struct collective_inside **open; // by process: its calls in progress
    struct collective_turn *oldest, *newest;
    size_t held;        // calls in memory
    size_t rounds_held; // of turns, and of calls
    struct inside_round *by_round;
    size_t by_rounds;
    struct log_heap ends;
};

// Whether the log has collective calls of MPI-IO at all, and the filter (or NULL) passes some of them.
bool log_has_collectives(const struct log *log, const struct log_filter *filter);
// Whether calls like this one are divided.
bool log_collectives_divide(const struct log_call *call);

int log_collectives_init(struct log_collectives *collectives, struct log *log, log_collective_callback *callback,
                         void *context);
// Adds an event, in the order of starts. The consumer does this; it is empty if the log has no collective calls, so
// that the visit needs no merge.
int log_collectives_add(struct log_collectives *collectives, const struct log_event *event);
struct log_consumer log_collectives_consumer(struct log_collectives *collectives);
int log_collectives_finish(struct log_collectives *collectives); // call it after the last event
void log_collectives_free(struct log_collectives *collectives);
