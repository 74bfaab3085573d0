// Where the time of calls on a stack's files goes, layer by layer down to the disks of its servers. Of a log that has
// no calls below the system call, there is nothing here.
//
// A *top call* is one that the program made: of HDF5, MPI-IO, POSIX … A *fragment* is a call of the file system's
// client; a top call may have many, one after the other. A fragment may ask several servers at once. So, as in IOPro:
//
//   inclusive latency of a layer in a top call
//       down to the client: the sum of the layer's calls, without those inside another one of the same layer
//       below: the sum over the fragments of the maximum over the servers; a server has the sum of its calls
//   exclusive latency   the inclusive one, minus that of the calls of other layers directly below. It is negative if
//                       calls of one server, or of the layer below, overlap
//   throughput          adds up
//
// Only calls on files of the stack count: those with calls of the client inside, and on files under its mount point.
//
// The times in which requests were on their way to servers are compared between the servers (stack_servers.c).
//
// Events come in the order of their starts. Memory is bounded by the calls in progress, by collective calls that wait
// for ranks, and by what is listed here.
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "base/lookup.h"
#include "log/heap.h"
#include "log/meetings.h"
#include "log/visit.h"
#include "summary/coverage.h"

enum {
    STACK_MOST_SERVERS = 256, // servers with higher numbers count only in the layers
    STACK_LONGEST = 12,
    STACK_BINS = 240,
};

struct stack_latency {
    int64_t inclusive_ns, exclusive_ns;
};

// The calls of one layer.
struct stack_layer {
    uint64_t calls; // without those inside another one of the same layer
    uint64_t bytes[DIRECTION_COUNT];
    struct stack_latency time;
    int64_t ns, longest_ns, shortest_ns; // of single calls: sum, most, least
};

struct stack_process {
    const struct log_process *process; // NULL: no calls
    uint64_t calls;                    // top calls
    struct stack_layer layer[LAYER_COUNT];
};

// A top call with calls of servers below it.
struct stack_call {
    uint64_t id;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file; // or NULL
    int64_t start_ns, duration_ns;
    uint64_t bytes, disk_accesses;
    unsigned servers;
    struct stack_latency time[LAYER_COUNT];
};

// Which call of the program an event belongs to, for questions about single calls. In a process that calls MPI-IO, the
// calls with numbers are those of MPI-IO: calls above these and beside them have none.
struct stack_place {
    uint64_t top;   // id of the outermost call of MPI-IO around it or, if there is none, of the outermost call
    bool is_caused; // false: no call of the program is known to have caused it, so there is no top
    int64_t number; // of the top call in its process, from 0; -1: none
    int64_t part;   // number of its fragment in the top call, from 0; without a client: of its system call; -1: above
    uint32_t depth; // calls around it
};

struct stack_share { // of a top call at one layer
    uint64_t calls;
    uint64_t bytes[DIRECTION_COUNT];
    struct stack_latency time;
};

struct stack_top {
    struct stack_place of;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file; // or NULL
    int64_t start_ns, duration_ns;
    const struct stack_share *layer; // by layer
};

struct stack_numbers { // of a process
    bool has_mpiio;
    int64_t calls;
};

// How many of something one call had.
struct stack_count {
    uint64_t calls, sum, most;
};
static inline double stack_mean(const struct stack_count *count) {
    return count->calls ? (double)count->sum / (double)count->calls : 0;
}

enum stack_overload { OVERLOAD_NONE, OVERLOAD_SLOW, OVERLOAD_CROWDED };

// Its calls are those of the lowest layer that was probed: of its disk.
struct stack_server {
    uint64_t calls;
    uint64_t bytes[DIRECTION_COUNT];
    int64_t ns, longest_ns; // of single calls: sum, most
    int64_t busy_ns;        // with at least one call under way
    int64_t busy_until_ns;
    struct {
        int64_t busy_ns;
        uint64_t bytes;
    } bin[STACK_BINS];
    // Requests: calls on their way to the server, answer included.
    uint64_t requests;
    uint32_t depth;     // requests under way
    double wall_ns;     // its part of the time with requests under way anywhere: each request has an equal part
    int64_t any_ns;     // with requests under way
    int64_t crowded_ns; // of these: several, and none at any other server
    double spread_ns;   // of these: what it would take less if all servers shared them
    // Set at the end.
    double slower; // how many times longer its requests take than like requests at the others; 0: unknown
    enum stack_overload overload;
    int64_t lost_ns; // if it is overloaded: wall-clock time that this costs
};

// Requests of one kind and size, compared between servers. Logarithms: a mean of these is not moved by a few pauses.
struct stack_likes {
    struct {
        double calls, log_ns;
    } of[STACK_MOST_SERVERS];
};

// Bytes of one file that the program moved, then those at each layer from the client on (stack_bytes.c).
enum { STACK_LEVELS = 5, STACK_DIFFERENCES = 2 * (STACK_LEVELS - 1) };
struct stack_moved {
    const struct log_file *file; // or NULL
    uint64_t bytes[STACK_LEVELS][DIRECTION_COUNT];
};

enum stack_cause { STACK_CACHED, STACK_AHEAD, STACK_CODED, STACK_HOLES, STACK_UNANSWERED, STACK_INTERNAL };

// By how much files moved more or fewer bytes at a layer than above it.
struct stack_difference {
    unsigned above, layer; // LAYER_NONE above: the program
    bool is_more;
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t files;
    enum stack_cause cause;
};

