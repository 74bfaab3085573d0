// Joins what the probes of a stack recorded with the events of the program (doc/design.md). A call of the file system's
// client belongs to the system call during which its thread made it; every call below that names its parent.
#pragma once

#include "base/bytes.h"
#include "base/lookup.h"
#include "fmt/records.h"
#include "fmt/stream.h"
#include "pack/clock_fit.h"
#include "pack/probe_read.h"

struct pack;
struct pack_process;
struct pack_below;
struct bounds;

// Where a call of a probe stands in the log, for the calls below it.
struct pack_tie {
    uint64_t index;    // of its record
    uint32_t root;     // index in pack_stack.root + 1; 0: it is not in the log
    uint32_t number;   // in its stream; if it is not in the log, enum untied_reason, or 0: it is not the job's
    uint64_t from, to; // clock units of the process
    bool is_given_up;  // the answer did not come: what is below may go on after its end
};

struct pack_probe {
    char *name; // of the file
    struct probe_file file;
    uint64_t unread;     // records at its end that could not be read the last time
    uint64_t base_ns;    // less this, its times count from the job's start
    bool is_other_clock; // than the client's
    size_t next_root;    // of a client: its calls in pack_stack.root that are still to be written
    size_t roots_end;
    uint32_t host;        // of a client: index of the first one on the same host
    struct pack_tie *tie; // of the job's calls, in the order of the records; none at the disk, which nothing is below
    size_t ties;
};

// An event that may be the cause of a client's call.
struct pack_cause {
    uint32_t process; // its id; 0: none
    uint32_t stream;  // the process's own number
    uint32_t number;
    uint32_t file; // the process's own number
    uint32_t tid;
    uint8_t distance;  // of its layer from the system call
    uint8_t class;     // enum call_class
    uint64_t from, to; // clock units
};

// A call of the client that may be the job's.
struct pack_root {
    uint64_t index;           // of its record
    int64_t start_ns, end_ns; // since the job's start
    uint64_t inode, offset, size;
    uint32_t host; // of its client
    uint32_t tid;
    uint8_t class;  // enum call_class
    bool is_over;   // it returned
    uint8_t reason; // enum untied_reason without a cause, or 0: it is not the job's
    struct pack_cause cause;
};

struct pack_start { // for sorting
    uint64_t thread;
    int64_t start_ns;
    uint32_t root;
};

// A thread that called a client, and processes of the job that had it.
struct pack_thread {
    size_t first, end; // in pack_stack.start
    size_t hint;       // where the next call probably is
    uint32_t owner;    // index in pack_stack.owner + 1
};

struct pack_owner {
    uint32_t process; // its id
    uint32_t next;    // index + 1
};

// An asynchronous transfer: other threads make its calls.
struct pack_async {
    uint64_t inode, offset, end;
    uint64_t reach; // the highest end of those that come before it on this file, and its own
    int64_t start_ns, end_ns;
    struct pack_cause cause;
};

struct pack_link_change { // a connection to a server came or went
    uint16_t server;
    bool is_up;
    uint64_t ns;
};

struct pack_server_clock {
    bool known;           // not if what is known contradicts itself
    struct clock_fit fit; // by the times since the job's start
};

struct pack_sum {
    uint64_t calls;
    uint64_t bytes[2]; // read, written
};

enum { PACK_SERVERS = 1024, PACK_LAYERS = 4 };

struct pack_stack {
    struct bytes about;                           // records of the stack's description
    int failure;                                  // why its calls are not in the log; 0: they are
    uint16_t call[PACK_LAYERS][PROBE_operations]; // number of the call, by layer from the client on and operation
    struct pack_probe *probe;
    size_t probe_count;
    struct lookup probe_of; // number -> index
    struct pack_root *root;
    size_t root_count;
    struct pack_start *start; // all roots, by thread and start
    struct pack_thread *thread;
    size_t thread_count;
    struct lookup thread_of; // lookup_pair(host of the client, tid)
    struct pack_owner *owner;
    size_t owner_count;
    uint64_t *device; // of the stack's files
    size_t devices;
    struct lookup inode_of; // lookup_pair(process, its number of a file on the stack) -> index in `inode`
    uint64_t *inode;
    size_t inode_count;
    struct lookup inodes;  // of the job's files: index in `inode`
    struct lookup touched; // inodes of these, and of what the job's threads use
    struct lookup tids;    // of the job's threads
    struct lookup inside;  // pack_process_key of processes in other PID namespaces
    struct pack_async *async;
    size_t async_count;
    struct pack_link_change *change;
    size_t change_count;
    struct pack_server_clock clock[PACK_SERVERS];
    struct pack_sum sum[PACK_LAYERS][UNTIED_REASONS]; // UNTIED_NONE: of what is in the log
    struct pack_below **below;                        // by process: its stream
    uint64_t lost;                                    // calls without a record
    uint64_t damaged_bytes;
    struct bounds *bounds;                   // while a server's clock is aligned
    const struct pack_process *last_process; // of the last event
    uint32_t last_tid;
    uint32_t last_thread; // index + 1 in `thread`; 0: it called no client
};

// Whether the calls can still go into the log.
bool pack_has_join(const struct pack *pack);
// What a function of the join returned. Without memory the log is made without the stack's calls, and says so.
int pack_join_code(struct pack *pack, int code);

// stack.c: files in the spill directory; a bad one costs only itself.
int pack_load_stack(struct pack *pack, const char *name);
int pack_load_probe(struct pack *pack, const char *name);
// Reads the calls of the clients. Processes, files and clocks are known.
int pack_prepare_stack(struct pack *pack);
typedef int pack_record_work(struct pack *pack, struct pack_probe *probe, uint64_t index,
                             const struct probe_record *record);
int pack_each_record(struct pack *pack, struct pack_probe *probe, pack_record_work *work);
bool pack_same_host(const struct pack_probe *probe, const struct pack_process *process);
void pack_write_stack(struct pack *pack);
void pack_free_stack(struct pack *pack);

// roots.c
// A mount of the job's host; one of the stack says which device its files have, by whatever name.
int pack_note_mount(struct pack *pack, const char *point, size_t len, uint64_t device);
int pack_note_threads(struct pack *pack, struct pack_process *process);
int pack_read_roots(struct pack *pack);

// tie.c
int pack_sort_roots(struct pack *pack);
// Notes an event as the cause of calls during it.
int pack_tie_event(struct pack *pack, const struct pack_process *process, const struct stream_event *event);
// After all events: finds causes by file and bytes for calls of other threads, and reasons for the rest.
int pack_tie_rest(struct pack *pack);

// probe_clock.c
void pack_set_probe_clocks(struct pack *pack);
int pack_align_server(struct pack *pack, struct pack_probe *probe);
int64_t pack_probe_ns(const struct pack_stack *stack, const struct pack_probe *probe, uint64_t mono_ns);

// write_below.c
int pack_write_below(struct pack *pack);
// Where the call above a record is in the log.
struct pack_tie pack_parent(const struct pack_stack *stack, const struct pack_probe *probe, uint64_t parent);
