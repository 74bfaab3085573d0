// An event with everything that the log knows about it, and the filter that selects events.
#pragma once

#include "fmt/stream.h"
#include "log/log.h"

// A filter of zeros passes every event but calls below the system call.
struct log_filter {
    bool below;          // these, too; a visit has log_consumer.wants_below instead
    unsigned layers;     // bit n: enum call_layer n
    unsigned classes;    // bit n: enum call_class n
    const char *op_glob; // base/glob.h; of the call's name
    bool failed;         // events with an error
    bool has_rank;
    int64_t rank;
    bool has_pid;
    uint32_t pid;
    bool has_tid;
    uint32_t tid;
    bool has_server;
    uint32_t server; // of calls at or below the network
    const struct log_process *process;
    const char *file_glob;                                      // base/glob.h; either file of a call with two
    bool (*file_passes)(const void *context, const char *name); // or NULL; instead of file_glob
    const void *file_context;
    bool has_from;
    int64_t from_ns; // events that start at this time or later
    bool under_way;  // and events that end at this time or later
    bool has_to;
    int64_t to_ns; // events that start at this time or earlier
};

struct log_event;
// Whether the filter passes the event. It compares names: for all events of a log, log/iter.h is faster.
bool log_filter_passes(const struct log_filter *filter, const struct log_event *event);
// Whether it passes some events of this call.
bool log_filter_has_call(const struct log_filter *filter, const struct log_call *call);

// The fields that every event has are in two cache lines. Without has_parent and attribute_mask all fields from
// `parent` on are 0: code that looks at every event tests these two first.
struct log_event {
    uint64_t id;      // unique in the log
    int64_t start_ns; // since the job's start
    int64_t duration_ns;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file; // or NULL
    struct log_event_raw {       // as stored in the stream
        uint64_t offset;
        uint64_t size;
        int64_t result;
        uint64_t tick;
        const uint64_t *attribute; // by enum event_attribute; only those in attribute_mask are set
        uint32_t attribute_mask;
        uint32_t tid;
        uint32_t handle;
        int error;
        bool has_offset;
        bool has_result;
        bool unaligned;
    } raw;
    bool has_parent;
    bool moves;                    // a successful transfer. bytes count once, at the highest layer that moved them
    bool in_above;                 // `parent` is a call above MPI-IO, and so counts as none: has_parent is false
    uint32_t thread;               // numbered by first event, in the process or in the log (log/visit.h)
    const char *line;              // of the call site, or NULL
    uint64_t parent;               // valid if has_parent or in_above
    const struct log_call *around; // the call that made this call; NULL: none, or not remembered any more
    int64_t call_time_ns;          // valid with ATTRIBUTE_CALL_TIME; see log_event_call_ns
    // Set for few calls, otherwise NULL.
    const struct log_file *file2;     // target of a rename or link
    const struct log_hints *hints;    // for calls that open a file or set hints
    const struct log_datatype *etype; // of a file view
    const struct log_datatype *filetype;
    const struct log_datatype *datatype;   // for transfers with memory that is not contiguous
    const struct communicator *comm;       // of MPI_File_open
    const struct log_selection *selection; // of a transfer of a dataset
    const struct log_dataset *dataset;     // of a call that opens or extends one
};

// Only consumers of a visit get `around`, `moves`, `in_above` and `thread` (log/visit.h); calls below the system call
// have no `around`.

// Communication between two events of a thread. It is summed up, not recorded call by call.
struct log_comm {
    const struct log_process *process;
    bool has_thread; // false: a sum over the whole process, from the time after its events end
    uint32_t tid;
    uint64_t tick; // of the next event; after the last event: the latest known tick
    bool has_event;
    uint64_t event;   // the next event of the stream; valid if has_event
    int64_t start_ns; // start of the next event; after the last event: its end
    enum stream_comm_kind kind;
    uint64_t count;
    uint64_t bytes;
    int64_t time_ns;
    // With whom, in the order of first use. The first of the sums between two events has the partners of all of them.
    uint32_t partner_count;
    const struct stream_partner *partners; // valid during the callback
};

// The error as an errno, or 0. For MPI-IO, the errno that says the same as its error class.
int log_event_errno(const struct log_event *event);

static inline bool log_class_moves(unsigned class) { return class == CLASS_READ || class == CLASS_WRITE; }

// Of the transfers inside a call on several objects, which moves nothing itself; of other calls, their own.
static inline unsigned log_call_class_inside(const struct log_call *call) {
    unsigned form = call_table[call->build_id].form;
    return form == FORM_READS ? CLASS_READ : form == FORM_WRITES ? CLASS_WRITE : call->class;
}

// Whether bytes that the call moves are the job's.
static inline bool log_call_moves(const struct log_call *call) {
    return log_class_moves(call->class) && !call_layer_is_above(call->layer) && !call_layer_is_below(call->layer);
}

// Whether all processes make the call together: as the call says, or for some layers its arguments.
static inline bool log_event_is_collective(const struct log_event *event) {
    return event->call->traits & CALL_COLLECTIVE || event->raw.attribute_mask & 1u << ATTRIBUTE_COLLECTIVE;
}

// What an imported trace does not say: the tick, and whether a call of MPI-IO was collective.
static inline bool log_event_has_tick(const struct log_event *event) {
    return !call_layer_is_below(event->call->layer) && event->process->via != VIA_IMPORT;
}

static inline bool log_event_knows_collective(const struct log_event *event) {
    return event->process->via != VIA_IMPORT || event->call->layer != LAYER_MPIIO;
}

// Whether another call made the call, also one above MPI-IO; `parent` says which.
static inline bool log_event_is_inside(const struct log_event *event) { return event->has_parent || event->in_above; }

// Bytes that the event moved.
static inline uint64_t log_event_bytes(const struct log_event *event) {
    return event->raw.has_result && event->raw.result > 0 ? (uint64_t)event->raw.result : 0;
}

// An attribute, or 0.
static inline uint64_t log_event_attribute(const struct log_event *event, enum event_attribute id) {
    return event->raw.attribute_mask & 1u << id ? event->raw.attribute[id] : 0;
}

// The server to which, or in which, the call is made, or LOG_NO_SERVER.
enum { LOG_NO_SERVER = UINT32_MAX };
static inline uint32_t log_event_server(const struct log_event *event) {
    if (!(event->raw.attribute_mask & 1u << ATTRIBUTE_SERVER)) return LOG_NO_SERVER;
    uint64_t server = event->raw.attribute[ATTRIBUTE_SERVER];
    return server < LOG_NO_SERVER ? (uint32_t)server : LOG_NO_SERVER;
}

// Time inside the call as recorded, or its duration.
static inline int64_t log_event_call_ns(const struct log_event *event) {
    return event->raw.attribute_mask & 1u << ATTRIBUTE_CALL_TIME ? event->call_time_ns : event->duration_ns;
}

// Time inside calls. An asynchronous request takes less than its duration.
static inline int64_t log_event_busy_ns(const struct log_event *event) {
    return event->call->traits & CALL_ASYNC ? log_event_call_ns(event) : event->duration_ns;
}

// A damaged log may have any times: sums of possible ones do not overflow.
static inline bool log_event_is_possible(const struct log_event *event) {
    const int64_t start_ns = INT64_C(1) << 56, most_ns = INT64_C(1) << 50; // two years, 13 days
    int64_t busy_ns = log_event_busy_ns(event);
    return event->start_ns >= -start_ns && event->start_ns <= start_ns && event->duration_ns >= 0 &&
           event->duration_ns <= most_ns && busy_ns >= 0 && busy_ns <= most_ns;
}