struct stack_watts {
    double active, inactive;
    bool is_given; // otherwise assumed
};

#define STACK_WATTS ((struct stack_watts){.active = 13.5, .inactive = 10.2}) // of a disk in a server

struct summary_stack {
    struct log *log;
    const char *mount;      // or NULL
    const uint64_t *device; // of its files
    size_t devices;
    int64_t run_ns;
    struct stack_watts watts;
    struct stack_layer layer[LAYER_COUNT];
    struct stack_process *process;            // by index in the log's table
    struct stack_call longest[STACK_LONGEST]; // the longest first; of equal ones the earlier
    size_t longest_count;
    struct stack_server *server;
    size_t servers;  // of the stack, as far as known: also those without calls
    unsigned lowest; // the lowest layer with calls
    uint64_t top_calls;
    struct stack_count accesses;    // disk calls per top call that moves data
    struct stack_count collectives; // servers per collective call of all its ranks that moves data
    uint64_t unmatched;             // collective calls of which some ranks were not found
    struct stack_moved *moved;      // by file
    size_t moved_count;
    // If calls are numbered:
    struct stack_place place;                                    // of the event that was added last
    void (*end_top)(void *context, const struct stack_top *top); // or NULL; gets each top call when it ends
    void *context;
    // Private.
    struct stack_numbers *numbers; // by process, or NULL
    struct stack_node **node;      // calls that may have calls below them
    size_t nodes;
    uint32_t *free_node;
    size_t free_nodes;
    struct lookup node_of;  // id -> place in `node`
    struct lookup moved_of; // index of a file + 1 (0: none) -> place in `moved`
    struct log_heap ends;
    uint64_t begun;
    struct meetings meetings;
    struct stack_gathering *gathering; // collective calls that are not complete
    size_t gatherings;
    int64_t now_ns;    // requests are counted up to here
    uint32_t requests; // under way
    uint32_t asked;    // servers with requests under way
    struct stack_likes *likes;
    size_t likes_count;
    struct lookup likes_of; // call and size -> place
};

// The visit's consumer; without calls below the system call it has no callbacks.
int stack_begin(struct summary_stack *stack, struct log *log, struct log_consumer *consumer);
// The same without a visit: `lowest` is the lowest layer below the system call, LAYER_NONE if there is none.
int stack_init(struct summary_stack *stack, struct log *log, unsigned lowest);
int stack_add(struct summary_stack *stack, const struct log_event *event);
// With numbers of calls. Without calls below the system call, all calls count, not only those on files of a stack.
// `has_mpiio` says for each process whether it calls MPI-IO, which must be known before its first call.
int stack_begin_numbered(struct summary_stack *stack, struct log *log, const bool *has_mpiio);
int stack_find_mpiio(struct log *log, bool **has_mpiio); // to be freed, also after an error
int stack_finish(struct summary_stack *stack);
void stack_free(struct summary_stack *stack);

static inline uint64_t stack_bytes(const struct log_event *event) { // that it moved
    return log_class_moves(event->call->class) && !event->raw.error ? log_event_bytes(event) : 0;
}
static inline bool stack_has(const struct summary_stack *stack) { return stack->lowest; }
bool stack_has_file(const struct summary_stack *stack, const struct log_file *file); // also by another name
unsigned stack_layer_below(unsigned layer); // the next one downwards; LAYER_NONE is above all and below all
// The next layer downwards with calls, from the program to the disk; begin with LAYER_NONE, which also ends.
unsigned stack_next_layer(const struct summary_stack *stack, unsigned layer);
double stack_energy(const struct summary_stack *stack, const struct stack_server *server); // joules
const char *stack_overload_name(enum stack_overload overload);                             // NULL for none

// --- the servers (stack_servers.c)

int stack_servers_room(struct summary_stack *stack, size_t count);
// A call of the lowest layer; and the time of all requests up to now.
int stack_server_add(struct summary_stack *stack, const struct log_event *event, unsigned number);
void stack_requests_until(struct summary_stack *stack, int64_t now_ns);
int stack_request_begin(struct summary_stack *stack, const struct log_event *event, unsigned number);
void stack_request_end(struct summary_stack *stack, unsigned number);
void stack_compare_servers(struct summary_stack *stack);

// --- bytes at each layer (stack_bytes.c)

int stack_moved_add(struct summary_stack *stack, const struct log_file *file, const struct log_call *call,
                    uint64_t bytes);
size_t stack_differences(const struct summary_stack *stack, struct stack_difference found[STACK_DIFFERENCES]);
const char *stack_cause_name(enum stack_cause cause); // "cached" …
const char *stack_cause_why(enum stack_cause cause);  // in words

// --- what the log says about the stack and its servers, and what is not tied (stack_facts.c)

int stack_text_facts(const struct log *log, FILE *out);
void stack_json_facts(const struct log *log, struct json_out *json);
void stack_json_server(const struct log *log, size_t number, struct json_out *json);
void stack_json_untied(const struct log *log, struct json_out *json);

// --- in words, and as members of an open object (stack_text.c)

int stack_text(const struct summary_stack *stack, FILE *out);
int stack_json(const struct summary_stack *stack, struct json_out *json, size_t most);
// "ACTIVE,INACTIVE".
#define STACK_WATTS_WRONG "two numbers of watts are needed: when busy, and otherwise"
bool stack_watts_parse(const char *text, struct stack_watts *watts);
